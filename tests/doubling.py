"""Every list, mapping and text that a tenant can write, made longer, and what that costs.

The fields are found by walking the declarations of the six kinds, so that a new one is looked at
from its first day. Each is put alone into an otherwise small object, twice as long the second time,
and all that ever reads such an object reads it: lint, the webhook, judging, writing. Work that is
proportional to what was written doubles; what grows faster is found.

    python -m tests.doubling     by CPU time, eight times as long: also what is done in C. Minutes.

`tests/unit/test_doubling.py` counts calls instead, and comparisons of texts, in seconds.
"""

import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final, NamedTuple

from msgspec import inspect

from stoker.api.alertmanager import Alertmanager
from stoker.api.amconfig import v1alpha1, v1beta1
from stoker.api.convert import converted, typed
from stoker.api.decode import convert
from stoker.api.monitors import PodMonitorSpec, ProbeSpec, ServiceMonitorSpec
from stoker.api.prometheus import PrometheusSpec
from stoker.api.rules import PrometheusRuleSpec
from stoker.api.scrapeconfig.v1alpha1 import ScrapeConfigSpec
from stoker.errors import FieldError
from stoker.generate.alertmanager.kept import KeptAlerting
from stoker.generate.prometheus import fragment
from stoker.generate.rules import Enforcement, rule_file
from stoker.limits import LIMITS, Limits
from stoker.offline.problems import problems
from stoker.ref import Ref
from stoker.select.assets import AssetsAtHand
from stoker.select.workload import Scraper
from stoker.settings import Capabilities
from stoker.validate.rules import prometheus_reader
from stoker.validate.verdicts import judge
from stoker.web.reviews import CONVERT, Reviewer, rules_reader

Object = dict[str, Any]
GROUP: Final = "monitoring.coreos.com"
UNLIMITED: Final = Limits(dict.fromkeys(LIMITS, 10**12))
_FACTS: Final = Capabilities(limits=UNLIMITED)
_WORKLOAD: Final = Scraper(
    namespace="m", name="w", spec=PrometheusSpec(enforced_namespace_label="ns"), capabilities=_FACTS
)
_READER: Final = prometheus_reader(_WORKLOAD)
_REVIEWER: Final = Reviewer(rules_reader("utf8"), UNLIMITED)
_ASSETS: Final = AssetsAtHand({Ref("Secret", "tenant", "s"): {"k": "http://a", "text": "x" * 100}})


class Sort(NamedTuple):
    """A kind in one version: the type of its spec, and a small object that is fine."""

    kind: str
    version: str
    model: Any
    small: Object


_ALERTING: Final = {"route": {"receiver": "r"}, "receivers": [{"name": "r"}]}
SORTS: Final = (
    Sort("ServiceMonitor", "v1", ServiceMonitorSpec, {"selector": {}, "endpoints": [{}]}),
    Sort("PodMonitor", "v1", PodMonitorSpec, {"selector": {}, "podMetricsEndpoints": [{}]}),
    Sort("Probe", "v1", ProbeSpec, {"prober": {"url": "a"}, "targets": {"staticConfig": {}}}),
    Sort("ScrapeConfig", "v1alpha1", ScrapeConfigSpec, {}),
    Sort("PrometheusRule", "v1", PrometheusRuleSpec, {"groups": [{"name": "g", "rules": []}]}),
    Sort("AlertmanagerConfig", "v1alpha1", v1alpha1.AlertmanagerConfigSpec, _ALERTING),
    Sort("AlertmanagerConfig", "v1beta1", v1beta1.AlertmanagerConfigSpec, _ALERTING),
)

# What goes into a text: letters, and what the readers of some texts look for.
TEXTS: Final = ("a", " ", "(", "1", ".", "{{a}}", "a+", '{a="b"}', "\n", "-----BEGIN A-----", "a:")


class Field(NamedTuple):
    """A field that can be long: where it is, and what it is when it has so many of something."""

    sort: Sort
    path: tuple[str, ...]
    filled: Callable[[int], Any]
    what: str
    declared: tuple[str, str] = ("", "")

    def __str__(self) -> str:
        return f"{self.sort.kind} {self.sort.version} {'.'.join(self.path)} ({self.what})"

    def spec(self, count: int) -> Object:
        """A small spec with the field so long."""
        found: Any = _set(self.sort.small, self.path, self.filled(count))
        return dict(found)


def _set(holder: Any, path: tuple[str, ...], value: Any) -> Any:
    if not path:
        return value
    if path[0] == "[]":
        first, *rest = holder if isinstance(holder, list) and holder else [{}]
        return [_set(first, path[1:], value), *rest]
    members = holder if isinstance(holder, dict) else {}
    return {**members, path[0]: _set(members.get(path[0]), path[1:], value)}


def fields(sort: Sort) -> Iterator[Field]:
    """Every list, mapping and text of a kind; of a type at many places, each field once."""
    yield from _fields(sort, inspect.type_info(sort.model), (), set())


def fields_once() -> Iterator[Field]:
    """The same of all kinds; of what they share, each field once."""
    known: set[Any] = set()
    for sort in SORTS:
        for field in fields(sort):
            if (field.declared, field.what) not in known:
                known.add((field.declared, field.what))
                yield field


def _declared(model: Any, name: str) -> tuple[str, str]:
    """The first type that has a field, which others have of it."""
    owners = (each for each in reversed(model.mro()) if name in _names(each))
    return next(owners).__qualname__, name


