"""Users' regular expressions in matchers, judged as the Prometheus that will read them judges them.

Words with `|` between them are compared as texts, and need not be UTF-8. Any other
expression must be one for Go, alone and between anchors.
"""

import re
from typing import Final

from stoker.golang.regex import MAX_HEIGHT, Regex, parsed
from stoker.promql.syntax import Options

_WORDS: Final = re.compile(r"[^\\.+*?()\[\]{}^$]*+")
# Anchors stand around what Go makes of the expression: the tree gets higher.
_HIGHEST: Final = MAX_HEIGHT - 5


def regex_of(pattern: str, options: Options) -> Regex:
    """What is known of the expression of a matcher."""
    if options.fast_matchers and _WORDS.fullmatch(pattern):
        return Regex(matches_empty="" in pattern.split("|"), weight=len(pattern) + 1)
    found = parsed(pattern, options.go)
    if found.problem:
        return found
    if found.height > _HIGHEST:
        return Regex("it nests too deeply")
    # A quotation without its end would take the bracket after it.
    return found if options.fast_matchers else parsed(f"^(?:{pattern})$", options.go)
