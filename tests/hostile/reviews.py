"""Bodies that somebody sends to the webhook, and what it must answer.

It has no authentication of its own, so a body may be anything. `status` is that of the answer: 400
for what is no review, 200 for a review. Of a review that is one, `allowed` tells whether the object
is taken, or all objects were converted, and `path` where, or above where, something is wrong.
"""

import json
import sys
from collections.abc import Iterator
from typing import Any, Final

from msgspec import Struct

from stoker.api.crd import GROUP
from tests.hostile.payload import BASES, Json

RULES: Final = "/admission-prometheusrules/validate"
MUTATE: Final = "/admission-prometheusrules/mutate"
ALERTING: Final = "/admission-alertmanagerconfigs/validate"
MONITORS: Final = "/admission-servicemonitors/validate"
CONVERT: Final = "/convert"


class Review(Struct, frozen=True, kw_only=True):
    """A body, and what must come of it."""

    about: str
    at: str
    body: bytes
    status: int = 200
    allowed: bool = True
    path: str = ""


def admission(given: Any, **request: Any) -> Json:
    """A review of an object."""
    return {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {"uid": "1", "operation": "CREATE", "object": given, **request},
    }


def conversion(objects: Any, version: Any = "v1beta1", **request: Any) -> Json:
    """A review of objects that are to be converted."""
    desired = f"{GROUP}/{version}" if isinstance(version, str) else version
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "ConversionReview",
        "request": {"uid": "1", "desiredAPIVersion": desired, "objects": objects, **request},
    }


def thing(kind: str, spec: Any = None, version: str = "v1", **metadata: Any) -> Json:
    """An object; without a spec, that of its kind."""
    return {
        "apiVersion": f"{GROUP}/{version}",
        "kind": kind,
        "metadata": {"namespace": "mallory", "name": "x", **metadata},
        "spec": BASES[kind] if spec is None else spec,
    }


def _rule(**rule: Any) -> Json:
    return thing("PrometheusRule", {"groups": [{"name": "g", "rules": [rule]}]})


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()


GOOD: Final = admission(thing("PrometheusRule"))
ALPHA: Final = thing("AlertmanagerConfig", version="v1alpha1")
DEEP: Final = b"[" * 200_000

# --- What is no review ----------------------------------------------------------------------------