def _names(model: Any) -> tuple[str, ...]:
    found = getattr(model, "__struct_fields__", ())
    return found if isinstance(found, tuple) else ()


def _fields(  # noqa: C901 - one branch for each sort of type
    sort: Sort, model: Any, path: tuple[str, ...], seen: set[Any]
) -> Iterator[Field]:
    if isinstance(model, inspect.Metadata):
        yield from _fields(sort, model.type, path, seen)
    elif isinstance(model, inspect.UnionType):
        for each in model.types:
            yield from _fields(sort, each, path, seen)
    elif isinstance(model, inspect.StructType):
        for field in model.fields:
            if (model.cls, field.name) not in seen:
                seen.add((model.cls, field.name))
                declared = _declared(model.cls, field.name)
                for one in _fields(sort, field.type, (*path, field.encode_name), seen):
                    yield one if one.declared[0] else one._replace(declared=declared)
    elif isinstance(model, inspect.VarTupleType | inspect.ListType):
        yield Field(sort, path, lambda count: _items(model.item_type, count), "list")
        yield from _fields(sort, model.item_type, (*path, "[]"), seen)
    elif isinstance(model, inspect.DictType):
        yield Field(sort, path, lambda count: {f"k{at}": "v" for at in range(count)}, "mapping")
    elif isinstance(model, inspect.StrType) and path:
        for text in TEXTS:
            yield Field(sort, path, partial(_repeated, text), f"{text!r}")


def _repeated(text: str, length: int) -> str:
    return (text * length)[:length]


def _items(model: Any, count: int) -> list[Any]:
    """Items that differ where they can."""
    plain = model.type if isinstance(model, inspect.Metadata) else model
    if isinstance(plain, inspect.StructType):
        names = {field.encode_name for field in plain.fields} & {"name", "port", "alert", "record"}
        return [dict.fromkeys(names, f"n{at}") for at in range(count)]
    if isinstance(plain, inspect.IntType):
        return list(range(count))
    if isinstance(plain, inspect.AnyType):
        return [{"receiver": "r"} for _ in range(count)]
    return [f"l{at}" for at in range(count)]


def object_of(field: Field, count: int) -> Object:
    """The object with the field so long."""
    metadata = {"name": "x", "namespace": "tenant", "uid": "u"}
    version = f"{GROUP}/{field.sort.version}"
    spec = field.spec(count)
    return {"apiVersion": version, "kind": field.sort.kind, "metadata": metadata, "spec": spec}


def read_raw(given: Object) -> None:
    """All that reads an object as JSON: lint, and the webhook."""
    problems(given, UNLIMITED)
    request = {"uid": "u", "object": given, "operation": "CREATE"}
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    _REVIEWER.answer(f"/admission-{given['kind'].lower()}s/validate", review)
    if given["kind"] == "PrometheusRule":
        _REVIEWER.answer("/admission-prometheusrules/mutate", review)
    if given["kind"] in ("AlertmanagerConfig", "ScrapeConfig"):
        for version in ("v1beta1", "v1alpha1"):
            converted(given, f"{GROUP}/{version}")
        assert CONVERT in _REVIEWER.paths


def read_typed(found: Any) -> None:
    """All that a workload does with an object."""
    kind = type(found).__name__
    if kind == "PrometheusRule":
        rule_file(found, _READER, Enforcement("ns"))
    elif kind == "AlertmanagerConfig":
        metadata = {"name": "w", "namespace": "m"}
        spec: Object = {"alertmanagerConfigSelector": {}}
        workload = convert(Alertmanager, {"metadata": metadata, "spec": spec})
        kept = KeptAlerting(workload, _ASSETS, limits=UNLIMITED)
        kept.put(Ref(kind, "tenant", "x"), found, _ASSETS)
    else:
        judge(_WORKLOAD, found, _ASSETS)
        fragment(found, _WORKLOAD, _ASSETS)


def typed_object(given: Object) -> Any:
    """The typed object; None where the types do not take it."""
    try:
        return typed(given)
    except FieldError:
        return None


def read_all(given: Object) -> None:
    """All of it."""
    read_raw(given)
    found = typed_object(given)
    if found is not None:
        read_typed(found)


# --- By CPU time ----------------------------------------------------------------------------------

_TIMES: Final = 8
_FEW: Final = {"list": 1000, "mapping": 500}
_FEW_LETTERS: Final = 1500
# Linear work takes eight times as long, or less; work that is quadratic would take 64 times.
_ALLOWED: Final = 20.0
# Too short to be told from noise.
_SHORTEST: Final = 0.004


def _seconds(given: Object) -> float:
    start = time.process_time()
    read_all(given)
    return time.process_time() - start


def growth(field: Field) -> float:
    """How much more time eight times as much takes; the least of a few tries."""
    count = _FEW.get(field.what, _FEW_LETTERS)
    few, many = object_of(field, count), object_of(field, count * _TIMES)
    found = float("inf")
    for _ in range(4):
        short, long = min(_seconds(few), _seconds(few)), _seconds(many)
        found = min(found, long / short if long > _SHORTEST else 1.0)
        if found <= _ALLOWED:
            break
    return found


def main() -> int:
    """Look at every field; exit 1 where one costs more than in proportion."""
    looked, wrong = 0, 0
    for field in fields_once():
        looked += 1
        found = growth(field)
        if found > _ALLOWED:
            wrong += 1
            told = f"{_TIMES} times as much takes {found:.0f} times as long"
            print(f"{field}: {told}", flush=True)
    print(f"{looked} fields and texts, {wrong} of them cost more than in proportion")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
