"""`stoker render --config-only`: configurations from manifests, without a cluster."""

import textwrap
from pathlib import Path

import pytest

from stoker.__main__ import main
from stoker.yamltree import parse

WORKLOAD = """
apiVersion: monitoring.coreos.com/v1
kind: Prometheus
metadata: {name: main, namespace: monitoring}
spec:
  version: v3.5.0
  serviceMonitorSelector: {}
  serviceMonitorNamespaceSelector: {matchLabels: {team: shop}}
---
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {team: shop}}
"""


def monitor(name: str, namespace: str = "shop", endpoint: str = "port: web") -> str:
    """A ServiceMonitor with one endpoint."""
    return textwrap.dedent(f"""
        ---
        apiVersion: monitoring.coreos.com/v1
        kind: ServiceMonitor
        metadata: {{name: {name}, namespace: {namespace}}}
        spec:
          selector: {{}}
          endpoints: [{{{endpoint}}}]
        """)


Render = pytest.CaptureFixture[str]


def rendered(tmp_path: Path, capsys: Render, text: str, *options: str) -> tuple[int, str, str]:
    """Exit status, output and summary of a call on one file."""
    (tmp_path / "all.yaml").write_text(text)
    status = main(["render", "--config-only", str(tmp_path), *options])
    answer = capsys.readouterr()
    return status, answer.out, answer.err


def jobs(output: str) -> list[str]:
    """The names of the jobs in a configuration."""
    return [job["job_name"] for job in parse(output.removeprefix("---\n"))["scrape_configs"]]


def test_selected_monitors_become_jobs(tmp_path: Path, capsys: Render) -> None:
    """By labels and namespaces, as on a cluster; the summary names what was used."""
    text = WORKLOAD + monitor("cart") + monitor("elsewhere", namespace="other")
    status, output, summary = rendered(tmp_path, capsys, text)
    assert status == 0
    assert jobs(output) == ["serviceMonitor/shop/cart/0"]
    assert "Prometheus monitoring/main (3.5.0): 1 used, 0 rejected" in summary
    assert "used      ServiceMonitor shop/cart" in summary


LOGIN = """
---
apiVersion: v1
kind: Secret
metadata: {name: login, namespace: shop}
stringData: {user: ann}
"""
BAD = {
    "a key that is not there": (
        "port: web, basicAuth: {username: {name: login, key: nobody}}",
        "spec.endpoints[0].basicAuth.username: Secret shop/login has no key `nobody`",
    ),
    "a regular expression that is none": (
        "port: web, relabelings: [{targetLabel: a, regex: '('}]",
        "spec.endpoints[0].relabelings[0].regex",
    ),
    "a timeout above the interval": (
        "port: web, interval: 10s, scrapeTimeout: 30s",
        "spec.endpoints[0].scrapeTimeout",
    ),
    "two ways to log in": (
        "port: web, basicAuth: {username: {name: login, key: user}}, "
        "authorization: {credentials: {name: login, key: user}}",
        "spec.endpoints[0]",
    ),
}


@pytest.mark.parametrize("mistake", BAD)
def test_one_bad_monitor_is_left_out_and_named(
    tmp_path: Path, capsys: Render, mistake: str
) -> None:
    """With the path to the field; the others are generated."""
    endpoint, reason = BAD[mistake]
    text = WORKLOAD + LOGIN + monitor("bad", endpoint=endpoint) + monitor("good")
    status, output, summary = rendered(tmp_path, capsys, text)
    assert status == 1
    assert jobs(output) == ["serviceMonitor/shop/good/0"]
    assert f"rejected  ServiceMonitor shop/bad: {reason}" in summary


def test_a_workload_whose_own_secret_is_elsewhere_is_unknown(
    tmp_path: Path, capsys: Render
) -> None:
    """What a cluster would have in it is not made up: nothing is made, and nobody is to blame."""
    named = "{name: main, namespace: shop}\nspec: {configSecret: elsewhere}"
    text = f"apiVersion: monitoring.coreos.com/v1\nkind: Alertmanager\nmetadata: {named}\n"
    status, output, summary = rendered(tmp_path, capsys, text)
    assert (status, output.strip("-\n")) == (0, "")
    assert "unknown   Alertmanager shop/main: spec.configSecret: Secret shop/elsewhere" in summary


