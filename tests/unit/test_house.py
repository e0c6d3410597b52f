"""The words of the house: a name of a type stands for one thing, and a text leads somewhere."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
SOURCE: Final = ROOT / "src" / "stoker"

# Rooms that speak a language of their own, which no other room need speak.
_APART: Final = {
    "promql": "the words of PromQL's grammar",
    "golang": "the words of Go's templates and regular expressions",
    "reloader": "a program of its own, which imports nothing of the rest",
}
_VERSIONS: Final = frozenset({"api/amconfig/v1alpha1.py", "api/amconfig/v1beta1.py"})
# Names that stand in several modules, and why that confuses nobody.
_KNOWN: Final = {
    "AlertmanagerConfig": "a version of the kind each, and whichever of them",
    "Endpoint": "in an EndpointSlice, and in a ServiceMonitor: Kubernetes' word and the peer's",
    "InhibitRule": "the base of both versions",
    "Job": "of Kubernetes, which runs pods, and of Prometheus, which scrapes",
    "Matcher": "the base of both versions",
    "Node": "of Kubernetes: whole, and as far as it matters for who runs there",
    "Role": "of Kubernetes, which allows, and of a discovery, which finds: both not our words",
    "Route": "the base of both versions",
    "SecretKeySelector": "Kubernetes' own, and that of AlertmanagerConfig, which is never optional",
    "TimePeriod": "the base of both versions",
    "Subject": "Kubernetes' word in bindings of roles; of an event, which names an object likewise",
}
# What a verdict was called, beside a verdict.
_LEFT_BEHIND: Final = {"judged", "judgement", "judgements", "standing", "standings"}
# A workload by its type, also in a union or a list.
_WORKLOAD: Final = re.compile(
    r"\b(Workload|AnyPrometheus|Prometheus|PrometheusAgent|Alertmanager|ThanosRuler)\b"
)


def test_no_two_public_types_share_a_name() -> None:
    """Nor do aliases; whoever reads a name knows which is meant, without looking at the imports."""
    assert {name: places for name, places in _shared().items() if name not in _KNOWN} == {}


def test_no_name_is_excused_that_is_not_shared() -> None:
    """The list says nothing that is no longer so."""
    assert _KNOWN.keys() - _shared().keys() == set()


def test_no_workload_is_called_an_owner() -> None:
    """Kubernetes' owner is whatever an owner reference names; what we look after is a workload."""
    owners = [
        f"{path.relative_to(ROOT)}:{line}: {name}: {kind}"
        for folder in ("src", "tests", "bench", "tools")
        for path in sorted((ROOT / folder).rglob("*.py"))
        for line, name, kind in _annotated(ast.parse(path.read_text()))
        if re.match("_*owners?($|_)", name.lower()) and _WORKLOAD.search(kind)
    ]
    assert owners == []


def test_what_comes_of_judging_is_a_verdict() -> None:
    """Nothing is called by the words that the glossary has left behind, nor a module."""
    called = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in sorted(SOURCE.rglob("*.py"))
        for name in {path.stem, *_names(ast.parse(path.read_text()))}
        if name.strip("_").lower() in _LEFT_BEHIND
    ]
    assert called == []


def test_no_text_gives_a_number_for_a_reason() -> None:
    """Numbers of requirements and of issues lead nowhere for who clones the repository."""
    a_list, begun = r" \([A-Z]\d{1,2}(?:[,–] ?[A-Z]\d{1,2})*\)", r"\"[A-Z]\d{1,2}: "
    numbered = re.compile(rf"{a_list}|{begun}|\b[Ii]ssues? #?\d+")
    told = [
        f"{path.relative_to(ROOT)}: {found[0]}"
        for path in sorted(ROOT.glob("[a-z]*/**/*"))
        if path.suffix in (".py", ".md") and path != Path(__file__)
        for found in numbered.finditer(path.read_text())
    ]
    assert told == []


def _annotated(tree: ast.Module) -> Iterator[tuple[int, str, str]]:
    """What has a type that is written down, with what it is called: parameters, fields, variables.

    A function is of the type that it returns, and what is made where it is named of its maker's.
    """
    for each in ast.walk(tree):
        if isinstance(each, ast.arg) and each.annotation:
            yield each.lineno, each.arg, ast.unparse(each.annotation)
        elif isinstance(each, ast.AnnAssign):
            yield each.lineno, ast.unparse(each.target), ast.unparse(each.annotation)
        elif isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef) and each.returns:
            yield each.lineno, each.name, ast.unparse(each.returns)
        elif isinstance(each, ast.Assign) and isinstance(each.value, ast.Call):
            for target in each.targets:
                yield each.lineno, ast.unparse(target), ast.unparse(each.value)


def _names(tree: ast.Module) -> Iterator[str]:
    """All names that are given: of classes, functions, parameters, fields and variables."""
    for each in ast.walk(tree):
        if isinstance(each, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield each.name
        elif isinstance(each, ast.arg):
            yield each.arg
        elif isinstance(each, ast.Name):
            yield each.id


def _shared() -> dict[str, list[str]]:
    found: defaultdict[str, list[str]] = defaultdict(list)
    for path in sorted(SOURCE.rglob("*.py")):
        place = path.relative_to(SOURCE)
        for name in _types(ast.parse(path.read_text())):
            found[name].append(str(place))
    return {name: places for name, places in found.items() if _is_twofold(places)}


def _is_twofold(places: list[str]) -> bool:
    """Whether a room has it twice, or two rooms that meet."""
    rooms = [place.split("/")[0] for place in places]
    if any(rooms.count(room) > 1 for room in _APART):
        return True
    met = {place for place, room in zip(places, rooms, strict=True) if room not in _APART}
    return len(met) > 1 and not met <= _VERSIONS


def _types(tree: ast.Module) -> Iterator[str]:
    for each in tree.body:
        if isinstance(each, ast.ClassDef):
            name = each.name
        elif isinstance(each, ast.AnnAssign) and ast.unparse(each.annotation) == "TypeAlias":
            name = ast.unparse(each.target)
        else:
            continue
        if not name.startswith("_"):
            yield name
