"""Made-up templates of Go, by class: good ones, broken ones, and those that try a single rule.

    python -m tests.fuzz.templates [--count N] [--seed N] [--older FILE --go 1.21]

Each is judged by stoker and by Go; what stoker takes and Go refuses is a failure. `--older` names a
judge that was built with an older Go, and `--go` which one that is.
"""

import argparse
import random
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

import msgspec

from stoker.golang import NEWEST, Go
from stoker.golang.template import BUILT_IN, Setting, refusal
from tests.judge import Answer, Question, answers

FUNCTIONS: Final = ("query", "humanize", "first", "value", "x1")
NAMES: Final = ("", "a", "__alert_A")

_WORDS: Final = (
    *("{{", "}}", "{{-", "-}}", " -}}", "{{- ", " ", "  ", "\n", "\t", "\r", "|", "(", ")", "()"),
    *("$", "$x", "$y", ".", ".a", ".b.c", "..", "$.a", "$x.y", '"', "`", "'", "\\", "1", "-", "+"),
    *("if", "else", "end", "range", "with", "define", "block", "template", "break", "continue"),
    *(":=", "=", ",", ":", "/*", "*/", "print", "nil", "true", "query", "{", "}", "é", "½", "\x00"),
    *('"a"', "`a`", "'a'", "else if", "else with", "0x1p4", "1i", "1+2i", "1e999", "x1", "\xa0"),
)
_TEXTS: Final = ("", " ", "\n", "x", "\u3000", "\x1c", "é", "}}", "{", "- ", " text ", "\x85")
_ESCAPES: Final = (
    *(r"\n", r"\"", r"\'", r"\\", r"\x41", r"\xff", r"\x4", r"\101", r"\777", r"\377", r"\400"),
    *(r"\u0041", r"\ud800", r"\udfff", r"\ud7ff", r"\ue000", r"\U0001F600", r"\U0000d800"),
    *(r"\U00110000", r"\U0010ffff", r"\q", r"\0", r"\u12", "a", "é", "'", '"', "`", "\n", "\\"),
    *("\r", "\t", "\x00", "{{", "}}", "😀"),
)
# Letters, digits, and what is neither: fractions, Roman numerals, marks, connectors, unassigned.
_NEIGHBOURS: Final = (
    *(0x7F, 0x80, 0xAA, 0xB2, 0xB5, 0xBD, 0xD7, 0xE9, 0x2C1, 0x2C2, 0x300, 0x345, 0x660, 0x6DD),
    *(0x203F, 0x2040, 0x2160, 0x2167, 0x2188, 0x3007, 0x3021, 0x30FB, 0x4E00, 0x9FFF, 0xA66E),
    *(0xFF10, 0xFF21, 0xFFFD, 0x1F600, 0x1D7CE, 0x10140, 0x2EBF0, 0x31350, 0x323B0, 0x1E4D0),
    *(0x105C0, 0x10D40, 0x11240, 0x11DE0, 0x16D40, 0x1E5D0, 0x10FFFF, 0xE0100, 0x200C, 0x200D),
)


class Template(NamedTuple):
    """A text, the name under which it is parsed, and what it was made to try."""

    kind: str
    text: str
    name: str = ""


