"""Prometheus itself fires alerts whose texts ask for another namespace's metrics."""

import json
from pathlib import Path
from typing import Final

import pytest

from stoker.generate.rules import Enforcement, rule_file
from tests.live.test_promql_promtool import promtool
from tests.unit.test_alert_queries import UNHELD
from tests.unit.test_rules import reader, rule_of

READ: Final = "42"
VICTIM: Final = 'secret_metric{namespace=\\"victim\\"}'
# Each reads the metric of another namespace where nothing is enforced.
READING: Final = (
    f'{{{{ range query "{VICTIM}" }}}}{{{{ .Value }}}}{{{{ end }}}}',
    "{{ with query `secret_metric` }}{{ . | first | value }}{{ end }}",
    "{{ with `secret_metric` | query }}{{ . | first | value }}{{ end }}",
    "{{ range query (`{__name__='secret_metric'}`) }}{{ .Value }}{{ end }}",
    "{{ range query `sum(secret_metric) by (namespace)` }}{{ .Value }}{{ end }}",
    "{{ range query `absent(absent(secret_metric)) * 42` }}{{ .Value }}{{ end }}",
    "{{ define `x` }}{{ with query `secret_metric` }}42{{ end }}{{ end }}{{ template `x` }}",
    "{{ block `x` (query `secret_metric`) }}{{ range . }}{{ .Value }}{{ end }}{{ end }}",
    '{{ $r := query "\\x73ecret_metric" }}{{ range $r }}{{ value . }}{{ end }}',
    "{{ if false }}{{ else if query `secret_metric` }}42{{ end }}",
    "{{- range $i, $s := query `max_over_time(secret_metric[5m])` -}}{{ $s.Value }}{{ end }}",
)


@pytest.mark.parametrize("label", ["", "namespace"])
def test_an_alert_does_not_read_what_its_namespace_may_not(label: str, tmp_path: Path) -> None:
    """Where the label is enforced, none of the texts that read a secret before reads it."""
    alerts = {f"A{number}": text for number, text in enumerate(READING)}
    rules = [
        {"alert": name, "expr": "vector(1)", "annotations": {"read": text}, "labels": {"b": "c"}}
        for name, text in alerts.items()
    ]
    made = rule_file(rule_of({"name": "shop", "rules": rules}), reader(), Enforcement(label))
    assert not made.findings
    labels = {"b": "c"} | ({label: "shop"} if label else {})
    read = "" if label else READ
    tried(tmp_path, made.text, dict.fromkeys(alerts, (labels, read)))


@pytest.mark.parametrize("label", ["", "namespace"])
def test_the_labels_of_a_group_do_not_read_either(label: str, tmp_path: Path) -> None:
    """Prometheus takes them for labels of each alert, and so for templates."""
    rule = {"alert": "A", "expr": "vector(1)", "annotations": {"read": "-"}}
    group = {"name": "shop", "labels": {"b": f"-{READING[0]}"}, "rules": [rule]}
    made = rule_file(rule_of(group), reader(), Enforcement(label))
    assert not made.findings
    labels = {"b": "-", label: "shop"} if label else {"b": f"-{READ}"}
    tried(tmp_path, made.text, {"A": (labels, "-")})


def tried(folder: Path, rules: str, expected: dict[str, tuple[dict[str, str], str]]) -> None:
    """Have promtool evaluate the rules, and hold it against the labels and annotations."""
    (folder / "rules.yaml").write_text(rules)
    tests = [
        {
            "alertname": name,
            "eval_time": "1m",
            "exp_alerts": [{"exp_labels": labels, "exp_annotations": {"read": read}}],
        }
        for name, (labels, read) in expected.items()
    ]
    series = {"series": 'secret_metric{namespace="victim"}', "values": f"{READ}x10"}
    test = {"interval": "1m", "input_series": [series], "alert_rule_test": tests}
    (folder / "test.yaml").write_text(
        json.dumps({"rule_files": ["rules.yaml"], "evaluation_interval": "1m", "tests": [test]})
    )
    done = promtool("test", "rules", str(folder / "test.yaml"))
    assert done.returncode == 0, (done.stdout + done.stderr).decode()[-4000:]


def test_prometheus_takes_the_texts_that_are_refused(tmp_path: Path) -> None:
    """They are refused for what they could read, and for nothing else."""
    rules = [
        {"alert": f"A{number}", "expr": "up", "annotations": {"a": text}}
        for number, text in enumerate(UNHELD)
    ]
    made = rule_file(rule_of({"name": "shop", "rules": rules}), reader())
    (tmp_path / "rules.yaml").write_text(made.text)
    done = promtool("check", "rules", "--lint=none", str(tmp_path / "rules.yaml"))
    assert done.returncode == 0, done.stderr
