"""What lies among manifests and is none: values, overlays, dashboards, templates of a chart.

A folder of a team holds more than manifests. What was never meant to be one is passed over and
counted; what was, and is broken, is reported.
"""

import os
import re
from functools import lru_cache
from typing import Any, Final

from stoker.api.crd import GROUP
from stoker.api.kinds import KINDS

_KINDS: Final = frozenset(kind.name for kind in KINDS)
_ACTION: Final = b"{{"
# What only the templates of a chart use: alerts have actions, too, and none of these.
_OF_CHARTS: Final = re.compile(
    rb"\{\{-?[^}\n]*(?:\.Values\b|\.Release\b|\.Chart\b|\.Capabilities\b|\.Template\b"
    rb"|\binclude\s+\"|\bdefine\s+\"|\btoYaml\b|\bnindent\b|/\*)"
)


def is_template(source: str, data: bytes, *, broken: bool) -> bool:
    """Whether a document is a template of a chart, by where it lies, or by what broke it."""
    if _ACTION not in data:
        return False
    return _is_in_chart(os.path.dirname(source)) or (broken and _OF_CHARTS.search(data) is not None)


def is_stranger(value: dict[str, Any]) -> bool:
    """Whether an object was never meant for a cluster.

    One that says half of what it is, and has metadata or a name of ours, was.
    """
    api_version, kind = value.get("apiVersion"), value.get("kind")
    if api_version and kind:
        return False
    if not api_version and not kind:
        return True
    ours = kind in _KINDS or str(api_version).startswith(f"{GROUP}/")
    return not ours and "metadata" not in value


@lru_cache(maxsize=1024)
def _is_in_chart(folder: str) -> bool:
    """Whether a folder is, or lies in, the `templates` of a chart."""
    here = os.path.abspath(folder)
    while here != os.path.dirname(here):
        above = os.path.dirname(here)
        if os.path.basename(here) == "templates" and os.path.exists(f"{above}/Chart.yaml"):
            return True
        here = above
    return False