def test_what_is_not_among_the_manifests_is_unknown(tmp_path: Path, capsys: Render) -> None:
    """A cluster may have it: it is left out, and nobody is to blame."""
    login = "username: {name: nowhere, key: user}, password: {name: nowhere, key: word}"
    private = f"port: web, basicAuth: {{{login}}}"
    text = WORKLOAD + monitor("good") + monitor("private", endpoint=private)
    status, output, summary = rendered(tmp_path, capsys, text)
    assert status == 0
    assert jobs(output) == ["serviceMonitor/shop/good/0"]
    assert ": 1 used, 0 rejected, 1 unknown" in summary
    missing = "basicAuth.username: Secret shop/nowhere is not among the manifests"
    assert f"unknown   ServiceMonitor shop/private: spec.endpoints[0].{missing}" in summary
    certain = (
        "port: web, interval: 1s, scrapeTimeout: 9s, basicAuth: {username: {name: gone, key: a}}"
    )
    status, _, summary = rendered(tmp_path, capsys, WORKLOAD + monitor("bad", endpoint=certain))
    assert status == 1
    assert "0 used, 1 rejected" in summary


def test_a_workload_that_cannot_be_judged_is_no_fault(tmp_path: Path, capsys: Render) -> None:
    """What it names may be in the cluster; nothing is made, and nothing is called used."""
    spec = "additionalScrapeConfigs: {name: more, key: jobs}"
    text = WORKLOAD.replace("version: v3.5.0", spec) + monitor("cart")
    status, output, summary = rendered(tmp_path, capsys, text)
    assert (status, output) == (0, "")
    assert "unknown   Prometheus monitoring/main: spec.additionalScrapeConfigs: Secret" in summary
    assert "  held      ServiceMonitor shop/cart" in summary


def test_forbidden_files_are_a_reason(tmp_path: Path, capsys: Render) -> None:
    """Where the workload denies access to its files."""
    denied = WORKLOAD.replace(
        "  version", "  arbitraryFSAccessThroughSMs: {deny: true}\n  version", 1
    )
    text = denied + monitor("bad", endpoint="port: web, bearerTokenFile: /token")
    status, _, summary = rendered(tmp_path, capsys, text)
    assert status == 1
    assert "rejected  ServiceMonitor shop/bad: spec.endpoints[0].bearerTokenFile" in summary


def test_what_a_version_does_not_know_is_told(tmp_path: Path, capsys: Render) -> None:
    """It is left out of the configuration, and the summary says so."""
    old = WORKLOAD.replace("v3.5.0", "v2.40.0")
    text = old + monitor("cart", endpoint="port: web, trackTimestampsStaleness: true")
    status, output, summary = rendered(tmp_path, capsys, text)
    assert status == 0
    assert "track_timestamps_staleness" not in output
    ignored = "ServiceMonitor shop/cart: spec.endpoints[0].trackTimestampsStaleness"
    assert f"ignored   {ignored} needs Prometheus 2.48.0 or newer" in summary


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ("version: latest", "spec.version: `latest` is not a version such as v3.5.0"),
        ("scrapeClasses: [{name: a, default: true}, {name: b, default: true}]", "scrapeClasses"),
    ],
)
def test_a_workload_that_cannot_be_configured_says_why(
    tmp_path: Path, capsys: Render, spec: str, reason: str
) -> None:
    """There is no configuration then, rather than a wrong one, and nothing is called used."""
    text = WORKLOAD.replace("version: v3.5.0", spec) + monitor("cart")
    status, output, summary = rendered(tmp_path, capsys, text)
    assert (status, output) == (1, "")
    assert "no configuration: " in summary
    assert reason in summary
    assert ": 1 held, 0 rejected" in summary
    assert "  held      ServiceMonitor shop/cart" in summary
    assert "used" not in summary


ADDITIONAL = """
---
apiVersion: v1
kind: Secret
metadata: {name: more, namespace: monitoring}
stringData:
  jobs: |
    %s
"""


@pytest.mark.parametrize("text", ["- [", "job_name: x", "- x", '"hunter2: ['])
def test_a_broken_additional_configuration_is_named_without_its_text(
    tmp_path: Path, capsys: Render, text: str
) -> None:
    """It comes from a Secret, so it must not be shown."""
    workload = WORKLOAD.replace(
        "version: v3.5.0", "additionalScrapeConfigs: {name: more, key: jobs}"
    )
    status, output, summary = rendered(tmp_path, capsys, workload + ADDITIONAL % text)
    assert (status, output) == (1, "")
    assert "spec.additionalScrapeConfigs" in summary
    assert "hunter2" not in summary