class Maker:
    """Makes templates from a seed: the same ones from the same."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.depth = 0

    def templates(self, count: int) -> Iterator[Template]:
        """So many, of all classes in turn."""
        for number in range(count):
            kind, make = _CLASSES[number % len(_CLASSES)]
            if number % _RARELY == 0:
                kind, make = "nesting", Maker.nesting
            yield Template(kind, make(self), self.chance.choice(NAMES))

    # --- By the grammar ---------------------------------------------------------------------------

    def good(self) -> str:
        """Mostly as the grammar has it."""
        self.depth = 0
        return "".join(self.piece() for _ in range(self.chance.randint(1, 5)))

    def piece(self) -> str:
        """A text, an action or a block with its end."""
        choice = self.chance.random()
        if choice < 0.2 or self.depth > 3:
            return self.chance.choice(_TEXTS)
        if choice < 0.6:
            return self.action(self.pipeline())
        if choice < 0.65:
            return self.chance.choice(("{{/* c */}}", "{{- /* }} */ -}}", "{{/**/}}"))
        self.depth += 1
        made = self.block()
        self.depth -= 1
        return made

    def action(self, inner: str) -> str:
        """With spaces and marks that trim, or without."""
        opened = self.chance.choice(("{{", "{{ ", "{{- ", "{{\n"))
        closed = self.chance.choice(("}}", " }}", " -}}", "\n}}", "  -}}"))
        return f"{opened}{inner}{closed}"

    def block(self) -> str:
        """Something that has an end."""
        kind = self.chance.choice(("if", "range", "with", "define", "block", "range"))
        inner = [self.piece() for _ in range(self.chance.randint(0, 3))]
        if kind in ("define", "block"):
            more = f" {self.pipeline()}" if kind == "block" else ""
            return self.action(f"{kind} {self.name()}{more}") + "".join(inner) + "{{end}}"
        declared = "$i, $x := " if kind == "range" and self.chance.random() < 0.5 else ""
        head = self.action(f"{kind} {declared}{self.pipeline()}")
        if self.chance.random() < 0.3:
            again = self.chance.choice(("", f" if {self.pipeline()}", f" with {self.pipeline()}"))
            inner.append(self.action(f"else{again}") + self.piece())
        if kind == "range" and self.chance.random() < 0.3:
            inner.insert(0, self.chance.choice(("{{break}}", "{{ continue }}")))
        return head + "".join(inner) + self.action("end")

    def name(self) -> str:
        """Of a template that is defined."""
        names = ('"a"', "`a`", '"\\x61"', '"b"', '""', '"__alert_A"', '"é"', '"\\u00e9"')
        more = (
            '"\\xc3\\xa9"',
            '"\\141"',
            '"\\x61b"',
            '"\\u0061b"',
            '"ab"',
            "`a\r`",
            '"\\U00000061"',
        )
        return self.chance.choice(names + more)

    def pipeline(self) -> str:
        """Commands, perhaps with a variable for what they give."""
        parts = [self.command() for _ in range(self.chance.choice((1, 1, 1, 2, 3)))]
        declared = self.chance.choice(("", "", "", "$x := ", "$y := ", "$x = ", "$x:="))
        joined = self.chance.choice((" | ", "|", "| ")).join(parts)
        return declared + joined

    def command(self) -> str:
        """A function and what it is given."""
        head = self.chance.choice(("print", "query", "humanize", "len", "x1", self.operand()))
        rest = [self.operand() for _ in range(self.chance.choice((0, 0, 1, 1, 2)))]
        return " ".join((head, *rest))

    def operand(self) -> str:
        """A constant, a variable, a field or a parenthesis."""
        choice = self.chance.random()
        if choice < 0.1 and self.depth < 5:
            self.depth += 1
            made = f"({self.pipeline()})" + self.chance.choice(("", "", ".a"))
            self.depth -= 1
            return made
        if choice < 0.3:
            return self.chance.choice(("$", "$x", "$y", "$.a", "$x.b", "$i"))
        if choice < 0.5:
            return self.chance.choice((".", ".a", ".a.b", ".é", ".a1"))
        if choice < 0.7:
            return self.chance.choice(("1", "-1.5", "0x1F", "1e3", "'a'", "1i", "07", "1_0"))
        return self.chance.choice(('"up"', "`up`", '"\\n"', "true", "false", "nil", "print"))

    # --- Broken -----------------------------------------------------------------------------------

    def mutated(self) -> str:
        """A good one with a few words or characters changed."""
        words = re.findall(r"\w+|\s+|\{\{|\}\}|.", self.good(), re.DOTALL) or ["{{"]
        for _ in range(self.chance.randint(1, 3)):
            place = self.chance.randrange(len(words))
            change = self.chance.randrange(4)
            if change == 0:
                words[place] = ""
            elif change == 1:
                words[place] = self.chance.choice(_WORDS)
            elif change == 2:
                words.insert(place, self.chance.choice(_WORDS))
            else:
                other = self.chance.randrange(len(words))
                words[place], words[other] = words[other], words[place]
        return "".join(words)

    def soup(self) -> str:
        """Words in any order, in an action."""
        inner = "".join(self.chance.choices(_WORDS, k=self.chance.randint(1, 6)))
        return f"{{{{{inner}}}}}"

    # --- One rule at a time -----------------------------------------------------------------------

    def number(self) -> str:
        """Something that looks like a number."""
        made = self.real()
        if self.chance.random() < 0.3:
            made += self.chance.choice("+-") + self.real() + self.chance.choice(("i", "i", ""))
        return f"{{{{ {made}{self.chance.choice(('', '', 'i'))} }}}}"

    def real(self) -> str:
        """A sign, a prefix, digits, a fraction and an exponent, each or none."""
        sign = self.chance.choice(("", "", "", "+", "-"))
        prefix = self.chance.choice(("", "", "0x", "0X", "0o", "0b", "0", "0x_", "0_"))
        alphabet = (
            "01" if prefix == "0b" else "0123456789_abcdefABCDEF" if "x" in prefix else "01789_"
        )
        digits = "".join(self.chance.choices(alphabet, k=self.chance.randint(0, 4)))
        if self.chance.random() < 0.05:
            digits = self.chance.choice(
                ("9223372036854775807", "9223372036854775808", "18446744073709551615", "1" * 30,
                 "18446744073709551616", "ffffffffffffffff", "7fffffffffffffff", "1" + "0" * 400)
            )  # fmt: skip
        fraction = self.chance.choice(("", "", "", ".", ".5", "._5", ".5_0", ".0_"))
        exponents = (
            "",
            "",
            "",
            "e5",
            "E-3",
            "p4",
            "P-4",
            "e",
            "e+",
            "e1_0",
            "e_1",
            "e999",
            "p1024",
        )
        huge = (
            "e308",
            "e309",
            "p1023",
            "p1024",
            "e-400",
            "p-2000",
            "e-100000",
            "e00000308",
            "e-999999999",
        )
        exponent = self.chance.choice(exponents if self.chance.random() < 0.9 else huge)
        return sign + prefix + digits + fraction + exponent

    def quoting(self) -> str:
        """A string or a character with escapes."""
        quote = self.chance.choice(('"', '"', "'", "`"))
        inner = "".join(self.chance.choices(_ESCAPES, k=self.chance.choice((0, 1, 1, 1, 2, 3))))
        where = self.chance.choice(("{{%s}}", "{{ print %s }}", "{{template %s}}", "{{%s|print}}"))
        return where % f"{quote}{inner}{quote}"

    def naming(self) -> str:
        """A name with a character from anywhere."""
        ends = ((0x80, 0xD800), (0xE000, 0x20000))
        anywhere = self.chance.randrange(*self.chance.choice(ends))
        made = chr(self.chance.choice((self.chance.choice(_NEIGHBOURS), anywhere)))
        name = self.chance.choice((made, f"a{made}", f"{made}a", f"_{made}"))
        return self.chance.choice(
            ("{{.%s}}", "{{$%s := 1}}{{$%s}}", "{{$.%s}}", "{{%s}}", "{{(1).%s.b}}", "{{print.%s}}")
        ).replace("%s", name)

    def defining(self) -> str:
        """Definitions of a few names, with and without anything in them."""
        parts = []
        for _ in range(self.chance.randint(1, 4)):
            kind = self.chance.choice(("define", "block"))
            dot = " ." if kind == "block" else ""
            inner = self.chance.choice(
                (*_TEXTS, "{{/* c */}}", "{{.}}", "{{- 1 -}}", '{{template "b"}}')
            )
            parts.append(f"{{{{{kind} {self.name()}{dot}}}}}{inner}{{{{end}}}}")
            parts.append(self.chance.choice(_TEXTS))
        return "".join(parts)

    def nesting(self) -> str:
        """Many parentheses or blocks inside each other."""
        many = self.chance.choice((1, 10, 100, 9_999, 10_000, 10_001))
        if self.chance.random() < 0.2:
            return "{{" + "(" * many + "1" + ")" * many + "}}"
        kind = self.chance.choice(("{{if .}}", "{{range .}}", "{{with .}}{{else with .}}"))
        less = self.chance.randint(0, 1)
        return kind * min(many, 200) + "{{end}}" * (min(many, 200) - less)


_RARELY: Final = 500
_CLASSES: Final[Sequence[tuple[str, Callable[[Maker], str]]]] = (
    ("good", Maker.good),
    ("mutated", Maker.mutated),
    ("mutated", Maker.mutated),
    ("soup", Maker.soup),
    ("numbers", Maker.number),
    ("quoting", Maker.quoting),
    ("names", Maker.naming),
    ("definitions", Maker.defining),
)


class Verdict(NamedTuple):
    """What both say of a template: why they refuse it."""

    template: Template
    ours: str
    theirs: str


def judged(
    made: Sequence[Template], go: Go = NEWEST, ask: Callable[..., list[Answer]] = answers
) -> list[Verdict]:
    """What stoker says of these, as for this Go, and what Go says that is asked."""
    functions = {**BUILT_IN, **dict.fromkeys(FUNCTIONS, "")}
    said = ask(Question("template", each.text, each.name, FUNCTIONS) for each in made)
    return [
        Verdict(each, refusal(each.text, Setting(each.name, functions, go=go)), answer.error)
        for each, answer in zip(made, said, strict=True)
    ]


def counted(verdicts: Sequence[Verdict]) -> Counter[tuple[str, str]]:
    """How many there are of each class and outcome."""
    outcomes = {
        (False, False): "taken by both", (True, True): "refused by both",
        (False, True): "wrongly taken", (True, False): "wrongly refused",
    }  # fmt: skip
    return Counter(
        (each.template.kind, outcomes[bool(each.ours), bool(each.theirs)]) for each in verdicts
    )


def main() -> int:
    """Judge many, and print what became of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=300_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--older", help="another judge")
    parser.add_argument("--go", default="1.26", help="the version of Go that is asked")
    options = parser.parse_args()

    def ask(questions: Iterator[Question]) -> list[Answer]:
        asked = b"\n".join(map(msgspec.json.encode, questions))
        done = subprocess.run([options.older], input=asked, stdout=subprocess.PIPE, check=True)
        return [msgspec.json.decode(line, type=Answer) for line in done.stdout.splitlines()]

    major, _, minor = options.go.partition(".")
    total: Counter[tuple[str, str]] = Counter()
    for start in range(0, options.count, _AT_ONCE):
        made = [*Maker(options.seed + start).templates(min(_AT_ONCE, options.count - start))]
        verdicts = judged(made, (int(major), int(minor)), ask if options.older else answers)
        total += counted(verdicts)
        for each in verdicts:
            if bool(each.ours) != bool(each.theirs):
                print(each)
    for (kind, outcome), count in sorted(total.items()):
        print(f"{kind:12} {outcome:16} {count}")
    return any(outcome == "wrongly taken" for _, outcome in total)


_AT_ONCE: Final = 50_000

if __name__ == "__main__":
    sys.exit(main())
