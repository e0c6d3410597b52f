"""What a piece of text must look like: durations, names of labels, addresses, quantities.

Each function returns what the text means, or None (or a complaint) where Prometheus or Kubernetes
would not take it.
"""

import re
from fractions import Fraction
from functools import lru_cache
from ipaddress import ip_address
from typing import Final

_DURATION: Final = re.compile(
    r"(?:(\d+)y)?(?:(\d+)w)?(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?(?:(\d+)ms)?", re.ASCII
)
_MILLISECONDS: Final = (31_536_000_000, 604_800_000, 86_400_000, 3_600_000, 60_000, 1000, 1)
# Prometheus counts nanoseconds in 64 bits.
_LONGEST: Final = (2**63 - 1) // 1_000_000


def milliseconds(duration: str) -> int | None:
    """The length of a duration such as `1h30m`; None for what is none."""
    return _milliseconds(duration) if len(duration) < 100 else None


@lru_cache(maxsize=1024)
def _milliseconds(duration: str) -> int | None:
    found = _DURATION.fullmatch(duration)
    if duration == "0":
        return 0
    if not found or not duration:
        return None
    pairs = zip(found.groups(default="0"), _MILLISECONDS, strict=True)
    total = sum(int(number) * unit for number, unit in pairs)
    return total if total <= _LONGEST else None


_LEGACY_NAME: Final = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
# A name in which groups of an expression may stand in for characters: `exported_${1}`.
# Each character can be read in one way only, so that no text makes this slow.
_LEGACY_TEMPLATE: Final = re.compile(
    r"(?:[a-zA-Z_]|\$\{\w+\}|\$\w)(?:\w|\$\{\w+\}|\$\w)*", re.ASCII
)


def label_name(text: str, *, legacy: bool) -> bool:
    """Whether this can be the name of a label."""
    return bool(_LEGACY_NAME.fullmatch(text)) if legacy else bool(text)


# What Prometheus itself writes on what rules make, after all that they say.
_WRITTEN_LAST: Final = ("__name__", "alertname", "alertstate")


def enforced_label_problem(name: str, *, legacy: bool) -> str:
    """Why a namespace cannot be enforced by a label of this name; an empty one enforces nothing."""
    if name in _WRITTEN_LAST:
        return f"`{name}` cannot be enforced: Prometheus itself writes it on what rules make"
    if "$" in name:
        return f"`{name}` cannot be enforced: a `$` stands for a group where a label is set"
    known = not name or label_name(name, legacy=legacy)
    return "" if known else f"`{name}` is not the name of a label"


def label_template(text: str, *, legacy: bool) -> bool:
    """Whether this can be the name of a label once groups are filled in."""
    return bool(_LEGACY_TEMPLATE.fullmatch(text)) if legacy else bool(text)


_QUANTITY: Final = re.compile(
    r"([+-]?(?:\d{1,40}(?:\.\d{0,40})?|\.\d{1,40}))(?:([numkMGTPE]|[KMGTPE]i)|[eE]([+-]?\d{1,2}))?",
    re.ASCII,
)
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY: Final = ("Ki", "Mi", "Gi", "Ti", "Pi", "Ei")


def quantity(value: str | int) -> Fraction | None:
    """The number that a Kubernetes quantity such as `500m` means; None for what is none."""
    found = _QUANTITY.fullmatch(str(value))
    if not found:
        return None
    number, suffix, exponent = found.groups()
    if suffix in _BINARY:
        return Fraction(number) * (1 << 10 * (_BINARY.index(suffix) + 1))
    return Fraction(f"{number}e{exponent or _DECIMAL.get(suffix or '', 0)}")


_SIZE: Final = re.compile(r"(\d+\.?\d*|\.\d+)([KMGTPE]?)i?B", re.ASCII)
# Bytes are counted in 64 bits, and so are the digits before and after the point.
_LARGEST: Final = 2**63
_DIGITS: Final = 18


