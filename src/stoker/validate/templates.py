"""Templates in labels and annotations of alerts, as the program that loads the rules parses them.

Only whether they can be parsed is checked, as Prometheus does when it loads a rule; what they give
shows when an alert fires.
"""

from functools import lru_cache
from typing import Final

from msgspec.structs import replace

from stoker.golang.template import BUILT_IN, Setting, is_plain, refusal
from stoker.golang.versions import go_of_prometheus, go_of_thanos
from stoker.version import Version, needs_version, parse_version

# Functions of alerts, and the Prometheus and the Thanos that brought them.
_ALWAYS: Final = (
    "query", "first", "label", "value", "strvalue", "sortByLabel", "args", "safeHtml",
    "reReplaceAll", "match", "title", "toUpper", "toLower", "graphLink", "tableLink",
    "humanize", "humanize1024", "humanizeDuration", "humanizeTimestamp", "pathPrefix",
    "externalURL",
)  # fmt: skip
_FUNCTIONS: Final = dict.fromkeys(_ALWAYS, ("0.0.0", "0.0.0")) | {
    "slice": ("2.13.0", "0.8.0"),
    "humanizePercentage": ("2.11.0", "0.15.0"),
    "parseDuration": ("2.32.0", "0.24.0"),
    "stripPort": ("2.33.0", "0.26.0"),
    "stripDomain": ("2.36.0", "0.28.0"),
    "toTime": ("2.38.0", "0.28.0"),
    "toDuration": ("3.6.0", "0.40.0"),
    "now": ("3.6.0", "0.40.0"),
    "urlQueryEscape": ("3.8.0", "0.41.0"),
}
_VARIABLES: Final = {
    "$": ("0.0.0", "0.0.0"),
    "$labels": ("0.0.0", "0.0.0"),
    "$value": ("0.0.0", "0.0.0"),
    "$externalLabels": ("2.10.0", "0.15.0"),
    "$externalURL": ("2.28.0", "0.23.0"),
}


def template_problem(text: str, alert: str, version: Version, *, thanos: bool = False) -> str:
    """Why this Prometheus or Thanos would refuse a template; empty if it would take it."""
    if "{{" not in text or is_plain(text, _setting(version, thanos)):
        return ""
    return refusal(text, alert_setting(alert, version, thanos))


def alert_setting(alert: str, version: Version, thanos: bool) -> Setting:
    """What the texts of an alert are parsed with: after a few variables, under the alert's name."""
    return replace(_setting(version, thanos), name=f"__alert_{alert}")


@lru_cache(maxsize=64)
def _setting(version: Version, thanos: bool) -> Setting:
    program = "Thanos" if thanos else "Prometheus"

    def lack(since: tuple[str, str]) -> str:
        needed = since[thanos]
        return "" if version >= parse_version(needed) else needs_version(program, needed)

    functions = {name: lack(since) for name, since in _FUNCTIONS.items()}
    variables = tuple(name for name, since in _VARIABLES.items() if not lack(since))
    go = go_of_thanos(version) if thanos else go_of_prometheus(version)
    return Setting("", {**BUILT_IN, **functions}, variables, begun=True, go=go)
