"""What a cluster with our definitions would hold against an object.

The verdict on fields is `stoker.api.admit`'s. Around it stands what an API server checks before it
asks the schema: whether the kind and version exist, and whether the metadata is in order. Names
that do not exist are answered with the nearest one that does.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, Final

from msgspec import Struct

from stoker.api.admit import (
    DUPLICATE,
    INVALID,
    REQUIRED,
    UNKNOWN_FIELD,
    UNSUPPORTED,
    WRONG_TYPE,
    Objection,
    admit,
)
from stoker.api.common import ByteSize, Duration, GoDuration
from stoker.api.crd import GROUP, KindVersion, version_schema
from stoker.api.decode import convert
from stoker.api.kinds import KINDS, version_of
from stoker.api.schema import Schema
from stoker.errors import DecodeError
from stoker.limits import Limits
from stoker.select.workload import Workload
from stoker.spelling import nearest
from stoker.validate.budget import BOUNDED, over_budget
from stoker.validate.findings import Reason
from stoker.view.doubts import notes_on, why_not_built
from stoker.yamltree import leading_name, rest_after

UNKNOWN_KIND: Final = "UnknownKind"
UNSERVED_VERSION: Final = "UnservedVersion"
DEFINED_TWICE: Final = "DefinedTwice"
UNDECODABLE: Final = "Undecodable"
UNREADABLE: Final = "Unreadable"
UNBUILDABLE: Final = "Unbuildable"
DOUBTFUL: Final = "Doubtful"
MORE: Final = "More"
NODES_NOT_COVERED: Final = "NodesNotCovered"
OVER_BUDGET: Final = str(Reason.OVER_BUDGET)
NOT_KNOWN: Final = str(Reason.NOT_KNOWN)

ERROR: Final = "error"
WARNING: Final = "warning"
UNKNOWN: Final = "unknown"

REASONS: Final[dict[str, str]] = {
    INVALID: "The field does not take such a value.",
    REQUIRED: "A field that an object must have is missing.",
    UNSUPPORTED: "The value is not one of the field's choices.",
    DUPLICATE: "An item appears twice in a list whose items must differ.",
    WRONG_TYPE: "The value has the wrong type for the field.",
    UNKNOWN_FIELD: "There is no such field: an API server accepts the object and drops it.",
    UNKNOWN_KIND: "The group has no such kind.",
    UNSERVED_VERSION: "The kind exists, but not in this version of the API.",
    DEFINED_TWICE: "An object of the same kind and name was defined before.",
    UNDECODABLE: "The schema accepts the object, but it cannot be read.",
    UNREADABLE: "The file or document cannot be read.",
    UNBUILDABLE: "An API server accepts the workload, but the operator cannot build it.",
    DOUBTFUL: "It does nothing, does harm, or the workload probably does not run as intended.",
    MORE: "The object has more problems than are shown.",
    NODES_NOT_COVERED: "There are Nodes among the manifests on which no agent runs.",
    OVER_BUDGET: "The object costs more than one object is allowed to; the operator leaves it out.",
    NOT_KNOWN: "It depends on something that is not among the manifests, such as a Secret.",
    Reason.INVALID_VALUE: "The program that reads it would refuse the value.",
    Reason.CONFLICT: "It contradicts something else.",
    Reason.UNFORESEEN: "The operator itself fails on it.",
    Reason.INVALID_SELECTOR: "The selector is not valid.",
    Reason.INVALID_RELABELING: "The relabeling step would be refused.",
    Reason.INVALID_CERTIFICATE: "The certificate or key cannot be loaded.",
    Reason.SECRET_NOT_FOUND: "There is no such Secret.",
    Reason.CONFIG_MAP_NOT_FOUND: "There is no such ConfigMap.",
    Reason.KEY_NOT_FOUND: "The Secret or ConfigMap has no such key, or its value is not text.",
    Reason.NOT_READABLE: "The Secret or ConfigMap cannot be read.",
    Reason.SCRAPE_CLASS_NOT_FOUND: "The workload has no such scrape class.",
    Reason.UNSUPPORTED_VERSION: "The version of the program does not know it.",
    Reason.FILE_ACCESS_FORBIDDEN: "The workload denies access to its own files.",
    Reason.WILL_NOT_START: "The program would exit at once.",
}
"""Why there is a problem: every word that a `Problem` or a reading can have, in a sentence."""

MAX_PROBLEMS: Final = 100
"""Problems reported of one object; what is broken this often was not meant to be our kind."""


class Problem(Struct, frozen=True):
    """Something wrong with an object.

    A warning is what a cluster takes, though not as meant; what is unknown may well be right.
    """

    path: str
    reason: str
    message: str
    warning: bool = False
    unknown: bool = False

    def severity(self, *, strict: bool = False) -> str:
        """How grave it is; `strict` counts warnings as errors."""
        if self.unknown:
            return UNKNOWN
        return WARNING if self.warning and not strict else ERROR


def without_kind(manifest: dict[str, Any]) -> Problem | None:
    """The problem of an object that does not say what it is, else None."""
    for field, value in (("apiVersion", _api_version(manifest)), ("kind", _kind(manifest))):
        if not value:
            return Problem(field, REQUIRED, "an object needs an `apiVersion` and a `kind`")
    return None


def defined_twice(before: str) -> Problem:
    """The problem of an object that was defined at another place before."""
    return Problem("metadata.name", DEFINED_TWICE, f"defined before, at {before}")


def is_ours(manifest: dict[str, Any]) -> bool:
    """Whether an object means to be one of our kinds."""
    group, _, _ = _api_version(manifest).rpartition("/")
    return group == GROUP or (_kind(manifest) in _names() and _means_ours(group))


def is_node(manifest: dict[str, Any]) -> bool:
    """Whether an object is a Node."""
    return (_api_version(manifest), _kind(manifest)) == ("v1", "Node")


def problems(manifest: dict[str, Any], limits: Limits | None = None) -> list[Problem]:
    """Everything wrong with an object of our group, errors and warnings.

    With `limits`, one that costs more than that has no other problem: it is not looked at further.
    """
    version = version_of(_api_version(manifest), _kind(manifest))
    if version is None:
        return [_no_such_kind(manifest)]
    if limits and _kind(manifest) in BOUNDED:
        over = list(over_budget(manifest.get("spec"), limits, nested=True))
        if over:
            return [Problem(each.path, each.reason, each.message) for each in over]
    found = [*_metadata_problems(manifest.get("metadata")), *_field_problems(version, manifest)]
    if len(found) <= MAX_PROBLEMS:
        return found
    rest = len(found) - MAX_PROBLEMS
    more = Problem("", MORE, f"{rest} more problems are not shown", _all_warnings(found))
    return [*sorted(found, key=lambda problem: problem.warning)[:MAX_PROBLEMS], more]


def _all_warnings(found: Iterable[Problem]) -> bool:
    return all(problem.warning for problem in found)


def _api_version(manifest: dict[str, Any]) -> str:
    value = manifest.get("apiVersion")
    return value if isinstance(value, str) else ""


def _kind(manifest: dict[str, Any]) -> str:
    value = manifest.get("kind")
    return value if isinstance(value, str) else ""


def _names() -> list[str]:
    return [kind.name for kind in KINDS]


def _means_ours(group: str) -> bool:
    """Whether a group is ours misspelt; others, such as Azure's, have the same kinds on purpose."""
    return not group or bool(nearest(group, [GROUP], cutoff=0.96))