def byte_size(text: str) -> int | None:
    """The bytes of a size as Prometheus counts them (`1KB` is 1024); None for what is none."""
    if text == "0":
        return 0
    parts = [] if len(text) > 100 else _SIZE.findall(text)
    if not parts or _SIZE.sub("", text):
        return None
    if any(len(digits) > _DIGITS for number, _ in parts for digits in number.split(".")):
        return None
    total = sum(Fraction(number) * 1024 ** " KMGTPE".index(unit or " ") for number, unit in parts)
    return int(total) if total < _LARGEST else None


_SCHEME: Final = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*):")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_BAD_ESCAPE: Final = re.compile(r"%(?![0-9a-fA-F]{2})")
_QUERY: Final = re.compile(r"\A([^#?]*)\?[^#]*")
_USER: Final = re.compile(r"[A-Za-z0-9\-._:~!$&'()*+,;=%@]*")
_HOST: Final = re.compile(
    r"(?:[A-Za-z0-9\-_.~!$&'()*+,;=:<>\"]|[^\x00-\x7f]|%[89a-fA-F][0-9a-fA-F])*"
)
_PORT: Final = re.compile(r"(?::\d*)?", re.ASCII)
_ZONE: Final = re.compile(r"[^\[\]]+")


class Url:
    """The parts of a URL that are checked; `problem` says why it is none, or is empty."""

    def __init__(self, text: str) -> None:
        self.scheme, self.host, self.problem = "", "", ""
        found = _SCHEME.match(text)
        rest = text
        if found:
            self.scheme, rest = found[1].lower(), text[found.end() :]
        if _CONTROL.search(text):
            self.problem = "has a control character"
        elif text.startswith(":"):
            self.problem = "has no scheme"
        elif _BAD_ESCAPE.search(_QUERY.sub(r"\1", rest)):
            self.problem = "has a `%` that begins no escape"
        elif rest.startswith("//"):
            self._read_authority(re.split(r"[/?#]", rest[2:], maxsplit=1)[0])
        elif not self.scheme and ":" in rest.partition("/")[0]:
            self.problem = "has a colon before the first slash but no scheme"

    def _read_authority(self, authority: str) -> None:
        user, at, self.host = authority.rpartition("@")
        if at and not _USER.fullmatch(user):
            self.problem = "has an invalid character before the `@`"
        elif self.host.startswith("["):
            self.problem = _address_problem(self.host)
        elif not _HOST.fullmatch(self.host):
            self.problem = "has an invalid character in the host name"
        elif ":" in self.host and not _PORT.fullmatch(self.host[self.host.index(":") :]):
            self.problem = "has an invalid port"


def _address_problem(host: str) -> str:
    """What is wrong with a host in brackets and its port."""
    inside, bracket, port = host[1:].rpartition("]")
    if not bracket or not _PORT.fullmatch(port):
        return "has an invalid port or no `]` after the address"
    address, percent, zone = inside.partition("%25")
    if ":" not in address or "%" in address or not _is_address(address):
        return "has an invalid address in brackets"
    return "has an invalid zone in brackets" if percent and not _ZONE.fullmatch(zone) else ""


def web_url_problem(text: str) -> str:
    """Why this is not an http or https URL with a host; empty if it is one."""
    url = Url(text)
    if url.problem:
        return url.problem
    if url.scheme not in ("http", "https"):
        return "must begin with http:// or https://"
    return "" if url.host else "has no host"


_DNS_NAME: Final = re.compile(
    r"[A-Za-z0-9_][A-Za-z0-9_-]{0,62}(?:\.[A-Za-z0-9_][A-Za-z0-9_-]{0,62})*\.?"
)


def host_and_port(text: str) -> bool:
    """Whether this is a host name or an IP address, with or without a port."""
    if _is_address(text):
        return True
    host, colon, port = text.rpartition(":") if ":" in text else (text, "", "")
    if colon and not (
        port.isascii() and port.isdigit() and len(port) <= 5 and 0 < int(port) < 65536
    ):
        return False
    if host.startswith("[") and host.endswith("]"):
        return _is_address(host[1:-1])
    if _is_address(host):
        return ":" not in host
    return len(host) <= 255 and bool(_DNS_NAME.fullmatch(host))


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True
