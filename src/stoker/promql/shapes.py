"""What expressions have in common that are made of one template.

Charts and generators write the same expression for many services, and only the texts that labels
are compared with differ, and the names of metrics. Whether an expression is taken does not depend
on these: what its shape is taken for, it is taken for. So each shape need be judged once.
"""

import re
from typing import Final

from stoker.promql.syntax import KEYWORDS

# With these in it a text has more than plain strings, and is not taken apart.
_OTHER: Final = re.compile(r"['`\\#]")
_ANY: Final = "x"
# A name with braces or brackets behind it is that of a metric, if it is no word of the language.
_METRIC: Final = re.compile(r"(?<![\w:.])[A-Za-z_:][A-Za-z0-9_:]*+(?=[{\[])")


def shape_of(text: str) -> str:
    """An expression that is taken only if this one is, with one text for all that are compared.

    An empty text is another thing, and so is one that is matched as a regular expression. Metrics
    whose names stand before a selector or a range have one name, of either sort.
    """
    if _OTHER.search(text):
        return text
    parts = text.split('"')
    for place in range(1, len(parts), 2):
        value = parts[place]
        if value and parts[place - 1].endswith("=") and value.isascii() and "\n" not in value:
            parts[place] = _ANY
    for place in range(0, len(parts), 2):
        parts[place] = _METRIC.sub(_any_metric, parts[place])
    return '"'.join(parts)


def _any_metric(found: re.Match[str]) -> str:
    name = found[0]
    if name.lower() in KEYWORDS:
        return name
    # Labels have no names with a colon.
    return f"{_ANY}:{_ANY}" if ":" in name else _ANY