def _no_such_kind(manifest: dict[str, Any]) -> Problem:
    api_version, name = _api_version(manifest), _kind(manifest)
    kind = next((kind for kind in KINDS if kind.name == name), None)
    if kind is None:
        guess = nearest(name, _names())
        hint = _did_you_mean(guess) or f"there are {', '.join(_names())}"
        message = f"`{GROUP}` has no kind `{_clipped(name)}`; {hint}"
        return Problem("kind", UNKNOWN_KIND, message)
    served = " and ".join(f"`{GROUP}/{version.name}`" for version in kind.versions)
    message = f"`{_clipped(api_version)}` has no kind {name}; it is served as {served}"
    return Problem("apiVersion", UNSERVED_VERSION, message)


def _field_problems(version: KindVersion, manifest: dict[str, Any]) -> Iterator[Problem]:
    admission = admit(version, manifest)
    findings = [finding for finding in admission.findings if finding.path != "metadata"]
    for count, finding in enumerate(findings):
        choice = _choice(version, manifest, finding) if count < MAX_PROBLEMS else ""
        yield Problem(finding.path, finding.reason, choice or _plainly(finding.message))
    for count, finding in enumerate(admission.unknown):
        hint = _sibling(version, manifest, finding) if count < MAX_PROBLEMS else ""
        yield Problem(finding.path, finding.reason, finding.message + hint, warning=True)
    if not any(finding.reason == WRONG_TYPE for finding in findings):
        yield from _decoding_problems(version, admission.stored, {f.path for f in findings})


