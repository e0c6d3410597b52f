"""What expressions have in common that are made of one template.

Charts and generators write the same expression for many services, and only the texts that labels
are compared with differ. Whether an expression is taken does not depend on these: what its shape
is taken for, it is taken for. So each shape need be judged once.
"""

import re
from typing import Final

# With these in it a text has more than plain strings, and is not taken apart.
_OTHER: Final = re.compile(r"['`\\#]")
_ANY: Final = "x"


def shape_of(text: str) -> str:
    """An expression that is taken only if this one is, with one text for all that are compared.

    An empty text is another thing, and so is one that is matched as a regular expression.
    """
    if _OTHER.search(text):
        return text
    parts = text.split('"')
    for place in range(1, len(parts), 2):
        value = parts[place]
        if value and parts[place - 1].endswith("=") and value.isascii() and "\n" not in value:
            parts[place] = _ANY
    return '"'.join(parts)
