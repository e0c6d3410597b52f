"""What the webhook answers: reviews of admission and of conversion, as values.

Nothing here knows HTTP. `Reviewer.answer` takes the path and the JSON of a request and gives the
JSON of the answer. Paths and the shape of answers are those of the peer; the paths for monitors and
workloads are our own.

    /admission-prometheusrules/validate       /admission-servicemonitors/validate
    /admission-prometheusrules/mutate         /admission-podmonitors/validate
    /admission-alertmanagerconfigs/validate   /admission-probes/validate
    /convert                                  /admission-scrapeconfigs/validate
                                              /admission-prometheuses/validate, and so on

Secrets are not read. What is known only with them, or only of one workload, is not refused here.
Workloads are never refused: whoever writes one is warned of what the operator would say of it.
"""

import base64
import json
from collections.abc import Callable, Iterable
from itertools import chain, islice
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from stoker.api.convert import Converted, converted, typed
from stoker.api.core import Object
from stoker.api.crd import KindVersion
from stoker.api.decode import convert
from stoker.api.kinds import KINDS, version_of
from stoker.api.prometheus import PrometheusSpec
from stoker.errors import DecodeError, FieldError, below
from stoker.limits import NO_CHANGES, Limits
from stoker.promql import NEWEST, options_for
from stoker.roles import WORKLOADS
from stoker.select.assets import AssetsAtHand
from stoker.select.workload import Scraper
from stoker.settings import DEFAULT_PROMETHEUS_VERSION, Capabilities
from stoker.validate.alertmanager.admission import raw_alertmanager_config
from stoker.validate.budget import over_budget
from stoker.validate.findings import Finding, Findings, Reason
from stoker.validate.rules import RuleReader, raw_rules
from stoker.validate.unforeseen import unforeseen
from stoker.validate.verdicts import judge
from stoker.validate.warnings import warnings
from stoker.version import parse_version

ADMISSION: Final = ("admission.k8s.io/v1", "admission.k8s.io/v1beta1")
CONVERSION: Final = ("apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1")
CONVERT: Final = "/convert"
MUTATE_RULES: Final = "/admission-prometheusrules/mutate"
VALIDATED: Final = "prometheus-operator-validated"

# kubectl shows the message whole, and the API server keeps 4 KiB of warnings.
_MOST_FINDINGS: Final = 8
_MOST_WARNINGS: Final = 16
_LONGEST_WARNING: Final = 240
_LONGEST_NAME: Final = 253
# What depends on a Secret, a ConfigMap or one workload's own settings.
_ELSEWHERE: Final = frozenset(
    {
        Reason.SECRET_NOT_FOUND,
        Reason.CONFIG_MAP_NOT_FOUND,
        Reason.KEY_NOT_FOUND,
        Reason.SCRAPE_CLASS_NOT_FOUND,
    }
)
PROMQL_OPTIONS: Final = {
    "experimental-functions": "promql-experimental-functions",
    "duration-expression-parsing": "promql-duration-expr",
    "extended-range-selectors": "promql-extended-range-selectors",
    "binop-fill-modifiers": "promql-binop-fill-modifiers",
}


class ReviewError(FieldError):
    """The body of a request is not the review that its path is for."""


class Answer(Struct, frozen=True):
    """The JSON to send, and what came of the review for logs and metrics.

    `subject` says whom it was about: the name of an object, or how many were converted.
    """

    body: Object
    allowed: bool
    subject: dict[str, Any]
    findings: tuple[str, ...] = ()


class _Verdict(Struct, frozen=True):
    findings: list[Finding] = []
    warnings: list[str] = []
    patch: list[Object] | None = None


def rules_reader(scheme: str, options: Iterable[str] = ()) -> RuleReader:
    """The newest Prometheus as the reader of rules, for `legacy` or `utf8` names."""
    return RuleReader(
        version=parse_version(DEFAULT_PROMETHEUS_VERSION),
        legacy_names=scheme == "legacy",
        promql=options_for(NEWEST, [PROMQL_OPTIONS[name] for name in options]),
    )