def _decoding_problems(
    version: KindVersion, stored: dict[str, Any], known: set[str]
) -> Iterator[Problem]:
    """What the schema lets pass but the types do not take: it would be a fault of our own."""
    try:
        convert(version.model, stored)
    except DecodeError as error:
        if error.path not in known and not error.path.startswith("metadata"):
            yield Problem(error.path, UNDECODABLE, error.reason)


def workload_problems(manifest: dict[str, Any]) -> Iterator[Problem]:
    """What the operator holds against a workload that an API server takes as it is."""
    version = version_of(_api_version(manifest), _kind(manifest))
    if version is None or not issubclass(version.model, Workload):
        return
    try:
        workload = convert(version.model, admit(version, manifest).stored)
    except DecodeError:
        # In its metadata, where Kubernetes takes more than the types do.
        return
    error = why_not_built(workload)
    if error:
        yield Problem(error.path, UNBUILDABLE, error.reason)
        return
    for note in notes_on(workload):
        yield Problem(note.path, DOUBTFUL, note.message, warning=True)


# Names that exist ---------------------------------------------------------------------------------


def _did_you_mean(name: str) -> str:
    return f"did you mean `{name}`?" if name else ""


def _sibling(version: KindVersion, manifest: dict[str, Any], finding: Objection) -> str:
    schema, _, unknown = _lookup(version, manifest, finding.path)
    guess = nearest(unknown, schema.get("properties", {}))
    return f"; {_did_you_mean(guess)}" if guess else ""


def _choice(version: KindVersion, manifest: dict[str, Any], finding: Objection) -> str:
    """The nearest choice instead of all of them, where there is one."""
    if finding.reason != UNSUPPORTED:
        return ""
    schema, value, _ = _lookup(version, manifest, finding.path)
    guess = nearest(str(value), [str(choice) for choice in schema.get("enum", ())])
    if not guess:
        return ""
    return f"`{value}` is not one of the choices; {_did_you_mean(guess)}"


def _lookup(version: KindVersion, manifest: Any, path: str) -> tuple[Schema, Any, str]:
    """The schema and the value at a path, and what of the path the schema does not know."""
    schema, value = _schema(version), manifest
    while path:
        index = _INDEX.match(path)
        if isinstance(value, list) and index and int(index[1]) < len(value):
            schema, value, path = schema.get("items", {}), value[int(index[1])], path[index.end() :]
            continue
        name = leading_name(path, value) if isinstance(value, dict) else None
        inner = schema.get("properties", {}).get(name) or schema.get("additionalProperties")
        if name is None or not isinstance(inner, dict):
            break
        schema, value, path = inner, value[name], rest_after(path, name)
    return schema, value, path


@cache
def _schema(version: KindVersion) -> Schema:
    return version_schema(version)


# Patterns in words --------------------------------------------------------------------------------


def _pattern_of(declared: Any) -> str:
    text: str = declared.__metadata__[0].constraints["pattern"]
    return text


_IN_WORDS = {
    _pattern_of(Duration): "is not a duration such as `30s` or `1h30m`",
    _pattern_of(GoDuration): "is not a duration such as `30s` or `1h30m`",
    _pattern_of(ByteSize): "is not a size such as `512MB` or `2GiB`",
}


def _plainly(message: str) -> str:
    """A finding without the regular expressions that nobody can read."""
    for pattern, words in _IN_WORDS.items():
        message = message.replace(f"does not match `{pattern}`", words)
    return message


# Metadata -----------------------------------------------------------------------------------------

_METADATA = (
    "annotations",
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "finalizers",
    "generateName",
    "generation",
    "labels",
    "managedFields",
    "name",
    "namespace",
    "ownerReferences",
    "resourceVersion",
    "selfLink",
    "uid",
)
_INDEX = re.compile(r"\[([0-9]{1,9})\]\.?")
_DNS_LABEL = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_LABEL = re.compile(_DNS_LABEL)
_SUBDOMAIN = re.compile(rf"{_DNS_LABEL}(?:\.{_DNS_LABEL})*")
_WORD = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?")
_MAX_ANNOTATIONS = 256 * 1024


