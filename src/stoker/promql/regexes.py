r"""Users' regular expressions in matchers, judged as Prometheus and Alertmanager judge them.

Both are written in Go, whose expressions are RE2's. Three things differ, and each would make the
reader refuse a whole file: `\C`, names of groups beyond ASCII, and how deep groups may nest.
"""

import re
from functools import lru_cache
from typing import Final

import re2

_REMEMBERED: Final = 1000
# Words with `|` between them: Prometheus compares texts, and never asks whether they are UTF-8.
_WORDS: Final = re.compile(r"[^\\.+*?()\[\]{}^$]*+")
# Go counts what groups hold too, up to four levels for one, and takes a thousand.
_DEEPEST: Final = 200
_ESCAPE: Final = re.compile(r"\\Q.*?(?:\\E|\Z)|\\(.)", re.DOTALL)
_CLASS: Final = re.compile(r"\[\^?\]?(?:\[:\^?\w*:\]|[^\]])*\]", re.DOTALL)
_NAME: Final = re.compile(r"\(\?P?<([^>]*)>")


def _quiet() -> "re2.Options":
    options = re2.Options()
    options.log_errors = False
    options.dot_nl = True
    return options


_OPTIONS: Final = _quiet()


class Regex:
    """Why an expression is none (`problem`), or else whether it `matches_empty` text."""

    def __init__(self, pattern: str) -> None:
        self.problem = beyond_go(pattern)
        self.matches_empty = False
        if _WORDS.fullmatch(pattern):
            self.matches_empty = "" in pattern.split("|")
        elif not self.problem:
            self._compile(pattern)

    def _compile(self, pattern: str) -> None:
        try:
            self.matches_empty = re2.compile(pattern, _OPTIONS).fullmatch("") is not None
        except re2.error as error:
            text = error.args[0] if error.args else "it is malformed"
            self.problem = text.decode(errors="replace") if isinstance(text, bytes) else str(text)
        except UnicodeEncodeError:
            self.problem = "it is not valid UTF-8"


def regex_of(pattern: str) -> Regex:
    """What is known of an expression; the same few come again and again, huge ones do not."""
    return _remembered(pattern) if len(pattern) < _REMEMBERED else Regex(pattern)


@lru_cache(maxsize=4096)
def _remembered(pattern: str) -> Regex:
    return Regex(pattern)


def beyond_go(pattern: str) -> str:
    r"""What RE2 takes and Go does not; empty for nothing. Within `\Q` and `\E` all is text."""
    if "\\" in pattern and any(found[1] == "C" for found in _ESCAPE.finditer(pattern)):
        return "`\\C` matches bytes, which labels do not have"
    if pattern.isascii() and pattern.count("(") <= _DEEPEST:
        return ""
    groups = _CLASS.sub("", _ESCAPE.sub("", pattern))
    if not all(found[1].isascii() for found in _NAME.finditer(groups)):
        return "the name of a group has other characters than letters and digits"
    return "groups are nested too deeply" if _depth(groups) > _DEEPEST else ""


def _depth(groups: str) -> int:
    depth = deepest = 0
    for character in re.findall(r"[()]", groups):
        depth += 1 if character == "(" else -1
        deepest = max(deepest, depth)
    return deepest
