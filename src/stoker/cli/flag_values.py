"""What the text of a flag means: one small function per kind of value.

Each takes the text and what earlier uses of the flag gave, and returns the value; `ValueError` says
what is wrong, in words that follow the name of the flag. Text is read as Go's `flag` package and
Kubernetes read it, because deployments were written for those.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

FlagReader: TypeAlias = Callable[[str, Any], Any]

_BOOLEANS: Final = {
    **dict.fromkeys(("1", "t", "T", "TRUE", "true", "True"), True),
    **dict.fromkeys(("0", "f", "F", "FALSE", "false", "False"), False),
}
_UNITS: Final = {
    "ns": 1e-9,
    "us": 1e-6,
    "µs": 1e-6,
    "μs": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "m": 60.0,
    "h": 3600.0,
}
_NUMBER: Final = r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)"
_TERM: Final = re.compile(rf"({_NUMBER})({'|'.join(sorted(_UNITS, key=len, reverse=True))})")
_DURATION: Final = re.compile(rf"[+-]?(?:0|(?:{_TERM.pattern})+)")
_QUANTITY: Final = re.compile(rf"\+?{_NUMBER}(?:[KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?")
_LABEL: Final = re.compile(r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?")
_SERVER_URL: Final = re.compile(r"https://(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?/?")
_SUBDOMAIN: Final = re.compile(rf"{_LABEL.pattern}(?:\.{_LABEL.pattern})*")


def text(value: str, _: Any = None) -> str:
    """Any text."""
    return value


def server_url(value: str, _: Any = None) -> str:
    """The URL of a server with TLS, without a path."""
    if value and not _SERVER_URL.fullmatch(value):
        raise ValueError(f"`{value}` is not a URL such as `https://stoker.monitoring.svc:8443`")
    return value.removesuffix("/")


def boolean(value: str, _: Any = None) -> bool:
    """Yes or no."""
    if value not in _BOOLEANS:
        raise ValueError(f"`{value}` is neither true nor false")
    return _BOOLEANS[value]


def fraction(value: str, _: Any = None) -> float:
    """A number from 0 up to, but not, 1."""
    number = _number(value, float)
    if not 0 <= number < 1:
        raise ValueError(f"`{value}` is not between 0 and 1")
    return number


def positive(value: str, _: Any = None) -> int:
    """A whole number of at least 1."""
    number = int(_number(value, int))
    if number < 1:
        raise ValueError(f"`{value}` is less than 1")
    return number


def _number(value: str, kind: Callable[[str], float]) -> float:
    try:
        return kind(value)
    except ValueError:
        raise ValueError(f"`{value}` is not a number") from None


def duration(value: str, _: Any = None) -> float:
    """Seconds, from text such as `1m30s`."""
    if not _DURATION.fullmatch(value):
        raise ValueError(f"`{value}` is not a duration such as `30s` or `1m30s`")
    terms = ((match[1], match[2]) for match in _TERM.finditer(value))
    seconds = sum(float(number) * _UNITS[unit] for number, unit in terms)
    if value.startswith("-") or not seconds:
        raise ValueError(f"`{value}` is not longer than nothing")
    return seconds


def duration_or_none(value: str, _: Any = None) -> float:
    """Seconds as above; 0 means never."""
    return 0.0 if value in ("0", "0s") else duration(value)


def quantity(value: str, _: Any = None) -> str:
    """An amount of a resource, such as `100m` or `50Mi`; `0` asks for none."""
    if not _QUANTITY.fullmatch(value):
        raise ValueError(f"`{value}` is not a quantity such as `100m` or `50Mi`")
    return value


def names(value: str, before: tuple[str, ...] | None = None) -> tuple[str, ...]:
    """A set of words with commas between them; each use of the flag adds to it."""
    words = (word.strip() for word in value.split(","))
    return tuple(sorted({*(before or ()), *(word for word in words if word)}))


def namespaces(value: str, before: tuple[str, ...] | None = None) -> tuple[str, ...]:
    """A set of namespaces; each use of the flag adds to it."""
    found = names(value, before)
    for name in found:
        if not _LABEL.fullmatch(name):
            raise ValueError(f"`{name}` cannot be the name of a namespace")
    return found


def pairs(value: str, before: Mapping[str, str] | None = None) -> dict[str, str]:
    """Keys and values: `key=value,other=value`; each use of the flag adds to them."""
    found = dict(before or {})
    for pair in value.split(","):
        key, equals, content = pair.partition("=")
        if not (key.strip() and equals):
            raise ValueError(f"`{pair}` is not of the form key=value")
        found[key.strip()] = content
    return found


def labels(value: str, before: Mapping[str, str] | None = None) -> dict[str, str]:
    """Keys and values that Kubernetes takes as labels."""
    found = pairs(value, before)
    _check_labels(found)
    return found


def annotations(value: str, before: Mapping[str, str] | None = None) -> dict[str, str]:
    """Keys and values that Kubernetes takes as annotations: the keys are those of labels."""
    found = pairs(value, before)
    _check_labels(dict.fromkeys(found, ""))
    return found


def _check_labels(found: dict[str, str]) -> None:
    from stoker.api.core import LabelSelector
    from stoker.select.labels import problems

    for problem in problems(LabelSelector(match_labels=found)):
        raise ValueError(problem.message)


def gates(value: str, before: Mapping[str, bool] | None = None) -> dict[str, bool]:
    """Feature gates: `Name=true,Other=false`; each use of the flag adds to them."""
    return {**(before or {}), **{name: boolean(state) for name, state in pairs(value).items()}}


def resource_limits(value: str, before: Mapping[str, int] | None = None) -> dict[str, int]:
    """Limits by name: `endpoints=5000,rules=20000`; each use of the flag adds to them."""
    from stoker.errors import FieldError
    from stoker.limits import limits_with

    found = {name: _whole(name, text) for name, text in pairs(value).items()}
    try:
        limits_with(found)
    except FieldError as error:
        raise ValueError(f"`{error.path}`: {error.reason}") from None
    return {**(before or {}), **found}


def _whole(name: str, value: str) -> int:
    try:
        return positive(value)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def label_selector(value: str, _: Any = None) -> str:
    """A label selector as the API server takes it."""
    from stoker.select.labels import label_text_problem

    return _without_problem(value, label_text_problem(value))


def field_selector(value: str, _: Any = None) -> str:
    """A field selector as the API server takes it."""
    from stoker.select.labels import field_text_problem

    return _without_problem(value, field_text_problem(value))


def _without_problem(value: str, problem: str) -> str:
    if problem:
        raise ValueError(f"`{value}` {problem}")
    return value


def one_of(*choices: str) -> FlagReader:
    """One of these words."""

    def choice(value: str, _: Any = None) -> str:
        if value not in choices:
            raise ValueError(f"`{value}` is not one of {', '.join(choices)}")
        return value

    return choice


def some_of(*choices: str) -> FlagReader:
    """Some of these words, in the order given; the last use of the flag counts."""

    def chosen(value: str, _: Any = None) -> tuple[str, ...]:
        words = tuple(word.strip() for word in value.split(",") if word.strip())
        for word in words:
            one_of(*choices)(word, None)
        return words

    return chosen


address_priority: Final = one_of("internal", "external")


def object_key(value: str, _: Any = None) -> tuple[str, str]:
    """The namespace and the name of an object, from `namespace/name`; both empty for none."""
    if not value:
        return "", ""
    namespace, _slash, name = value.partition("/")
    if not (_LABEL.fullmatch(namespace) and _SUBDOMAIN.fullmatch(name) and len(name) <= 253):
        raise ValueError(f"`{value}` is not of the form namespace/name")
    return namespace, name


def address(value: str, _: Any = None) -> tuple[str, int]:
    """Host and port to listen on, from `host:port`; no host for all interfaces."""
    host, colon, port = value.rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    if not colon or (":" in host and not bracketed):
        raise ValueError(f"`{value}` is not of the form host:port or :port")
    if not (port.isascii() and port.isdigit() and int(port) <= 65535):
        raise ValueError(f"`{port}` is not a port")
    return host[1:-1] if bracketed else host, int(port)


def address_or_none(value: str, _: Any = None) -> tuple[str, int] | None:
    """Host and port to listen on; an empty text for nowhere."""
    return address(value) if value else None


def host_names(value: str, before: Any = None) -> tuple[str, ...]:
    """Names of machines, with commas between them; a second use adds to the first."""
    names = tuple(each.strip().lower() for each in value.split(",") if each.strip())
    for name in names:
        if not _SUBDOMAIN.fullmatch(name):
            raise ValueError(f"`{name}` is not the name of a machine")
    return (*(before or ()), *names)
