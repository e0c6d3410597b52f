"""Matchers of Alertmanager: what can be one, and how it is written so that it stays one.

Alertmanager has two readers of matchers. The classic one knows names of letters, digits and
underscores; the newer one (0.27) takes any name in quotes. What both can read must mean the same to
both, so a value is always quoted, and in it only what both undo is escaped.
"""

import re
from typing import Final

from stoker.golang import NEWEST
from stoker.golang.regex import parsed
from stoker.golang.versions import go_of_alertmanager
from stoker.validate.syntax import label_name
from stoker.version import Version

TYPES: Final = ("=", "!=", "=~", "!~")
REGEX_TYPES: Final = ("=~", "!~")

_ESCAPES: Final = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})
_LINE: Final = re.compile(
    r"""(?xs) \s*
      (?P<name> "(?:[^"\\]|\\.)*" | [^{}!=~,\\"'`\s]+ ) \s*
      (?P<type> =~ | !~ | != | = ) \s*
      (?P<value> "(?:[^"\\]|\\.)*" | (?:\\[^,]|[^,"])*+ ) \s* (?: , | $ )
    """
)


def quoted(text: str) -> str:
    """A text in double quotes, which both readers give back as it was."""
    return f'"{text.translate(_ESCAPES)}"'


def matcher_text(name: str, match_type: str, value: str) -> str:
    """A matcher on one line. A name that the classic reader does not know is quoted."""
    written = name if label_name(name, legacy=True) else quoted(name)
    return f"{written}{match_type}{quoted(value)}"


def expression_problem(value: str, version: Version | None = None) -> str:
    """Why a value cannot be the expression of a matcher; empty if it can.

    Without a version it is read by the newest Alertmanager.
    """
    go = go_of_alertmanager(version) if version else NEWEST
    # Alertmanager puts it between anchors: a `\Q` without its `\E` would take the bracket after it.
    # By itself it must be an expression too: what closes the bracket is not what anybody means.
    problem = parsed(value, go).problem or parsed(f"^(?:{value})$", go).problem
    return f"is no regular expression: {problem}" if problem else ""


def matcher_line_problem(line: str, version: Version | None = None) -> str:
    """Why a line of a user's own configuration cannot be read; one without matchers can be."""
    text = line.strip().removeprefix("{").removesuffix("}").strip()
    place = 0
    while place < len(text):
        found = _LINE.match(text, place)
        if not found:
            return 'is no matcher such as `name="value"`'
        value = found["value"]
        if found["type"] in REGEX_TYPES and expression_problem(_unquoted(value), version):
            return "holds no regular expression"
        place = found.end()
    return ""


_ESCAPED: Final = re.compile(r'\\([\\"n])')


def _unquoted(value: str) -> str:
    inner = value[1:-1] if value.startswith('"') else value.strip()
    return _ESCAPED.sub(lambda found: "\n" if found[1] == "n" else found[1], inner)