NOT_JSON: Final = {
    "nothing": b"",
    "a space": b" ",
    "half an object": b'{"kind":',
    "bytes": b"\xff\xfe\x00\x01",
    "UTF-16": '{"kind":"AdmissionReview"}'.encode("utf-16"),
    "a mark before it": b"\xef\xbb\xbf" + _json(GOOD),
    "broken UTF-8": _json(GOOD).replace(b'"mine"', b'"\xc3\x28"'),
    "half a character": _json(GOOD).replace(b'"mine"', b'"\xed\xa0\x80"'),
    "half an escape": _json(GOOD).replace(b'"mine"', b'"\\ud800"'),
    "NaN": b'{"kind":NaN}',
    "Infinity": b'{"kind":-Infinity}',
    "single quotes": b"{'kind':'x'}",
    "a comma too many": b'{"kind":"AdmissionReview",}',
    "two documents": _json(GOOD) * 2,
    "YAML": b"kind: AdmissionReview\n",
    "a number with a zero": b'{"a":01}',
    "a control character": b'{"kind":"a\x01"}',
    "an open list": DEEP,
    "open objects": b'{"a":' * 200_000,
}
NO_REVIEWS: Final[dict[str, Any]] = {
    "null": None,
    "a text": "AdmissionReview",
    "a number": 1e308,
    "a list": [GOOD],
    "an empty object": {},
    "no kind": {"apiVersion": "admission.k8s.io/v1", "request": {"uid": "1"}},
    "another kind": GOOD | {"kind": "ConversionReview"},
    "a kind that is a list": GOOD | {"kind": ["AdmissionReview"]},
    "another version": GOOD | {"apiVersion": "admission.k8s.io/v2"},
    "a version that is null": GOOD | {"apiVersion": None},
    "no request": {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"},
    "a request that is a text": GOOD | {"request": "x"},
    "no uid": GOOD | {"request": {"object": {}}},
    "a uid that is a number": GOOD | {"request": {"uid": 1}},
    "another kind of object": admission(thing("ServiceMonitor")),
    "an object of no kind": admission({"spec": {}}),
    "a kind that is a number": admission(thing("PrometheusRule") | {"kind": 5}),
    "a version that there is not": admission(thing("PrometheusRule", version="v9")),
    "another group": admission(thing("PrometheusRule") | {"apiVersion": "evil.example/v1"}),
    "a version with lines": admission(thing("PrometheusRule", version="v1\n")),
}


def _no_reviews() -> Iterator[Review]:
    for about, body in NOT_JSON.items():
        yield Review(about=f"no JSON: {about}", at=RULES, body=body, status=400)
    for about, value in NO_REVIEWS.items():
        yield Review(about=f"no review: {about}", at=RULES, body=_json(value), status=400)
    for about, value in {
        "an admission": GOOD,
        "no objects": conversion(None),
        "objects that are one": conversion(ALPHA),
        "no version": conversion([ALPHA], None),
        "a version that is a list": conversion([ALPHA], ["v1"]),
        "another version of reviews": conversion([]) | {"apiVersion": "v1"},
    }.items():
        yield Review(about=f"no conversion: {about}", at=CONVERT, body=_json(value), status=400)


# --- Reviews of admission -------------------------------------------------------------------------

_FIRST: Final = "spec.groups[0].rules[0]"
_WRONG: Final[dict[str, tuple[str, Any, str]]] = {
    "a bad template": (
        RULES,
        _rule(alert="A", expr="up", annotations={"a": "{{"}),
        f"{_FIRST}.annotations[a]",
    ),
    "a template with the name of the rules' own": (
        RULES,
        _rule(alert="A", expr="up", annotations={"a": '{{ define "__alert_A" }}x{{ end }}'}),
        f"{_FIRST}.annotations[a]",
    ),
    "a bad expression": (RULES, _rule(alert="A", expr="up{"), f"{_FIRST}.expr"),
    "an expression that is an object": (RULES, _rule(alert="A", expr={}), f"{_FIRST}.expr"),
    "a spec that is a list": (RULES, thing("PrometheusRule", []), "spec"),
    "a spec that is null": (RULES, thing("PrometheusRule") | {"spec": None}, "spec"),
    "groups that are a text": (RULES, thing("PrometheusRule", {"groups": "x"}), "spec.groups"),
    "a group that is null": (RULES, thing("PrometheusRule", {"groups": [None]}), "spec.groups[0]"),
    "a label that is a number": (
        RULES,
        _rule(alert="A", expr="up", labels={"a": 5}),
        f"{_FIRST}.labels[*]",
    ),
    "a group twice": (
        RULES,
        thing("PrometheusRule", {"groups": [{"name": "g"}] * 2}),
        "spec.groups[1].name",
    ),
    "a bad duration": (RULES, _rule(alert="A", expr="up", **{"for": "x"}), f"{_FIRST}.for"),
    "a limit of many digits": (
        RULES,
        thing("PrometheusRule", {"groups": [{"name": "g", "limit": 10**30}]}),
        "spec.groups[0].limit",
    ),
    "an action in quotes": (
        ALERTING,
        thing(
            "AlertmanagerConfig",
            {
                "route": {"receiver": "a"},
                "receivers": [
                    {"name": "a", "webhookConfigs": [{"url": "http://a/'{{ toUpper `a` }}'"}]}
                ],
            },
            "v1alpha1",
        ),
        "spec.receivers[0].webhookConfigs[0].url",
    ),
    "a script that Go does not know": (
        MONITORS,
        thing(
            "ServiceMonitor",
            {
                "selector": {},
                "endpoints": [{"relabelings": [{"action": "drop", "regex": r"\p{Old_Italic}"}]}],
            },
        ),
        "spec.endpoints[0].relabelings[0].regex",
    ),
    "another's receiver": (
        ALERTING,
        thing("AlertmanagerConfig", {"route": {"receiver": "alice/a/b"}}, "v1beta1"),
        "spec.route.receiver",
    ),
    "a route that is a list": (
        ALERTING,
        thing("AlertmanagerConfig", {"route": []}, "v1alpha1"),
        "spec.route",
    ),
    "a nested route that is null": (
        ALERTING,
        thing(
            "AlertmanagerConfig",
            {"route": {"receiver": "a", "routes": [None]}, "receivers": [{"name": "a"}]},
            "v1beta1",
        ),
        "spec.route.routes[0]",
    ),
    "regex in v1beta1": (
        ALERTING,
        thing(
            "AlertmanagerConfig",
            {
                "route": {
                    "receiver": "a",
                    "routes": [{"matchers": [{"name": "a", "value": "b", "regex": True}]}],
                },
                "receivers": [{"name": "a"}],
            },
            "v1beta1",
        ),
        "spec.route.routes[0].matchers[0].regex",
    ),
    "endpoints that are null": (
        MONITORS,
        thing("ServiceMonitor", {"selector": {}, "endpoints": [None]}),
        "spec.endpoints[0]",
    ),
    "a port that is a list": (
        MONITORS,
        thing("ServiceMonitor", {"selector": {}, "endpoints": [{"port": []}]}),
        "spec.endpoints[0].port",
    ),
}


_SPEC: Final = {"route": {"receiver": "a", "routes": ["DEEP"]}, "receivers": [{"name": "a"}]}
ROUTES: Final = thing("AlertmanagerConfig", _SPEC, "v1alpha1")


# Python 3.12 and 3.13 read no more than 10,000 levels, which an API server takes of an object.
_READ: Final = 9_900 if (3, 12) <= sys.version_info < (3, 14) else 25_000


def _deep_route(depth: int) -> bytes:
    # No writer of JSON goes as deep as its readers do.
    return b'{"routes":[' * depth + b"]}" * depth


def _admissions() -> Iterator[Review]:
    for about, (at, given, path) in _WRONG.items():
        body = _json(admission(given))
        yield Review(about=f"refused: {about}", at=at, body=body, allowed=False, path=path)
    for depth in (60, min(5_000, _READ // 2)):
        where = "spec.route.routes[0].routes[0]"
        body = _json(admission(ROUTES)).replace(b'"DEEP"', _deep_route(depth))
        yield Review(
            about=f"{depth} routes deep", at=ALERTING, body=body, allowed=False, path=where
        )
    for about, value in {
        "a good one": GOOD,
        "no object": admission(None),
        "an object that is a list": admission([1]),
        "a deletion": admission(_rule(alert="A", expr="up{"), operation="DELETE"),
        "a status": admission(_rule(alert="A", expr="up{"), subResource="status"),
        "one on its way out": admission(
            thing("PrometheusRule", {"groups": "x"}, deletionTimestamp="2026-01-01T00:00:00Z")
        ),
        "metadata that is a list": admission(thing("PrometheusRule") | {"metadata": []}),
        "a uid of many letters": admission(thing("PrometheusRule"), uid="x" * 5000),
        "a uid with lines": admission(thing("PrometheusRule"), uid="a\nb\x00"),
        "fields that there are not": admission(thing("PrometheusRule"), evil={"a": [1]}),
        "no spec at all": admission(
            {"apiVersion": f"{GROUP}/v1", "kind": "PrometheusRule", "spec": {}}
        ),
    }.items():
        yield Review(about=f"allowed: {about}", at=RULES, body=_json(value))
    twice = _json(GOOD)[:-1] + b',"kind":"AdmissionReview"}'
    yield Review(about="allowed: a key twice", at=RULES, body=twice)


def _mutations() -> Iterator[Review]:
    for about, given in {
        "a good one": thing("PrometheusRule"),
        "numbers in labels": _rule(alert="A", expr="up", labels={"a": 5, "b": True, "c": 1.5}),
        "names with slashes": _rule(alert="A", expr="up", labels={"a/b~c": 5, "": 6}),
        "annotations that are a list": thing("PrometheusRule") | {"metadata": {"annotations": [1]}},
        "metadata that is a text": thing("PrometheusRule") | {"metadata": "x"},
        "a spec that is a text": thing("PrometheusRule", "x"),
        "groups that are numbers": thing("PrometheusRule", {"groups": [1, None, "x"]}),
        "rules that are numbers": thing(
            "PrometheusRule", {"groups": [{"rules": [1, {"labels": 5}]}]}
        ),
        "huge numbers": _rule(alert="A", expr="up", labels={"a": 10**400, "b": -0.0}),
        "another kind": thing("ServiceMonitor"),
    }.items():
        body = _json(admission(given))
        yield Review(about=f"mutated: {about}", at=MUTATE, body=body)


# --- Conversions ----------------------------------------------------------------------------------

KEPT: Final = "operator.prometheus.io/v1alpha1-only"


def _conversions() -> Iterator[Review]:
    beta = thing("AlertmanagerConfig", version="v1beta1")
    for about, objects, version, done in (
        ("one", [ALPHA], "v1beta1", True),
        ("none", [], "v1beta1", True),
        ("one and the same", [beta], "v1beta1", True),
        ("a spec that is a list", [ALPHA | {"spec": [1]}], "v1beta1", True),
        ("a spec that is null", [ALPHA | {"spec": None}], "v1beta1", True),
        (
            "no metadata",
            [{"apiVersion": f"{GROUP}/v1alpha1", "kind": "AlertmanagerConfig"}],
            "v1beta1",
            True,
        ),
        ("metadata that is a text", [ALPHA | {"metadata": "x"}], "v1beta1", True),
        (
            "receivers that are texts",
            [ALPHA | {"spec": {"receivers": ["a", 5, None]}}],
            "v1beta1",
            True,
        ),
        (
            "a note that is no JSON",
            [beta | {"metadata": {"annotations": {KEPT: "{"}}}],
            "v1alpha1",
            True,
        ),
        (
            "a note that is deep",
            [beta | {"metadata": {"annotations": {KEPT: "[" * 5000}}}],
            "v1alpha1",
            True,
        ),
        (
            "a note that is a list",
            [beta | {"metadata": {"annotations": {KEPT: "[1, null, {}]"}}}],
            "v1alpha1",
            True,
        ),
        (
            "a note that leads nowhere",
            [
                beta
                | {
                    "metadata": {
                        "annotations": {KEPT: '[{"at": ["receivers", 99], "fields": {"a": 1}}]'}
                    }
                }
            ],
            "v1alpha1",
            True,
        ),
        (
            "a note that changes others",
            [
                beta
                | {
                    "metadata": {
                        "annotations": {
                            KEPT: '[{"at": [], "fields": {"route": {"receiver": "x"}}}]'
                        }
                    }
                }
            ],
            "v1alpha1",
            True,
        ),
        (
            "annotations that are a list",
            [beta | {"metadata": {"annotations": [1]}}],
            "v1alpha1",
            True,
        ),
        ("a ScrapeConfig", [thing("ScrapeConfig", version="v1alpha1")], "v1", True),
        (
            "a ScrapeConfig of texts",
            [thing("ScrapeConfig", {"relabelings": "x", "kubernetesSDConfigs": [5]}, "v1alpha1")],
            "v1beta1",
            True,
        ),
        ("a ScrapeConfig back", [thing("ScrapeConfig", version="v1")], "v1alpha1", True),
        ("an object that is a text", ["x"], "v1beta1", False),
        ("an object that is null", [ALPHA, None], "v1beta1", False),
        ("an object of no kind", [{}], "v1beta1", False),
        (
            "an object of another group",
            [ALPHA | {"apiVersion": "evil.example/v1"}],
            "v1beta1",
            False,
        ),
        ("a version that there is not", [ALPHA], "v9", False),
        ("a version with lines", [ALPHA], "v1\nx", False),
        ("a version of many letters", [ALPHA], "v" * 100_000, False),
        ("a kind of many letters", [ALPHA | {"kind": "x" * 100_000}], "v1beta1", False),
        ("another kind", [thing("Prometheus", {})], "v1beta1", False),
        ("a kind that is a list", [ALPHA | {"kind": ["x"]}], "v1beta1", False),
    ):
        body = _json(conversion(objects, version))
        yield Review(about=f"converted: {about}", at=CONVERT, body=body, allowed=done)


# --- Nesting --------------------------------------------------------------------------------------

# As deep as a body can be that is answered without a thread, and as deep as one with it.
_DEPTHS: Final = {"small": min(15_000, _READ), "large": min(24_000, _READ)}


def _nestings() -> Iterator[Review]:
    """Whatever is nested: an answer, and a webhook that goes on."""
    for at, kind, version in (
        (RULES, "PrometheusRule", "v1"),
        (MUTATE, "PrometheusRule", "v1"),
        (MONITORS, "ServiceMonitor", "v1"),
        (ALERTING, "AlertmanagerConfig", "v1alpha1"),
    ):
        for size, depth in _DEPTHS.items():
            deep = b"[" * depth + b"]" * depth
            body = _json(admission(thing(kind, BASES[kind] | {"evil": 0}, version)))
            body = body.replace(b'"evil": 0', b'"evil": ' + deep)
            about, judged = f"nested: {size}, {at}", at != MUTATE
            path = "spec.evil" if judged else ""
            yield Review(about=about, at=at, body=body, allowed=not judged, path=path)
    for size, depth in _DEPTHS.items():
        body = _json(conversion([ROUTES])).replace(b'"DEEP"', _deep_route(depth // 8))
        yield Review(about=f"nested: {size}, {CONVERT}", at=CONVERT, body=body)


REVIEWS: Final = (*_no_reviews(), *_admissions(), *_mutations(), *_conversions(), *_nestings())
