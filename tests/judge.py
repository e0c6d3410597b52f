"""What Go itself says of templates, regular expressions, URLs and quoted strings.

The judge is a program of ours (`tools/go/judge`) that asks Go's own packages: many texts in one
run, since starting is dear. Texts must be valid UTF-8.
"""

import subprocess
from collections.abc import Iterable, Sequence

import msgspec
from msgspec import Struct

from tools.build import binaries


class Question(Struct, frozen=True, omit_defaults=True):
    """A text and how it is meant: `template`, `calls`, `regex`, `perlsyntax`, `url` or `unquote`.

    `name` and `functions` are those that a template is parsed with; `calls` are of the first one.
    """

    kind: str
    text: str
    name: str = ""
    functions: tuple[str, ...] = ()


class Answer(Struct, frozen=True):
    """Why Go refuses the text; empty where it takes it.

    `empty` tells whether a regular expression matches the empty text (nothing is put around it),
    `value` what a quoted string stands for, or the places of calls as JSON.
    """

    error: str
    empty: bool = False
    value: str = ""


def answers(questions: Iterable[Question]) -> list[Answer]:
    """What Go says of each, in order."""
    asked = b"\n".join(map(msgspec.json.encode, questions))
    judge = str(binaries("judge")["judge"])
    done = subprocess.run([judge], input=asked, stdout=subprocess.PIPE, check=True)
    return [msgspec.json.decode(line, type=Answer) for line in done.stdout.splitlines()]


def refusals(kind: str, texts: Sequence[str]) -> list[str]:
    """Why Go refuses each of these texts; empty for one that it takes."""
    return [answer.error for answer in answers(Question(kind, text) for text in texts)]


def go_version() -> str:
    """The version of Go that answers, such as `go1.26.8`."""
    return answers([Question("version", "")])[0].value