def test_additional_jobs_are_appended(tmp_path: Path, capsys: Render) -> None:
    """In Prometheus' own syntax, as the user wrote them."""
    workload = WORKLOAD.replace(
        "version: v3.5.0", "additionalScrapeConfigs: {name: more, key: jobs}"
    )
    text = workload + ADDITIONAL % "- job_name: own" + monitor("cart")
    status, output, _ = rendered(tmp_path, capsys, text)
    assert status == 0
    assert jobs(output) == ["serviceMonitor/shop/cart/0", "own"]


def test_a_job_that_has_the_name_of_an_additional_one_is_left_out(
    tmp_path: Path, capsys: Render
) -> None:
    """Prometheus would refuse both; nobody but the resource is affected."""
    workload = WORKLOAD.replace(
        "version: v3.5.0", "additionalScrapeConfigs: {name: more, key: jobs}"
    )
    taken = ADDITIONAL % "- job_name: serviceMonitor/shop/cart/0"
    text = workload + taken + monitor("cart") + monitor("search")
    status, output, summary = rendered(tmp_path, capsys, text)
    assert status == 1
    assert sorted(jobs(output)) == ["serviceMonitor/shop/cart/0", "serviceMonitor/shop/search/0"]
    assert "rejected  ServiceMonitor shop/cart: the workload has an additional" in summary


RULE = """
---
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata: {name: %s, namespace: monitoring}
spec:
  groups: [{name: a, rules: [{record: "a:b", expr: "%s"}]}]
"""


def test_rules_are_judged_and_their_config_maps_are_named(tmp_path: Path, capsys: Render) -> None:
    """A rule with a mistake is told with the path; the others are used."""
    workload = WORKLOAD.replace("version: v3.5.0", "version: v3.5.0\n  ruleSelector: {}")
    text = workload + RULE % ("good", "sum(up)") + RULE % ("bad", "sum(up")
    status, output, summary = rendered(tmp_path, capsys, text)
    assert status == 1
    assert "- /etc/prometheus/rules/prometheus-main-rulefiles-0/*.yaml" in output
    assert "used      PrometheusRule monitoring/good" in summary
    path = "spec.groups[0].rules[0].expr"
    assert f"rejected  PrometheusRule monitoring/bad: {path}: is not a PromQL" in summary


def test_one_workload_can_be_chosen(tmp_path: Path, capsys: Render) -> None:
    """By name, or by namespace and name; one that is not there is an error."""
    other = WORKLOAD.partition("---")[0].replace("name: main", "name: other")
    text = f"{WORKLOAD}---{other}"
    for name in ("other", "monitoring/other"):
        _, output, _ = rendered(tmp_path, capsys, text, "--workload", name)
        assert output.count("# Prometheus") == 1
        assert "# Prometheus monitoring/other" in output
    assert rendered(tmp_path, capsys, text, "--workload", "nobody")[0] == 2


def test_control_characters_in_names_do_not_reach_the_terminal(
    tmp_path: Path, capsys: Render
) -> None:
    """A tenant's string is shown, never obeyed."""
    text = WORKLOAD + monitor("cart", endpoint='port: web, path: 3, "\\e[31m": 1')
    _, _, summary = rendered(tmp_path, capsys, text)
    assert "\x1b" not in summary
    assert "refused" in summary


def test_an_agent_that_sends_nothing_is_noted(tmp_path: Path, capsys: Render) -> None:
    """It runs, as with the peer, and the summary says what is odd about it."""
    agent = """
        apiVersion: monitoring.coreos.com/v1alpha1
        kind: PrometheusAgent
        metadata: {name: agent, namespace: monitoring}
        spec: {version: v3.5.0, enableFeatures: [utf8-names]}
        """
    status, _, summary = rendered(tmp_path, capsys, textwrap.dedent(agent))
    assert status == 0
    assert "note      spec.remoteWrite: without it an agent sends its samples nowhere" in summary
    assert "note      spec.enableFeatures[0]: Prometheus 3.5.0 does not know" in summary
