"""Users' regular expressions in matchers: judged by RE2, which is what Prometheus' own are."""

import re
from functools import lru_cache
from typing import Final

import re2

_REMEMBERED: Final = 1000
# Words with `|` between them: Prometheus compares texts, and never asks whether they are UTF-8.
_WORDS: Final = re.compile(r"[^\\.+*?()\[\]{}^$]*+")


def _quiet() -> "re2.Options":
    options = re2.Options()
    options.log_errors = False
    options.dot_nl = True
    return options


_OPTIONS: Final = _quiet()


class Regex:
    """Why an expression is none (`problem`), or else whether it `matches_empty` text."""

    def __init__(self, pattern: str) -> None:
        self.problem = "`\\C` matches bytes, which labels do not have" if _bytes(pattern) else ""
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


def _bytes(pattern: str) -> bool:
    r"""Whether `\C` occurs, which RE2 takes and Prometheus does not."""
    position = pattern.find("\\")
    while 0 <= position < len(pattern) - 1:
        name = pattern[position + 1]
        if name == "C":
            return True
        end = pattern.find("\\E", position + 2) if name == "Q" else position
        if end < 0:
            return False
        position = pattern.find("\\", end + 2)
    return False