def _metadata_problems(metadata: Any) -> Iterator[Problem]:
    if not isinstance(metadata, dict):
        reason, words = (REQUIRED, "required, but missing") if metadata is None else _NO_OBJECT
        yield Problem("metadata", reason, words)
        return
    yield from _name_problems(metadata)
    yield from _map_problems(metadata, "labels")
    yield from _map_problems(metadata, "annotations")
    for name in metadata:
        if name not in _METADATA:
            guess = _did_you_mean(nearest(name, _METADATA))
            message = "unknown field, the API server drops it" + (f"; {guess}" if guess else "")
            yield Problem(f"metadata.{name}", UNKNOWN_FIELD, message, warning=True)


_NO_OBJECT = (WRONG_TYPE, "expected an object")


def _name_problems(metadata: dict[str, Any]) -> Iterator[Problem]:
    for field in ("name", "generateName", "namespace"):
        value = metadata.get(field)
        if value is not None and not isinstance(value, str):
            yield Problem(f"metadata.{field}", WRONG_TYPE, _no_string(value))
        elif value and not _is_name(field, value):
            yield Problem(f"metadata.{field}", INVALID, f"`{_clipped(value)}` {_NAME_RULES[field]}")
    if all(metadata.get(field) in (None, "") for field in ("name", "generateName")):
        yield Problem("metadata.name", REQUIRED, "an object needs a `name` or a `generateName`")


_LOWER_CASE = "must be lower case letters, digits and `-`, with letters or digits at the ends"
_NAME_RULES = {
    "name": f"{_LOWER_CASE}; `.` may separate parts; at most 253 characters",
    "generateName": f"{_LOWER_CASE}; `.` may separate parts; at most 253 characters",
    "namespace": f"{_LOWER_CASE}; at most 63 characters",
}


def _is_name(field: str, value: str) -> bool:
    if field == "namespace":
        return len(value) <= 63 and _LABEL.fullmatch(value) is not None
    # The API server appends to a generateName, so that a `-` at its end will not be the end.
    text = value[:-1] + "a" if field == "generateName" and value.endswith("-") else value
    return len(text) <= 253 and _SUBDOMAIN.fullmatch(text) is not None


def _map_problems(metadata: dict[str, Any], field: str) -> Iterator[Problem]:
    entries = metadata.get(field)
    if entries is None:
        return
    if not isinstance(entries, dict):
        yield Problem(f"metadata.{field}", *_NO_OBJECT)
        return
    for key, value in entries.items():
        path = f"metadata.{field}.{key}"
        # The API server reads a null here as an empty string.
        if not isinstance(value, str | None):
            yield Problem(path, WRONG_TYPE, _no_string(value))
        elif field == "labels" and value and not _is_word(value):
            yield Problem(path, INVALID, f"`{_clipped(value)}` {_VALUE_RULE}")
        if not _is_qualified(key):
            yield Problem(path, INVALID, f"`{_clipped(key)}` {_KEY_RULE}")
    if field == "annotations" and sum(len(str(e)) for e in entries.items()) > _MAX_ANNOTATIONS:
        yield Problem("metadata.annotations", INVALID, "longer than 256 KiB in all")


_VALUE_RULE = (
    "is no label value: at most 63 letters, digits, `-`, `_` and `.`, "
    "with letters or digits at the ends"
)
_KEY_RULE = "is no key: `name` or `domain/name`, the name like a label value"


def _is_qualified(key: str) -> bool:
    domain, slash, name = key.rpartition("/")
    if slash and not (len(domain) <= 253 and _SUBDOMAIN.fullmatch(domain)):
        return False
    return _is_word(name)


def _is_word(text: str) -> bool:
    return len(text) <= 63 and _WORD.fullmatch(text) is not None


def _no_string(value: Any) -> str:
    """Of a value without quotes, that YAML reads as something else."""
    if isinstance(value, dict | list):
        return f"expected a string, got {'an object' if isinstance(value, dict) else 'a list'}"
    return f"expected a string, got `{str(value).lower()[:60]}`; quote it"


def _clipped(text: str) -> str:
    return text if len(text) <= 60 else text[:60] + "…"