class Reviewer:
    """Answers reviews; `reader` is the Prometheus that rules are held against.

    `limits` is what one object may cost.
    """

    def __init__(self, reader: RuleReader, limits: Limits = NO_CHANGES) -> None:
        self._reader = replace(reader, limits=limits)
        self._limits = limits
        self._admissions: dict[str, Callable[[Object], _Verdict]] = {
            MUTATE_RULES: _mutated,
            **{
                f"/admission-{each.plural}/validate": self._validated_as(each.name)
                for each in KINDS
            },
        }

    @property
    def paths(self) -> tuple[str, ...]:
        """All paths that are answered."""
        return (*self._admissions, CONVERT)

    def answer(self, path: str, review: Any) -> Answer:
        """The answer to a review; ReviewError if it is none."""
        if path == CONVERT:
            return _conversion(review)
        return _admission(review, self._admissions[path])

    def _validated_as(self, kind: str) -> Callable[[Object], _Verdict]:
        def validated(given: Object) -> _Verdict:
            version = version_of(str(given.get("apiVersion")), kind)
            if version is None or given.get("kind") != kind:
                raise ReviewError("request.object", f"is not a {kind} of a version that there is")
            findings = list(self._findings(kind, version, given))
            return _Verdict(findings, [] if findings else list(_warned(kind, version, given)))

        return validated

    def _findings(self, kind: str, version: KindVersion, given: Object) -> Findings:
        if kind in WORKLOADS:
            return iter(())
        if kind == "PrometheusRule":
            return raw_rules(given.get("spec"), self._reader)
        if kind == "AlertmanagerConfig":
            model: Any = version.model
            return raw_alertmanager_config(model, given, self._limits)
        return _monitor(given, self._limits)


def _monitor(given: Object, limits: Limits) -> Findings:
    """What the newest Prometheus with no settings of its own would hold against a monitor."""
    over = tuple(over_budget(given.get("spec"), limits, nested=True))
    if over:
        yield from over
        return
    try:
        found: Any = typed(given)
    except DecodeError as error:
        yield Finding(error.path, Reason.INVALID_VALUE, error.reason)
        return
    capabilities = Capabilities(limits=limits)
    anyone = Scraper(namespace="", name="", spec=PrometheusSpec(), capabilities=capabilities)
    verdict = judge(anyone, found, AssetsAtHand())
    yield from (one for one in verdict.findings if one.reason not in _ELSEWHERE)


def _warned(kind: str, version: KindVersion, given: Object) -> Iterable[str]:
    doubtful = _doubts(version, given) if kind in WORKLOADS else ()
    for text in islice(chain(doubtful, warnings(version, given)), _MOST_WARNINGS):
        yield text if len(text) <= _LONGEST_WARNING else f"{text[: _LONGEST_WARNING - 1]}…"


def _doubts(version: KindVersion, given: Object) -> Iterable[str]:
    """What the operator would say of a workload; most who install the webhook do not ask."""
    from stoker.view.doubts import doubts

    model: Any = version.model
    try:
        return list(doubts(convert(model, given)))
    except DecodeError as error:
        return [f"the operator cannot read it: {error}"]
    except Exception as error:
        return [str(unforeseen(error))]


# --- Admission ------------------------------------------------------------------------------------


def _request(review: Any, kind: str, versions: tuple[str, ...]) -> tuple[str, Object]:
    """The version and the request of a review."""
    if not isinstance(review, dict) or review.get("kind") != kind:
        raise ReviewError("kind", f"is not {kind}")
    version, request = review.get("apiVersion"), review.get("request")
    if version not in versions:
        raise ReviewError("apiVersion", f"is not one of {', '.join(versions)}")
    if not isinstance(request, dict) or not isinstance(request.get("uid"), str):
        raise ReviewError("request", "has no uid")
    return str(version), request


def _admission(review: Any, judge_object: Callable[[Object], _Verdict]) -> Answer:
    version, request = _request(review, "AdmissionReview", ADMISSION)
    given = request.get("object")
    verdict = judge_object(given) if isinstance(given, dict) and _counts(request) else _Verdict()
    response: Object = {"uid": request["uid"], "allowed": not verdict.findings}
    if verdict.findings:
        response["status"] = _refusal(request, verdict.findings)
    if verdict.warnings:
        response["warnings"] = verdict.warnings
    if verdict.patch:
        patch = json.dumps(verdict.patch).encode()
        response |= {"patchType": "JSONPatch", "patch": base64.b64encode(patch).decode()}
    body = {"apiVersion": version, "kind": "AdmissionReview", "response": response}
    subject = {name: _named(request.get(name)) for name in ("namespace", "name", "operation")}
    return Answer(
        body, not verdict.findings, subject, tuple(finding.path for finding in verdict.findings)
    )


def _named(value: Any) -> str:
    """A name for logs and metrics: whoever sends a review may have put anything in its place."""
    return value[:_LONGEST_NAME] if isinstance(value, str) else ""


