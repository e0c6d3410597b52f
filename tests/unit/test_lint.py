"""`stoker lint`: one line for each problem, a summary, and an exit status."""

import argparse
import io
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from stoker.api.kinds import KINDS
from stoker.cli import lint
from stoker.cli.parser import Parser

EXAMPLE = Path(__file__).parents[2] / "example"

MONITOR = """\
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata:
  name: cart
  namespace: shop
spec:
  selector: {}
  endpoints:
    - port: web
"""


class Run:
    """What one call of the command did."""

    def __init__(self, status: int, out: str, err: str) -> None:
        self.status = status
        self.lines = out.splitlines()[:-1]
        self.summary = out.splitlines()[-1] if out else ""
        self.out = out
        self.err = err


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Any:
    """Call `stoker lint` with arguments."""

    def called(*arguments: str | Path) -> Run:
        parser = argparse.ArgumentParser("stoker lint")
        lint.arguments(parser)
        status = lint.run(parser.parse_args([str(argument) for argument in arguments]))
        captured = capsys.readouterr()
        return Run(status, captured.out, captured.err)

    return called


@pytest.fixture
def check(call: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Check one file of this text from inside its folder."""
    monkeypatch.chdir(tmp_path)

    def checked(text: str | bytes, *options: str, name: str = "a.yaml") -> Run:
        Path(name).write_bytes(text if isinstance(text, bytes) else text.encode())
        run: Run = call(*options, name)
        return run

    return checked


def test_a_valid_manifest_is_only_counted(check: Any) -> None:
    """Nothing is said about what is right."""
    run = check(MONITOR)
    assert run.status == 0
    assert run.lines == []
    assert run.summary == (
        "1 file, 1 object: 1 ours (1 valid, 0 with errors, 0 warnings), 0 passed over, 0 unreadable"
    )


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        (
            "- port: web",
            "- port: 80",
            "a.yaml:9 doc 1 ServiceMonitor shop/cart  error  "
            "spec.endpoints[0].port: expected a string, got an integer (80)",
        ),
        (
            "port: web",
            "interval: 30x",
            "a.yaml:9 doc 1 ServiceMonitor shop/cart  error  "
            "spec.endpoints[0].interval: `30x` is not a duration such as `30s` or `1h30m`",
        ),
        (
            "port: web",
            "scheme: htps",
            "a.yaml:9 doc 1 ServiceMonitor shop/cart  error  "
            "spec.endpoints[0].scheme: `htps` is not one of the choices; did you mean `https`?",
        ),
        (
            "port: web",
            "scheme: gopher",
            "a.yaml:9 doc 1 ServiceMonitor shop/cart  error  spec.endpoints[0].scheme: "
            "`gopher` is not one of `http`, `https`, `HTTP`, `HTTPS`",
        ),
        (
            "selector: {}",
            "sampleLimit: 99999999999999999999",
            "a.yaml:7 doc 1 ServiceMonitor shop/cart  error  "
            "spec.sampleLimit: 1e+20 does not fit into int64",
        ),
        (
            "endpoints",
            "endpionts",
            "a.yaml:6 doc 1 ServiceMonitor shop/cart  error  spec.endpoints: required, but missing",
        ),
        (
            "kind: ServiceMonitor",
            "kind: ServiceMonitr",
            "a.yaml:2 doc 1 ServiceMonitr shop/cart  error  kind: `monitoring.coreos.com` has no "
            "kind `ServiceMonitr`; did you mean `ServiceMonitor`?",
        ),
        (
            "kind: ServiceMonitor",
            "kind: Dashboard",
            "a.yaml:2 doc 1 Dashboard shop/cart  error  kind: `monitoring.coreos.com` has no "
            "kind `Dashboard`; there are Prometheus, PrometheusAgent, Alertmanager, ThanosRuler, "
            "ServiceMonitor, PodMonitor, Probe, ScrapeConfig, PrometheusRule, AlertmanagerConfig",
        ),
        (
            "monitoring.coreos.com/v1",
            "monitoring.coreos.com/v2",
            "a.yaml:1 doc 1 ServiceMonitor shop/cart  error  apiVersion: "
            "`monitoring.coreos.com/v2` has no kind ServiceMonitor; "
            "it is served as `monitoring.coreos.com/v1`",
        ),
        (
            "monitoring.coreos.com/v1",
            "v1",
            "a.yaml:1 doc 1 ServiceMonitor shop/cart  error  apiVersion: `v1` has no kind "
            "ServiceMonitor; it is served as `monitoring.coreos.com/v1`",
        ),
        (
            "monitoring.coreos.com/v1",
            "monitoring.coreos.co/v1",
            "a.yaml:1 doc 1 ServiceMonitor shop/cart  error  apiVersion: "
            "`monitoring.coreos.co/v1` has no kind ServiceMonitor; "
            "it is served as `monitoring.coreos.com/v1`",
        ),
        (
            "  name: cart",
            "  labels: {app: cart}",
            "a.yaml:3 doc 1 ServiceMonitor shop  error  "
            "metadata.name: an object needs a `name` or a `generateName`",
        ),
        (
            "  name: cart",
            "  name: cart\n  labels: {version: 1.5}",
            "a.yaml:5 doc 1 ServiceMonitor shop/cart  error  "
            "metadata.labels.version: expected a string, got `1.5`; quote it",
        ),
        (
            "  name: cart",
            "  name: no",
            "a.yaml:4 doc 1 ServiceMonitor shop  error  "
            "metadata.name: expected a string, got `false`; quote it",
        ),
        (
            "  name: cart",
            "  name: cart\n  annotations: [a]",
            "a.yaml:5 doc 1 ServiceMonitor shop/cart  error  "
            "metadata.annotations: expected an object",
        ),
    ],
)
def test_an_error_is_one_line_with_place_path_and_reason(
    check: Any, old: str, new: str, line: str
) -> None:
    """What an API server refuses is told with file, line, document, object, field and reason."""
    run = check(MONITOR.replace(old, new))
    assert run.status == 1
    assert line in run.lines
    assert "1 ours (0 valid, 1 with errors" in run.summary


@pytest.mark.parametrize(
    "name", ["Cart", "cart_1", "-cart", "cart-", "cart..x", "ca rt", "x" * 254, '"cart\\n"']
)
def test_a_name_must_be_one_that_kubernetes_takes(check: Any, name: str) -> None:
    """Names are DNS subdomains of at most 253 characters."""
    run = check(MONITOR.replace("name: cart", f"name: {name}"))
    assert run.status == 1
    assert len(run.lines) == 1
    assert "metadata.name: `" in run.lines[0]


@pytest.mark.parametrize(
    "line",
    [
        "name: a.b-c.d",
        "generateName: cart-",
        "name: '1'\n  labels: {app.kubernetes.io/name: Cart_1, empty: ''}",
        "name: cart\n  labels: {app: ~}",
        "name: cart\n  annotations: {example.com/note: 'anything at all: yes'}",
    ],
)
def test_metadata_in_order_is_not_mentioned(check: Any, line: str) -> None:
    """What an API server takes is valid here too."""
    assert check(MONITOR.replace("name: cart", line)).lines == []


@pytest.mark.parametrize(
    "line",
    [
        "labels: {app: 'not a value'}",
        "labels: {'not a key': x}",
        "labels: {Example.com/app: x}",
        "annotations: {a/b/c: x}",
        "namespace: shop.one",
        "generateName: Cart-",
    ],
)
def test_metadata_that_kubernetes_refuses_is_an_error(check: Any, line: str) -> None:
    """Labels, annotations and namespaces have rules of their own."""
    text = MONITOR.replace("  namespace: shop\n", "").replace("  name:", f"  {line}\n  name:")
    run = check(text)
    assert run.status == 1
    assert len(run.lines) == 1


def test_a_broken_rule_is_an_error(check: Any) -> None:
    """Rules in CEL are evaluated like the rest of the schema."""
    text = (
        "apiVersion: monitoring.coreos.com/v1alpha1\nkind: PrometheusAgent\n"
        "metadata: {name: a}\nspec: {mode: DaemonSet, replicas: 2}\n"
    )
    run = check(text)
    assert run.lines == [
        "a.yaml:4 doc 1 PrometheusAgent a  error  "
        "spec: replicas cannot be set when mode is DaemonSet"
    ]


@pytest.mark.parametrize(
    ("old", "new", "path", "hint"),
    [
        ("port: web", "port: web\n      intervall: 30s", "spec.endpoints[0].intervall", "interval"),
        ("selector: {}", "selector: {}\n  joblabel: a", "spec.joblabel", "jobLabel"),
        ("name: cart", "name: cart\n  lables: {a: b}", "metadata.lables", "labels"),
        ("spec:", "stauts: {}\nspec:", "stauts", "status"),
    ],
)
def test_an_unknown_field_is_a_warning_with_a_suggestion(
    check: Any, old: str, new: str, path: str, hint: str
) -> None:
    """A cluster takes the object and drops the field, so the exit status stays 0."""
    run = check(MONITOR.replace(old, new))
    assert run.status == 0
    (line,) = run.lines
    assert line.endswith(
        f"  warning  {path}: unknown field, the API server drops it; did you mean `{hint}`?"
    )
    assert "(1 valid, 0 with errors, 1 warning)" in run.summary


WORKLOAD = """
apiVersion: monitoring.coreos.com/{version}
kind: {kind}
metadata: {{name: main, namespace: shop}}
spec: {spec}
"""


@pytest.mark.parametrize(
    ("kind", "spec", "severity", "told"),
    [
        ("PrometheusAgent", "{}", "warning", "spec.remoteWrite: without it an agent sends"),
        ("Prometheus", "{enableFeatures: [nope]}", "warning", "spec.enableFeatures[0]: no Promet"),
        (
            "Prometheus",
            "{additionalArgs: [{name: storage.agent.path, value: a}]}",
            "warning",
            "spec.additionalArgs[0]: `storage.agent.path` is for an agent",
        ),
        (
            "Prometheus",
            "{additionalArgs: [{name: config.file, value: a}]}",
            "error",
            "spec.additionalArgs[0]: the operator sets `config.file` itself",
        ),
        ("Alertmanager", "{enableFeatures: [nope]}", "warning", "spec.enableFeatures[0]: no Alert"),
        ("Prometheus", "{version: newest}", "error", "spec.version: `newest` is not a version"),
        ("Alertmanager", "{version: newest}", "error", "spec.version: `newest` is not a version"),
        ("ThanosRuler", "{version: newest, queryEndpoints: [a]}", "error", "spec.version: `newest"),
        ("Prometheus", "{shards: 40, enableFeatures: [old-ui], version: v3.5.0}", "", ""),
    ],
)
def test_of_a_workload_what_the_operator_holds_against_it_is_told(
    check: Any, kind: str, spec: str, severity: str, told: str
) -> None:
    """What cannot be built is an error; what does nothing, or ends the program, a warning."""
    version = "v1alpha1" if kind == "PrometheusAgent" else "v1"
    found = check(WORKLOAD.format(kind=kind, version=version, spec=spec))
    assert found.status == (1 if severity == "error" else 0)
    lines = found.out.splitlines()[:-1]
    assert len(lines) == bool(told)
    assert all(f"shop/main  {severity}  {told}" in line for line in lines)


def test_strict_makes_warnings_errors(check: Any) -> None:
    """For a pipeline that wants no field dropped."""
    text = MONITOR.replace("selector: {}", "selector: {}\n  nonsense: 1")
    assert check(text).status == 0
    run = check(text, "--strict")
    assert run.status == 1
    assert "  error  spec.nonsense: unknown field, the API server drops it" in run.lines[0]
    assert "(0 valid, 1 with errors, 0 warnings)" in run.summary


def test_kinds_of_others_are_passed_over(check: Any) -> None:
    """Whatever is in them; and other groups may have kinds of the same name."""
    text = "apiVersion: v1\nkind: Service\nspec: 5\n---\n" + MONITOR.replace(
        "monitoring.coreos.com", "azmonitoring.coreos.com"
    )
    run = check(text)
    assert run.status == 0
    assert run.summary == "1 file, 2 objects: 0 ours, 2 passed over, 0 unreadable"


ON_NODES = """\
apiVersion: monitoring.coreos.com/v1alpha1
kind: PrometheusAgent
metadata: {name: light, namespace: monitoring}
spec:
  mode: DaemonSet
  remoteWrite: [{url: "http://far"}]
"""
TWO_NODES = """\
---
apiVersion: v1
kind: Node
metadata: {name: plain}
---
apiVersion: v1
kind: Node
metadata: {name: gpu}
spec: {taints: [{key: gpu, effect: NoSchedule}]}
"""


def test_nodes_that_an_agent_leaves_out_are_a_warning(check: Any) -> None:
    """Where Nodes are among the manifests, and unless another agent is there."""
    told = (
        "a.yaml:4 doc 1 PrometheusAgent monitoring/light  warning  spec: of 2 nodes here, no agent "
        "is on gpu (has taint gpu:NoSchedule that spec.tolerations does not tolerate)"
    )
    found = check(ON_NODES + TWO_NODES)
    assert (found.status, found.lines) == (0, [told])
    assert "1 ours (1 valid, 0 with errors, 1 warning)" in found.summary
    assert check(ON_NODES + TWO_NODES, "--strict").status == 1
    tolerant = ON_NODES.replace("light", "gpu") + "  tolerations: [{operator: Exists}]\n"
    assert check(tolerant + TWO_NODES).lines == []
    assert check(f"{ON_NODES}---\n{tolerant}{TWO_NODES}").lines == []
    assert check(ON_NODES.replace("DaemonSet", "StatefulSet") + TWO_NODES).lines == []
    assert check(ON_NODES).lines == []


def test_an_object_without_a_kind_is_unreadable(check: Any) -> None:
    """An object must say what it is."""
    run = check("apiVersion: v1\nkindd: Service\nmetadata: {name: a}\n")
    assert run.status == 1
    assert run.lines == [
        "a.yaml:1 doc 1 a  error  kind: an object needs an `apiVersion` and a `kind`"
    ]
    assert run.summary.endswith("1 unreadable")


def test_an_object_defined_twice_is_an_error(check: Any) -> None:
    """The second place is told, and names the first."""
    run = check(f"{MONITOR}---\n{MONITOR.replace('shop', 'bank')}---\n{MONITOR}")
    assert run.status == 1
    assert run.lines == [
        "a.yaml:24 doc 3 ServiceMonitor shop/cart  error  "
        "metadata.name: defined before, at a.yaml:1 doc 1"
    ]


def test_items_of_a_list_are_checked_one_by_one(check: Any) -> None:
    """The path leads through the list."""
    item = json.dumps({"apiVersion": "monitoring.coreos.com/v1", "kind": "Probe", "metadata": 1})
    run = check(f"apiVersion: v1\nkind: List\nitems:\n  - {item}\n  - {item}\n")
    assert [line.partition("  error  ")[0] for line in run.lines[:1]] == ["a.yaml:4 doc 1 Probe"]
    assert any("items[1].metadata: expected an object" in line for line in run.lines)
    assert run.summary.startswith("1 file, 2 objects: 2 ours (0 valid, 2 with errors")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: [", "a.yaml:1 doc 1  error  did not find expected node content"),
        ("a: b: c", "a.yaml:1 doc 1  error  mapping values are not allowed in this context"),
        ("a: 1\na: 2", "a.yaml:2 doc 1  error  the key `a` stands here twice"),
        (b"a: \xff", "a.yaml:1 doc 1  error  not UTF-8: the byte 0xff does not belong there"),
        ("a: \0", "a.yaml:1 doc 1  error  holds a NUL byte"),
        ("[" * 100_000, "a.yaml:1 doc 1  error  nested deeper than 100 levels"),
        ("{a: " * 100_000, "a.yaml:1 doc 1  error  nested deeper than 100 levels"),
        (
            "x" * (10 * 2**20),
            "a.yaml:1 doc 1  error  10.0 MiB; the API server takes at most 3 MiB",
        ),
        (
            "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
            + "".join(
                f"{new}: &{new} [*{old},*{old},*{old},*{old},*{old},*{old},*{old},*{old}]\n"
                for old, new in zip("abcdefghi", "bcdefghij", strict=True)
            ),
            "a.yaml:6 doc 1  error  aliases expand to more than 400000 values",
        ),
    ],
)
def test_unreadable_input_is_one_line_and_exit_status_1(
    check: Any, text: str | bytes, line: str
) -> None:
    """File, document, line and reason, whatever the input."""
    run = check(text)
    assert run.status == 1
    assert len(run.lines) == 1
    assert run.lines[0].startswith(line)
    assert run.summary == "1 file, 0 objects: 0 ours, 0 passed over, 1 unreadable"


def test_a_broken_document_does_not_hide_the_others(check: Any) -> None:
    """The documents around it are checked."""
    other = MONITOR.replace("cart", "bill").replace("port: web", "port: 80")
    run = check(f"{MONITOR}---\na: [\n---\n{other}")
    assert [line.split("  ")[0] for line in run.lines] == [
        "a.yaml:11 doc 2",
        "a.yaml:21 doc 3 ServiceMonitor shop/bill",
    ]
    assert run.summary == (
        "1 file, 2 objects: 2 ours (1 valid, 1 with errors, 0 warnings), "
        "0 passed over, 1 unreadable"
    )


def test_a_missing_path_is_an_error(call: Any) -> None:
    """It is told like any other problem."""
    run = call("/nowhere/at/all")
    assert run.status == 1
    assert run.lines == ["/nowhere/at/all  error  no such file or directory"]


@pytest.mark.parametrize("text", [None, "", "# nothing\n---\n# at all\n"])
def test_no_manifest_at_all_is_exit_status_2(call: Any, tmp_path: Path, text: str | None) -> None:
    """A wrong path must not pass for a clean bill of health."""
    if text is not None:
        (tmp_path / "a.yaml").write_text(text)
    run = call(tmp_path)
    assert run.status == 2
    assert run.out == ""
    assert run.err == f"stoker lint: no manifest found in {tmp_path}\n"


@pytest.mark.parametrize("arguments", [[], ["-o", "xml", "a"], ["--unknown", "a"]])
def test_a_usage_error_is_exit_status_2(arguments: list[str]) -> None:
    """The argument parser sees to it."""
    parser = Parser()
    lint.arguments(parser)
    with pytest.raises(SystemExit) as stopped:
        parser.parse_args(arguments)
    assert stopped.value.code == 2


def test_standard_input_is_checked(call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A dash takes what another tool prints."""
    data = MONITOR.replace("web", "80").encode()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
    run = call("-")
    assert run.status == 1
    assert run.lines[0].startswith("<stdin>:9 doc 1 ServiceMonitor shop/cart  error  ")


def test_json_is_one_object_for_each_problem(check: Any) -> None:
    """The summary goes to standard error, so that the output is JSON and nothing else."""
    run = check(MONITOR.replace("port: web", "port: 80"), "-o", "json")
    assert run.status == 1
    assert json.loads(run.out) == {
        "schema": "stoker/lint/v1",
        "file": "a.yaml",
        "document": 1,
        "line": 9,
        "kind": "ServiceMonitor",
        "namespace": "shop",
        "name": "cart",
        "path": "spec.endpoints[0].port",
        "severity": "error",
        "reason": "WrongType",
        "message": "expected a string, got an integer (80)",
        "column": 7,
    }
    assert run.err.startswith("1 file, 1 object: ")


@pytest.mark.parametrize("options", [(), ("-o", "json")])
def test_control_characters_do_not_reach_the_terminal(check: Any, options: tuple[str, ...]) -> None:
    """Colours, titles and reordering in a tenant's strings are spelt out."""
    evil = "\\e[2J\\x07\\r\\n\\x9b31m\\u202e"
    text = MONITOR.replace("name: cart", f'name: "{evil}"').replace(
        "web", f'web\n      "{evil}": 1'
    )
    run = check(text, *options)
    assert run.status == 1
    assert not set("\x1b\x07\r\x9b\u202e") & set(run.out)
    assert "\\x1b[2J" in run.out or "\\u001b[2J" in run.out
    assert len(run.out.splitlines()) == (2 if options else 3)


def test_a_file_name_cannot_reach_the_terminal_either(call: Any, tmp_path: Path) -> None:
    """File names are text of others, too, even where they are no text."""
    (tmp_path / "\x1b[31m.yaml").write_text("a: [")
    with open(os.fsencode(tmp_path) + b"/\xff.yaml", "w") as file:
        file.write("a: [")
    run = call(tmp_path)
    assert "\x1b" not in run.out
    assert "\\x1b[31m.yaml:1" in run.out
    assert "\\udcff.yaml:1" in run.out


@pytest.mark.parametrize(("no_color", "coloured"), [("", True), ("1", False)])
def test_colour_is_for_terminals_that_want_it(
    no_color: str, coloured: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """NO_COLOR is honoured, and a pipe never gets colour."""

    class Terminal(io.StringIO):
        encoding = "utf-8"

        def isatty(self) -> bool:
            return True

    (tmp_path / "a.yaml").write_text("a: [")
    monkeypatch.setenv("NO_COLOR", no_color)
    monkeypatch.setattr("sys.stdout", screen := Terminal())
    parser = Parser()
    lint.arguments(parser)
    lint.run(parser.parse_args([str(tmp_path)]))
    assert ("\x1b[31merror\x1b[0m" in screen.getvalue()) is coloured


def test_a_flood_of_problems_is_cut(check: Any) -> None:
    """An object with thousands of problems is told with the first hundred and their number."""
    fields = "".join(f"  field{number}: 1\n" for number in range(5000))
    run = check(MONITOR + fields)
    assert len(run.lines) == 101
    assert run.status == 0
    assert any("4900 more problems are not shown" in line for line in run.lines)


def test_letters_that_the_output_cannot_show_are_spelt_out(
    check: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A narrow encoding does not end the report."""
    raw = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(raw, "ascii"))
    check(MONITOR.replace("name: cart", "name: käse"))
    sys.stdout.flush()
    assert rb"k\xe4se" in raw.getvalue()


def test_the_example_is_valid_but_for_its_mistakes(call: Any) -> None:
    """`make run` shows a clean stack, typical mistakes, and surprises of which two are faults."""
    run = call(EXAMPLE)
    assert run.status == 1
    wrong = [str(EXAMPLE / name) for name in ("mistakes.yaml", "surprises.yaml")]
    assert [line.partition(":")[0] for line in run.lines] == [wrong[0]] * 4 + [wrong[1]] * 2
    assert [line.split("  ")[1] for line in run.lines] == ["warning", *["error"] * 5]
    clean = [path for path in EXAMPLE.iterdir() if str(path) not in wrong]
    assert call(*clean).status == 0
    assert call("--strict", *clean).status == 0


def test_the_example_shows_every_kind() -> None:
    """A newcomer sees each of the ten kinds once."""
    text = "".join(path.read_text() for path in EXAMPLE.glob("*.yaml"))
    assert [kind.name for kind in KINDS if f"\nkind: {kind.name}\n" not in text] == []
