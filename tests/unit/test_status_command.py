"""`stoker status` among manifests: everything that is not well, where it is, and nothing else."""

import asyncio
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from stoker.__main__ import main
from stoker.cli.options import flag_settings
from stoker.cli.status_text import lines
from stoker.offline.health import health_of_manifests
from stoker.offline.pages import DirectoryPages
from stoker.page.decided import decided
from stoker.page.health import BY_GRAVITY, MISSPELT, UNUSABLE, Health, Look, health_of
from stoker.page.wellness import PROBLEM, UNKNOWN
from stoker.settings import OperatorSettings
from stoker.view.states import State
from tests.builders import thing
from tests.corpus import Case, cases
from tests.unit.test_explain import SHOP, deployment, monitor, prometheus, service, viewed
from tests.unit.test_page_idle import shop

Output = pytest.CaptureFixture[str]
EXAMPLE = str(Path(__file__).parents[2] / "example")
PLAIN = OperatorSettings()
# What only `explain` of the one resource asks for: permissions, fields that were dropped, targets
# that some agents do not reach, and workloads that were told to rest.
BESIDE = {
    "agent-not-on-node", "crd-old-field", "field-misspelt", "nodes-not-allowed", "rbac-missing",
    "role-in-the-wrong-namespace", "workload-without-replicas",
}  # fmt: skip
DOCUMENTS = Path(__file__).parents[2] / "docs" / "status-command.md"


def health(folder: Path, *objects: Any, namespace: str = "") -> Health:
    """How objects are."""
    (folder / "all.yaml").write_text(yaml.safe_dump_all(objects))
    return health_of_manifests([str(folder)], PLAIN, namespace)


def told(found: Health) -> list[tuple[str, str, str]]:
    """Namespace, state and name of everything that is not well, in its order."""
    every = (one for space in found.namespaces for one in space.troubles)
    return [(each.namespace, each.state, f"{each.kind} {each.name}") for each in every]


def test_everything_that_is_not_well_is_listed_the_worst_first(tmp_path: Path) -> None:
    """By namespace, the one with the worst first; what is well is not there."""
    wrong = thing("ServiceMonitor", "wrong", "a", spec={"endpoints": [{"interval": "1 s"}]})
    lonely = monitor("lonely", labels={"team": "zoo"})
    lonely["metadata"]["namespace"] = "zoo"
    objects = shop()
    objects[1] = prometheus(serviceMonitorNamespaceSelector={"matchLabels": {"team": "shop"}})
    found = health(tmp_path, *objects, wrong, lonely)
    assert told(found) == [
        ("a", "unusable", "ServiceMonitor wrong"),
        ("monitoring", "problem", "Prometheus main"),
        ("shop", "no targets", "PodMonitor tart"),
        ("shop", "no targets", "ScrapeConfig empty"),
        ("shop", "no targets", "ServiceMonitor crat"),
        ("shop", "no targets", "ServiceMonitor gone"),
        ("zoo", "not selected", "ServiceMonitor lonely"),
    ]
    assert (found.state, found.workloads) == (
        PROBLEM,
        {"good": 0, "problem": 1, "unknown": 0},
    )
    (own,) = (each.resources for each in found.namespaces if each.namespace == "shop")
    assert (own.total, own.used, own.no_targets) == (8, 4, 4)


def test_each_has_the_line_of_the_field(tmp_path: Path) -> None:
    """Of the field that the reason names, where it names one; else of the object."""
    (tmp_path / "one.yaml").write_text(
        "# a file\n"
        "---\n"
        "apiVersion: monitoring.coreos.com/v1\n"
        "kind: ServiceMonitor\n"
        "metadata: {name: wrong, namespace: shop}\n"
        "spec:\n"
        "  selector: {}\n"
        "  endpoints:\n"
        "    - port: web\n"
        "      interval: often\n"
        "---\n"
        "apiVersion: v1\n"
        "kind: List\n"
        "items:\n"
        "  - apiVersion: monitoring.coreos.com/v1\n"
        "    kind: PodMonitor\n"
        "    metadata: {name: lonely, namespace: shop}\n"
        "    spec: {selector: {}, podMetricsEndpoints: []}\n"
    )
    found = health_of_manifests([str(tmp_path)], PLAIN)
    places = [one.place.rpartition("/")[2] for each in found.namespaces for one in each.troubles]
    assert places == ["one.yaml:10", "one.yaml:15"]