def _counts(request: Object) -> bool:
    """Whether there is something to judge: not in a deletion, and not of an object on its way out.

    Such an object must stay writable, or its finalizers could never be removed.
    """
    metadata = request["object"].get("metadata") or {}
    leaving = isinstance(metadata, dict) and metadata.get("deletionTimestamp")
    return not leaving and not request.get("subResource") and request.get("operation") != "DELETE"


def _refusal(request: Object, findings: list[Finding]) -> Object:
    """The status that clients get; what is wrong stands in the message, which kubectl shows."""
    shown = [str(finding) for finding in findings[:_MOST_FINDINGS]]
    if len(findings) > len(shown):
        shown.append(f"and {len(findings) - len(shown)} more")
    kind = (request.get("kind") or {}).get("kind") or "object"
    causes = [
        {"reason": "FieldValueInvalid", "field": finding.path, "message": finding.message}
        for finding in findings[:100]
    ]
    return {
        "status": "Failure",
        "code": 422,
        "reason": "Invalid",
        "message": f"{kind} is not valid: {'; '.join(shown)}",
        "details": {"name": (request.get("resource") or {}).get("resource", ""), "causes": causes},
    }


# --- Mutation of PrometheusRules ------------------------------------------------------------------


def _mutated(given: Object) -> _Verdict:
    """Numbers and booleans of labels and annotations as texts, and a note that we were here."""
    return _Verdict(patch=[*_noted(given), *_texts(given)])


def _noted(given: Object) -> Iterable[Object]:
    metadata = given.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    if annotations:
        yield {"op": "add", "path": f"/metadata/annotations/{VALIDATED}", "value": "true"}
    else:
        yield {"op": "add", "path": "/metadata/annotations", "value": {VALIDATED: "true"}}


def _texts(given: Object) -> Iterable[Object]:
    groups = _member(given.get("spec"), "groups")
    for at, group in enumerate(groups if isinstance(groups, list) else ()):
        rules = _member(group, "rules")
        for number, rule in enumerate(rules if isinstance(rules, list) else ()):
            for field in ("labels", "annotations"):
                path = f"/spec/groups/{at}/rules/{number}/{field}"
                yield from _texts_in(_member(rule, field), path)


def _texts_in(texts: Any, path: str) -> Iterable[Object]:
    for name, value in texts.items() if isinstance(texts, dict) else ():
        if isinstance(value, bool | int | float):
            step = name.replace("~", "~0").replace("/", "~1")
            yield {"op": "replace", "path": f"{path}/{step}", "value": json.dumps(value)}


def _member(holder: Any, name: str) -> Any:
    return holder.get(name) if isinstance(holder, dict) else None


# --- Conversion -----------------------------------------------------------------------------------


def _conversion(review: Any) -> Answer:
    version, request = _request(review, "ConversionReview", CONVERSION)
    desired, objects = request.get("desiredAPIVersion"), request.get("objects")
    if not isinstance(desired, str) or not isinstance(objects, list):
        raise ReviewError("request", "has no desiredAPIVersion or no objects")
    response: Object = {"uid": request["uid"]}
    findings: list[str] = []
    try:
        made = [_converted(one, desired, index) for index, one in enumerate(objects)]
    except FieldError as error:
        response |= {"convertedObjects": [], "result": _failure(error)}
    else:
        findings = [finding.path for one in made for finding in one.findings]
        response |= {
            "convertedObjects": [one.object for one in made],
            "result": {"status": "Success"},
        }
    body = {"apiVersion": version, "kind": "ConversionReview", "response": response}
    done = response["result"]["status"] == "Success"
    subject = {"objects": len(objects), "version": _named(desired)}
    return Answer(body, done, subject, tuple(findings))


def _converted(given: Any, desired: str, index: int) -> Converted:
    """An object in the version that is asked for.

    Whatever is wrong inside of it is a finding, for an error would fail the whole list. A version
    that we do not know is an error: nobody could say what would be lost.
    """
    where = f"request.objects[{index}]"
    if not isinstance(given, dict):
        raise ReviewError(where, "is no object")
    try:
        return converted(given, desired)
    except FieldError as error:
        path = "request" if error.path == "desiredAPIVersion" else where
        raise FieldError(below(path, error.path), error.reason) from None


def _failure(error: FieldError) -> Object:
    return {"status": "Failure", "reason": "Invalid", "code": 422, "message": str(error)}
