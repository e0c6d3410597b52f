"""Regular expressions that nobody thought of, and what Go says of each.

    python -m tests.fuzz expressions --count 300000

Classes of them: from a grammar, mutations of real ones, names of Unicode classes, repetitions,
flags and groups, quotations, brackets, deep nesting, alternatives that begin alike, and what has no
order at all. What we take and Go refuses is a failure, and so is another answer about the empty
text; what we refuse and Go takes is counted.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from random import Random
from typing import Final

from msgspec import Struct, field

from stoker.golang import NEWEST, Go
from stoker.golang.classnames import ALIASES, CATEGORIES, SCRIPTS
from stoker.golang.regex import parsed
from tests.judge import Answer, Question, answers

_AT_ONCE: Final = 20_000
REAL: Final = (
    *("node_.*|kube_.*", "(.*)", "(.+)(?::\\d+);(\\d+)", "([^:]+)(?::\\d+)?;(\\d+)", "true"),
    *("__meta_kubernetes_(?:pod|service)_label_(.+)", "[a-z0-9]([-a-z0-9]*[a-z0-9])?"),
    *(".*-(?P<zone>[a-z])", "^$", "", "|", "a|", "(?i)error|warn(?:ing)?", "5..", "[45]..", ".+"),
    *("\\d{1,3}(\\.\\d{1,3}){3}", "[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}", "\\w+@\\w+\\.com"),
    *("container_(network|cpu)_.+_total;(.*)", "\\Qa.b\\E.*", "(?s).*\\n.*", "x{2,}?y*?z+?"),
    *(
        "[[:alpha:]_][[:alnum:]_]*",
        "\\p{Greek}+|\\p{Lu}\\p{Ll}*",
        "(?m)^a$|^b$",
        "\\Aa\\z",
        "\\bx\\b",
    ),
)
# Names that RE2 knows and Go may not, loose spellings, and names of other things.
_STRANGE_NAMES: Final = (
    *("Any", "any", "ASCII", "Ascii", "Assigned", "Unassigned", "LC", "lc", "L&", "Cn", "cn"),
    *("Letter", "letter", "LETTER", "le_tt-er", " L", "Lu ", "^Greek", "^^Greek", "^", "", "greek"),
    *("GREEK", "Grek", "Latn", "Han", "Hani", "White_Space", "Alphabetic", "Emoji", "InGreek"),
    *("IsGreek", "Script=Greek", "gc=Lu", "sc=Grek", "digit", "Digit", "punct", "cntrl", "alpha"),
    *("Olditalic", "OldItalic", "old italic", "SignWriting", "Signwriting", "Nko", "NKo", "N_Ko"),
    *("Phags_Pa", "Phagspa", "Beria_Erfe", "Garay", "Sidetic", "Todhri", "Tulu_Tigalari", "é", "ſ"),
)
_NAMES: Final = (*CATEGORIES, *SCRIPTS, *ALIASES, *_STRANGE_NAMES)
_LETTERS: Final = (
    "abcxyzABKks019_-:;,/ ]}{<>=!#&~%'\"`é\u00dfſK\u0130\u03a3ß語🔥\x00\t\n\u2028\ufffd"
)
_PIECES: Final = (
    *("\\d", "\\D", "\\s", "\\S", "\\w", "\\W", "\\b", "\\B", "\\A", "\\z", "\\Z", "\\C", "\\E"),
    *("\\a", "\\f", "\\n", "\\r", "\\t", "\\v", "\\e", "\\_", "\\é", "\\.", "\\\\", "\\-", "\\/"),
    *(
        "\\0",
        "\\1",
        "\\7",
        "\\8",
        "\\00",
        "\\012",
        "\\0123",
        "\\12",
        "\\77",
        "\\400",
        "\\777",
        "\\18",
    ),
    *("\\x", "\\x4", "\\x41", "\\xg1", "\\x4g", "\\x{", "\\x{}", "\\x{41}", "\\x{0000000041}"),
    *("\\x{10FFFF}", "\\x{110000}", "\\x{D800}", "\\x{g}", "\\x{41", "\\u0041", "\\U", "\\k<a>"),
    *(
        "^",
        "$",
        ".",
        "^*",
        "$+",
        "\\b?",
        "\\p",
        "\\P",
        "\\pN",
        "\\PN",
        "\\pL",
        "\\pl",
        "\\pé",
        "\\p{",
    ),
)
_REPEATS: Final = (
    *("*", "+", "?", "*?", "+?", "??", "**", "*+", "+*", "++", "?*", "???", "*??", "{2}", "{0}"),
    *("{1}", "{0,}", "{0,0}", "{1,}", "{0,1}", "{2,3}", "{3,2}", "{,3}", "{}", "{a}", "{1", "{1,"),
    *(
        "{01}",
        "{1,02}",
        "{00}",
        "{2}{3}",
        "{2}*",
        "{10}",
        "{32}",
        "{100}",
        "{500}",
        "{501}",
        "{999}",
    ),
    *("{1000}", "{1001}", "{0,1000}", "{1000,}", "{1001,}", "{0,1001}", "{1000}?", "{99999999}"),
    *("{100000000}", "{1e3}", "{ 2}", "{2 }", "{-1}", "{2,-1}", "{999999999999999999999}", "{٣}"),
)
_GROUPS: Final = (
    *("(", "(?:", "(?i:", "(?s:", "(?m:", "(?U:", "(?-i:", "(?i-s:", "(?ims-U:", "(?P<n>", "(?<n>"),
    *(
        "(?P<n1>",
        "(?<_>",
        "(?P<9>",
        "(?P<é>",
        "(?<>",
        "(?P<>",
        "(?P<a b>",
        "(?P=n)",
        "(?P>n)",
        "(?'n'",
    ),
    *(
        "(?=",
        "(?!",
        "(?<=",
        "(?<!",
        "(?#",
        "(?>",
        "(?|",
        "(?x:",
        "(?--i:",
        "(?-:",
        "(?i-:",
        "(?ii:",
    ),
    *("(?i", "(?", "(?P", "(?P<", "(?P<n", "(?<", "(?<n", "(?^:", "(?i-i:", "(?u:", "(?a:"),
)
_FLAGS: Final = ("(?i)", "(?)", "(?-i)", "(?s)", "(?U)", "(?m)", "(?i-)", "(?-)", "(?x)", "(?imsU)")


def _repeat(random: Random) -> str:
    return random.choice(_REPEATS) if random.random() < 0.3 else ""


def _name(random: Random) -> str:
    name = random.choice(_NAMES)
    chance = random.random()
    if chance < 0.15:
        name = random.choice((str.lower, str.upper, str.swapcase, str.title))(name)
    elif chance < 0.25:
        name = name.replace("_", random.choice(("", "-", " ", "__")))
    return random.choice("pP") + (
        name
        if len(name) == 1 and random.random() < 0.5
        else f"{{{random.choice(('', '^'))}{name}}}"
    )


def _range(random: Random) -> str:
    low, high = random.choice(_LETTERS), random.choice(_LETTERS)
    chance = random.random()
    if chance < 0.5:
        return random.choice(("a-z", "A-Z", "0-9", "_", low, "\\d", "\\w", "-"))
    if chance < 0.65:
        return random.choice(
            ("[:alpha:]", "[:^alpha:]", "[:word:]", "[:foo:]", "[:", ":]", "[:alpha")
        )
    if chance < 0.75:
        return f"\\{_name(random)}"
    if chance < 0.85:
        return random.choice(_PIECES)
    return f"{low}-{high}"


def brackets(random: Random) -> str:
    """A set in brackets."""
    inner = "".join(_range(random) for _ in range(random.choice((0, 1, 1, 1, 2, 3, 5))))
    start = random.choice(("[", "[", "[", "[^", "[]", "[^]", "[-", "[["))
    return f"{start}{inner}{random.choice((']', ']', ']', ']', ']', '-]', ''))}"


def _quotation(random: Random) -> str:
    inner = random.choice(("", "a", "a.b", ")", "(a|b", "é"))
    return f"\\Q{inner}" + random.choice(("\\E", ""))


def _class(random: Random) -> str:
    return f"\\{_name(random)}"


_ATOMS: Final[tuple[tuple[Callable[[Random], str], int], ...]] = (
    (lambda random: random.choice(_LETTERS), 45),
    (lambda random: random.choice(_PIECES), 15),
    (brackets, 10),
    (_class, 4),
    (_quotation, 4),
    (lambda random: random.choice(_FLAGS), 4),
)
_ATOM_WEIGHTS: Final = [weight for _, weight in _ATOMS]


def _atom(random: Random, depth: int) -> str:
    if depth <= 6 and random.random() < 0.18:
        return f"{random.choice(_GROUPS[:11])}{grammar(random, depth + 1)})"
    return random.choices(_ATOMS, _ATOM_WEIGHTS)[0][0](random)


def grammar(random: Random, depth: int = 0) -> str:
    """An expression of pieces that mostly belong together."""
    branches = range(random.choice((1, 1, 1, 2, 3)))
    return "|".join(
        "".join(
            _atom(random, depth) + (_repeat(random) if random.random() < 0.4 else "")
            for _ in range(random.choice((0, 1, 1, 2, 3, 5)))
        )
        for _ in branches
    )


def mutated(random: Random) -> str:
    """A real expression, a little spoilt."""
    text = random.choice(REAL)
    for _ in range(random.choice((1, 1, 2, 3))):
        at = random.randrange(len(text) + 1)
        end = at + random.choice((0, 0, 1, 2))
        new = random.choice((*_PIECES, *_REPEATS, *_GROUPS, *_FLAGS, *_LETTERS, *"()[]{}|\\", ""))
        text = text[:at] + new + text[end:]
    return text


def classes(random: Random) -> str:
    """A named class, alone or in brackets."""
    name = f"\\{_name(random)}"
    flag = random.choice(("", "", "(?i)"))
    return flag + random.choice((name, name + _repeat(random), f"[{name}]", f"[^a{name}]"))


def repetitions(random: Random) -> str:
    """Repetitions of repetitions, in groups."""
    text = random.choice(("a", "[ab]", "\\d", ".", "", "ab", "^", "a|b", "\\pL"))
    for _ in range(random.choice((1, 2, 2, 3, 4))):
        group = random.choice(("(", "(?:", "(?i:", "(?P<n>"))
        text = f"{group}{text}){random.choice((*_REPEATS, '{2}', '{4}', '{10}', '{20}', '{31}'))}"
        text += random.choice(("", "", "x", "|y", "(?i)*", "\\Q\\E+", "(?:b{500}){2}"))
    return text


def groups(random: Random) -> str:
    """Groups that may not be any, and flags."""
    text = grammar(random, 5)
    for _ in range(random.choice((1, 2, 3))):
        text = f"{random.choice(_GROUPS)}{text}{random.choice((')', ')', ')', '', '))'))}"
        text = random.choice(("", "", random.choice(_FLAGS))) + text + _repeat(random)
    return text


def deep(random: Random) -> str:
    """Groups in groups, about as deep as Go takes them."""
    forms: tuple[tuple[str, str], ...] = (
        *(("(", ")"), ("(?:", ")"), ("(a", ")"), ("(?:a", ")*"), ("(", ")*"), ("(a|", ")")),
        *(("(?:a|", ")"), ("(?:a|b", ")"), ("x(y|z", ")+"), ("(?:(", ")?)"), ("(?i:a", "b)")),
    )
    start, end = random.choice(forms)
    height = 1 + (start.count("(") - start.count("(?")) + (end[-1] in "*+?")
    height += any(letter in start for letter in "axy") + ("|" in start)
    near = 1000 // max(height - 1, 1)
    count: int = random.choice((near // 2, near // 3, *range(near - 4, near + 5), near * 2))
    return start * count + random.choice(("", "a", "ab", "[ab]", "a|b")) + end * count


def alike(random: Random) -> str:
    """Alternatives that begin alike: taking that out makes the tree higher."""
    piece = random.choice(("a", "ab", "[ab]", "\\d", "[ab]{2}", "a{2}", "(?:a|b)", "(?i:k)", "."))
    count = random.choice((3, 10, 60, 240, 330, 499, 500, 700, 1001))
    if random.random() < 0.7:
        return f"{piece * count}x|{piece * count}y"
    count = min(count, 520) // len(piece)
    words = [piece * length for length in range(0, count, random.choice((1, 1, 3)))]
    if random.random() < 0.3:
        random.shuffle(words)
    form = random.choice(("{}", "(?:{})", "x(?:{})", "(?:{})z|(?:{})q"))
    return form.replace("{}", "|".join(words))


def large(random: Random) -> str:
    """Programs about as large as Go takes them."""
    piece = random.choice(("a", "[ab]", "(a)", "a*", "(?:a|bc)", "(?:ab|ac)", "a{2}", "\\pL", "a?"))
    inner = piece * random.choice((1, 3, 100, 400, 1100, 1700, 3400))
    repeat = random.choice(("{1000}", "{999,}", "{0,500}", "{100}", "", "{3}{0}", "{500}"))
    text = f"(?:{inner}){repeat}"
    return random.choice((text, text * 2, f"(?:{text}|x){{0}}", f"{text}|{text}", f"(?:{text}c)d"))


def noise(random: Random) -> str:
    """Pieces in any order."""
    pieces = (
        *_PIECES,
        *_REPEATS,
        *_GROUPS,
        *_FLAGS,
        *_LETTERS,
        *"()[]|",
        "\\Q",
        "\\E",
        "a",
        "b",
        ")",
    )
    return "".join(random.choice(pieces) for _ in range(random.choice((1, 2, 3, 4, 6, 9))))


KINDS: Final[dict[str, tuple[Callable[[Random], str], float]]] = {
    "grammar": (grammar, 30),
    "mutated": (mutated, 20),
    "classes": (classes, 10),
    "repetitions": (repetitions, 8),
    "groups": (groups, 8),
    "brackets": (brackets, 10),
    "noise": (noise, 12),
    "deep": (deep, 0.5),
    "alike": (alike, 0.5),
    "large": (large, 0.2),
}
_WEIGHTS: Final = [weight for _, weight in KINDS.values()]


class Tally(Struct):
    """What became of expressions of one class; `wrong` are those that we take and Go does not."""

    taken: int = 0
    refused: int = 0
    too_strict: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    other_empty: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return ", ".join(
            f"{name} {_number(getattr(self, name))}" for name in Tally.__struct_fields__
        )


def made(seed: int, count: int) -> Iterator[tuple[str, str]]:
    """Expressions with their class."""
    random = Random(seed)
    for name in random.choices(list(KINDS), _WEIGHTS, k=count):
        yield name, KINDS[name][0](random)


def compared(
    seed: int,
    count: int,
    go: Go = NEWEST,
    ask: Callable[[Iterator[Question]], list[Answer]] = answers,
) -> dict[str, Tally]:
    """What we say of made expressions, beside what Go says."""
    tallies = {name: Tally() for name in KINDS}
    everything = made(seed, count)
    while texts := [each for each, _ in zip(everything, range(_AT_ONCE), strict=False)]:
        said = ask(Question("regex", text) for _, text in texts)
        for (name, text), answer in zip(texts, said, strict=True):
            _count(tallies[name], text, go, answer)
    return tallies


def _count(tally: Tally, text: str, go: Go, answer: Answer) -> None:
    ours = parsed(text, go)
    if answer.error:
        tally.refused += 1
        if not ours.problem:
            tally.wrong.append(f"{text!r}: {answer.error[-80:]}")
    else:
        tally.taken += 1
        if ours.problem:
            tally.too_strict.append(f"{text!r}: {ours.problem}")
        elif ours.matches_empty != answer.empty:
            tally.other_empty.append(repr(text))


def total(tallies: dict[str, Tally]) -> Counter[str]:
    """All classes together."""
    return Counter(
        {
            name: sum(_number(getattr(tally, name)) for tally in tallies.values())
            for name in Tally.__struct_fields__
        }
    )


def _number(value: int | list[str]) -> int:
    return value if isinstance(value, int) else len(value)