def test_one_namespace_alone(tmp_path: Path) -> None:
    """Its numbers are its own, and what is wrong elsewhere does not count."""
    found = health(tmp_path, *shop(), namespace="nowhere")
    assert (found.state, found.headline) == (UNKNOWN, "There is nothing in namespace nowhere")
    found = health(tmp_path, *shop(), namespace="shop")
    assert {each.namespace for each in found.namespaces} == {"shop"}
    assert found.headline == "Of 8 resources 4 have no targets"
    well = health(tmp_path, SHOP, prometheus(), monitor(), namespace="shop")
    assert (well.state, well.headline) == ("good", "1 resource is used")


def test_what_may_not_be_seen_is_not_called_unselected(tmp_path: Path) -> None:
    """Where there may be other workloads, nobody knows."""
    view = viewed(tmp_path, SHOP, monitor())
    look = Look(source="x", unsure="you cannot list them")
    found = health_of(decided(view), (), look)
    assert told(found) == [("shop", "unclear", "ServiceMonitor cart")]
    assert (found.state, found.resources.unclear, found.resources.not_selected) == (UNKNOWN, 1, 0)
    assert "you cannot list them" in found.namespaces[0].troubles[0].reason


def test_a_field_that_does_not_exist_is_told(tmp_path: Path) -> None:
    """A selector with one chooses every Service, and would look well."""
    misspelt = monitor()
    misspelt["spec"]["selector"] = {"app": "cart"}
    found = health(tmp_path, SHOP, prometheus(), misspelt, service(), deployment())
    assert (found.state, told(found)) == (PROBLEM, [("shop", "misspelt", "ServiceMonitor cart")])
    assert found.headline.endswith("; 1 object has fields that do not exist")
    [trouble] = found.namespaces[0].troubles
    assert trouble.reason == "spec.selector.app is dropped: there is no such field"
    assert "shop" in [line for line, _ in lines(found)]


def test_a_workload_that_cannot_be_judged_is_not_called_well(tmp_path: Path) -> None:
    """What it names may be in the cluster: nothing is wrong, and nobody can tell."""
    own = thing("Alertmanager", "main", "monitoring", spec={"configSecret": "elsewhere"})
    found = health(tmp_path, own)
    assert (found.state, told(found)) == (
        UNKNOWN,
        [("monitoring", "unknown", "Alertmanager main")],
    )
    assert found.headline == "1 workload of 1 needs a look"
    assert found.namespaces[0].troubles[0].reason == (
        "cannot be judged from here: spec.configSecret: Secret monitoring/elsewhere is not among "
        "the manifests"
    )
    usual = thing("Alertmanager", "main", "monitoring", spec={"replicas": 1})
    assert health(tmp_path, usual).state == "good"


def test_states_have_a_rank() -> None:
    """All but those that are well."""
    assert set(BY_GRAVITY) == {UNUSABLE, PROBLEM, MISSPELT, UNKNOWN, *State} - {State.USED}


@pytest.mark.parametrize("case", cases(), ids=[each.name for each in cases()])
def test_it_finds_what_explain_finds(case: Case, capsys: Output) -> None:
    """Each of the broken set-ups, but where only the page of one resource can tell."""
    ask, *flags = case.ask.split(" --", 1)
    words = f"--{flags[0]}".split() if flags else []
    manifests = str(case.manifests)
    explained = main(["explain", *ask.split(), *words, "-f", manifests, "-o", "json"])
    headline = json.loads(capsys.readouterr().out)["headline"]
    status = main(["status", "-f", manifests, *words, "-o", "json"])
    found = json.loads(capsys.readouterr().out)
    name = ask.split()[1].rpartition("/")[2]
    reasons = [
        one["reason"]
        for each in found["namespaces"]
        for one in each["troubles"]
        if one["name"] == name
    ]
    if case.name in BESIDE:
        assert not reasons
    elif explained == 1:
        assert (status, bool(reasons)) == (1, True), headline
    elif "cannot be judged from here" in headline:
        assert (status, len(reasons)) == (2, 1)


# --- In words, and for programs -------------------------------------------------------------------


