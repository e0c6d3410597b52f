"""The command line: the arguments of prometheus-config-reloader, and some of our own.

Every argument can be written with one dash or two, as `--name=value` or `--name value`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from types import SimpleNamespace

from stoker import __version__
from stoker.reloader.journal import FORMATS, LEVELS
from stoker.reloader.record import record
from stoker.reloader.request import Url, url

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any, Final

_SECONDS: Final = {
    "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9,
}  # fmt: skip
_PART: Final = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(h|ms|m|s|us|µs|ns)")


def duration(text: str) -> float:
    """Seconds from a duration such as `3m0s` or `250ms`; 0 needs no unit."""
    if text in ("0", "+0", "-0"):
        return 0.0
    if not text or _PART.sub("", text):
        raise ValueError(f"`{text}` is not a duration such as 30s or 3m0s")
    return sum(float(number) * _SECONDS[unit] for number, unit in _PART.findall(text))


def address(text: str) -> tuple[str, int] | None:
    """Host and port; the host is empty for all addresses of the machine, None for no address."""
    host, _, port = text.rpartition(":")
    if not text:
        return None
    if ":" not in text or not port.isdecimal():
        raise ValueError(f"`{text}` is not HOST:PORT")
    return host.strip("[]"), int(port)


def secure_url(text: str) -> Url | None:
    """Where to send what nobody else may read; None for nowhere."""
    if not text:
        return None
    found = url(text)
    if not found.secure or found.user:
        raise ValueError("not a URL such as https://stoker.monitoring.svc:8443")
    return found


@record
class Option:
    """An argument; `many` can be given several times."""

    name: str
    default: Any
    meaning: str
    kind: Callable[[str], Any] = str
    many: bool = False
    choices: tuple[str, ...] | None = None
    value: str = "VALUE"


OPTIONS: Final = (
    Option(
        "config-file",
        (),
        "the configuration to watch; unpacked if it is gzip. Several can be given",
        many=True,
        value="FILE",
    ),
    Option(
        "config-envsubst-file",
        (),
        "where to write the configuration with its variables filled in; one for each --config-file",
        many=True,
        value="FILE",
    ),
    Option(
        "watched-dir",
        (),
        "a directory (or file) whose changes ask for a reload too. Several can be given",
        many=True,
        value="PATH",
    ),
    Option(
        "watch-interval",
        "3m0s",
        "how often to look at all files even if no change was noticed; "
        "0 writes the configuration once and exits",
        duration,
        value="DURATION",
    ),
    Option(
        "delay-interval",
        "1s",
        "how long files must be quiet after a change",
        duration,
        value="DURATION",
    ),
    Option(
        "retry-interval",
        "5s",
        "how long to wait after a failure",
        duration,
        value="DURATION",
    ),
    Option(
        "reload-timeout", "30s", "how long a reload may take", duration, value="DURATION"
    ),
    Option(
        "reload-method", "http", "how to ask for a reload", choices=("http", "signal")
    ),
    Option(
        "reload-url", "http://127.0.0.1:9090/-/reload", "where to POST for a reload", url,
        value="URL",
    ),
    Option(
        "process-executable-name",
        "prometheus",
        "with --reload-method=signal: the process to send SIGHUP to",
        value="NAME",
    ),
    Option(
        "runtimeinfo-url",
        "http://127.0.0.1:9090/api/v1/status/runtimeinfo",
        "with --reload-method=signal: where Prometheus tells whether it took the configuration",
        url,
        value="URL",
    ),
    Option(
        "statefulset-ordinal-from-envvar",
        "",
        "the variable with the pod's name: the number at its end becomes "
        "$(STATEFULSET_ORDINAL_NUMBER)",
        value="NAME",
    ),
    Option(
        "expand",
        (),
        "one more environment variable to fill in, wherever $(NAME) stands, in tenants' texts too: "
        "name only what everybody may read. Several can be given",
        many=True,
        value="NAME",
    ),
    Option(
        "portion-url",
        "",
        "where to get the jobs, targets and credentials of this node ($NODE_NAME); they are not "
        "asked for if empty",
        secure_url,
        value="URL",
    ),
    Option("portion-ca", "", "whom to trust there", value="FILE"),
    Option("portion-token", "", "the token to ask with", value="FILE"),
    Option("portion-dir", "", "where they lie", value="PATH"),
    Option(
        "listen-address", "", "where to serve /metrics and /healthz; nowhere if empty", address,
        value="HOST:PORT",
    ),
    Option(
        "web-config-file", "", "TLS and users of what is served", value="FILE"
    ),
    Option("log-format", "logfmt", "how to log", choices=FORMATS),
    Option("log-level", "info", "what to log, at least", choices=LEVELS),
    Option(
        "auto-gomemlimit-ratio",
        "0.0",
        "taken for compatibility; there is no Go runtime to limit",
        float,
        value="RATIO",
    ),
)  # fmt: skip


_VERSIONS: Final = {"version": f"stoker reloader {__version__}", "short-version": __version__}


class Settings(SimpleNamespace):
    """What the arguments say; each is an attribute."""


class UsageError(Exception):
    """The arguments were not understood."""


def parsed(words: Sequence[str]) -> Settings:
    """The settings that these arguments make, each named after its argument.

    Raises `UsageError`. The parser of the standard library would do, but it takes more memory than
    all the rest of the reloader together.
    """
    values: dict[str, Any] = {}
    rest = iter(words)
    for word in rest:
        name, equals, value = word.removeprefix("-").removeprefix("-").partition("=")
        option = _BY_NAME.get(name) if word.startswith("-") else None
        if option is None:
            raise UsageError(f"`{word}` is not an argument; --help shows them all")
        text = value if equals else next(rest, None)
        if text is None:
            raise UsageError(f"--{name} needs a value")
        given = _converted(option, text)
        values[name] = [*values.get(name, ()), given] if option.many else given
    return Settings(**{_attribute(o.name): values.get(o.name, _default(o)) for o in OPTIONS})


def _converted(option: Option, text: str) -> Any:
    if option.choices and text not in option.choices:
        raise UsageError(f"--{option.name}: `{text}` is not one of {', '.join(option.choices)}")
    try:
        return option.kind(text)
    except ValueError as error:
        raise UsageError(f"--{option.name}: {error}") from error


def _default(option: Option) -> Any:
    return option.default if option.many else option.kind(option.default)


def _attribute(name: str) -> str:
    return name.replace("-", "_")


_BY_NAME: Final = {option.name: option for option in OPTIONS}


def asked_for(words: Sequence[str]) -> str:
    """The text that the arguments ask for instead of a run: a version or help; else empty."""
    for word in words:
        name = word.removeprefix("-").removeprefix("-")
        if word.startswith("-") and name in _VERSIONS:
            return _VERSIONS[name]
        if word in ("-h", "--help", "-help"):
            lines = (
                f"  --{option.name}={option.value}\n      {_help(option)}" for option in OPTIONS
            )
            return "\n".join(["usage: python -m stoker.reloader [--NAME=VALUE ...]", *lines])
    return ""


def _help(option: Option) -> str:
    choices = f": {' or '.join(option.choices)}" if option.choices else ""
    default = f" (default: {option.default})" if option.default else ""
    return f"{option.meaning}{choices}{default}"


def declare(parser: argparse.ArgumentParser) -> None:
    """Declare the same arguments for the command line of stoker."""
    for option in OPTIONS:
        parser.add_argument(
            *_spellings(option.name),
            action="append",
            metavar=option.value,
            help=_help(option),
        )
    for name, text in _VERSIONS.items():
        parser.add_argument(
            *_spellings(name), action="version", version=text, help="print the version and exit"
        )


def words_of(options: argparse.Namespace) -> list[str]:
    """The arguments that were given to such a command line."""
    return [
        f"--{option.name}={text}"
        for option in OPTIONS
        for text in getattr(options, _attribute(option.name)) or ()
    ]


def _spellings(name: str) -> tuple[str, str]:
    return f"--{name}", f"-{name}"


def pairs(settings: Settings) -> list[tuple[str, str]]:
    """Each configuration to read with where to write it, which is empty where nothing is written.

    Raises `UsageError` where they do not go together.
    """
    sources = [name for name in settings.config_file if name]
    targets = [name for name in settings.config_envsubst_file if name]
    if not targets:
        return [(source, "") for source in sources]
    if len(sources) != len(targets) or len(set(targets)) != len(targets):
        raise UsageError(
            f"{len(sources)} --config-file and {len(targets)} --config-envsubst-file: "
            "each needs one of its own"
        )
    return list(zip(sources, targets, strict=True))