def test_the_page_says_the_same_sentence(capsys: Output) -> None:
    """And has the same numbers, and the same lines."""
    settings = flag_settings((), judging=True)

    async def overview() -> Any:
        pages = DirectoryPages(EXAMPLE, settings)
        reading = asyncio.create_task(pages.run())
        try:
            return await pages.overview()
        finally:
            reading.cancel()

    shown = asyncio.run(overview())
    found = health_of_manifests([EXAMPLE], settings)
    assert (shown.headline, shown.state) == (found.headline, found.state)
    assert shown.resources == found.resources
    mine = {one.place for each in found.namespaces for one in each.troubles}
    assert {f"{EXAMPLE}/{each.source}" for each in shown.problems} <= mine
    assert main(["status", "-f", EXAMPLE]) == 1
    assert capsys.readouterr().out.startswith(f"{shown.headline}\n")


def test_what_is_alike_is_told_together(tmp_path: Path) -> None:
    """A reason that many share is not repeated for each."""
    many = [monitor(f"m{number}") for number in range(2000)]
    text = [line for line, _ in lines(health(tmp_path, SHOP, prometheus(paused=True), *many))]
    assert "shop (2,000 of 2,000 resources not well)" in text
    assert f"  {'':12}  and 1,997 more" in text
    assert len(text) < 15


@pytest.mark.parametrize(
    ("objects", "status"),
    [
        ([SHOP, prometheus(), monitor()], 0),
        ([SHOP, prometheus(paused=True), monitor()], 1),
        ([SHOP, monitor()], 1),
        ([SHOP], 2),
    ],
    ids=["well", "paused", "nobody", "nothing"],
)
def test_the_exit_status_is_for_scripts(
    objects: list[Any], status: int, tmp_path: Path, capsys: Output
) -> None:
    """0 all is well, 1 something is not, 2 nobody can tell."""
    (tmp_path / "all.yaml").write_text(yaml.safe_dump_all(objects))
    assert main(["status", "-f", str(tmp_path)]) == status
    assert main(["status", "-f", str(tmp_path), "-A", "-n", "shop"]) == 2
    assert "name one of them" in capsys.readouterr().err


def test_a_folder_that_is_not_there_is_no_state_of_things(tmp_path: Path, capsys: Output) -> None:
    """A path is misspelt: whoever asks in a script must not read that something is wrong."""
    assert main(["status", "-f", str(tmp_path), str(tmp_path / "deplyo")]) == 2
    said = capsys.readouterr()
    assert (said.out, said.err) == (
        "", f"stoker status: {tmp_path}/deplyo: no such file or directory\n"
    )  # fmt: skip


def test_it_is_printed_again_when_it_is_another(tmp_path: Path) -> None:
    """With --watch; a file that is saved without a difference prints nothing."""
    file = tmp_path / "all.yaml"
    file.write_text(yaml.safe_dump_all([SHOP, prometheus(), monitor()]))
    command = [sys.executable, "-m", "stoker", "status", "-f", str(tmp_path), "--watch"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as watching:
        assert watching.stdout
        try:
            assert watching.stdout.readline() == "The one workload is well; 1 resource is used\n"
            file.write_text(f"# a remark\n{file.read_text()}")
            new = tmp_path / "all.new"
            new.write_text(yaml.safe_dump_all([SHOP, prometheus(paused=True), monitor()]))
            new.replace(file)
            assert watching.stdout.readline() == "\n"
            assert watching.stdout.readline().startswith("1 workload of 1 needs a look; ")
        finally:
            watching.terminate()


def test_programs_get_what_the_page_about_it_promises(capsys: Output) -> None:
    """Each member of JSON and YAML is in the table of the docs, and no other."""
    main(["status", "-f", EXAMPLE, "-o", "json"])
    found = json.loads(capsys.readouterr().out)
    main(["status", "-f", EXAMPLE, "-o", "yaml"])
    assert yaml.safe_load(capsys.readouterr().out) == found
    assert found["schema"] == "stoker/status/v1"
    promised = set(re.findall(r"^\| `([\w.\[\]]+)` \|", DOCUMENTS.read_text(), re.MULTILINE))
    assert promised == set(_paths(found, ""))


def _paths(value: Any, path: str) -> set[str]:
    """The paths of all members; numbers by state are one."""
    if isinstance(value, list):
        return {inner for each in value for inner in _paths(each, f"{path}[]")}
    if not isinstance(value, dict):
        return {path}
    if path.endswith(("resources", "workloads")):
        return {path}
    return {
        inner
        for name, each in value.items()
        for inner in (_paths(each, f"{path}.{name}".lstrip(".")) or {f"{path}.{name}".lstrip(".")})
    }
