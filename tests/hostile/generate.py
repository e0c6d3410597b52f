"""Folders of mutated payloads: a third each rules, monitors and AlertmanagerConfigs, from a seed.

What is mutated are the corpus and the material of `tests/fuzz`. A mutation changes a text by its
letters, puts a text of another payload in its place, or joins two objects; whether the result is
good or bad nobody knows beforehand, and that is the point: what is used must be taken.
"""

from collections.abc import Callable, Sequence
from copy import deepcopy
from functools import cache
from random import Random
from typing import Any, Final

from tests.fuzz.objects import made, string_places
from tests.fuzz.strings import HOSTILE
from tests.hostile import PAYLOADS
from tests.hostile.payload import ATTACKER, KINDS, VERSIONS, Json, Payload, Refused
from tests.hostile.world import NEIGHBOUR, manifest, neighbours, secrets, vault, workloads

_THIRDS: Final = (("PrometheusRule",), KINDS[:4], ("AlertmanagerConfig",))
_LARGEST: Final = 20_000
_PIECES: Final = (
    *(
        "{{",
        "}}",
        "{{ end }}",
        '"',
        "'",
        "`",
        "\\",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "|",
        "*",
        "+",
        "?",
    ),
    *("\\p{", "\\Q", "\\E", "(?", "(?P<", ":", "\n", "$", "$1", "${1}", "é", "²", "½", "Ⅷ", "\x00"),
    *(
        "0x",
        "1e",
        "_",
        "-",
        ",",
        ".",
        "..",
        "=~",
        "!=",
        " ",
        "\t",
        "%",
        "#",
        "/*",
        "*/",
        "/",
        "9" * 20,
    ),
)


def folder(seed: int, count: int) -> list[Json]:
    """All objects of a folder: workloads, a neighbour, Secrets, and so many hostile objects."""
    random = Random(f"hostile {seed}")
    hostile = [_object(number, random) for number in range(count)]
    held: dict[str, Any] = dict(vault())
    for each in PAYLOADS:
        held |= each.vault
    held["plain"] = "11111111-1111-1111-1111-111111111111"
    held |= {f"hostile-{number}": text for number, text in enumerate(HOSTILE[:50])}
    both = {NEIGHBOUR: vault(), ATTACKER: held}
    return [*workloads(), *neighbours(), *secrets(_writable(both)), *hostile]


def _writable(vaults: dict[str, Any]) -> dict[str, Any]:
    """Without half characters, which no Secret holds."""
    return {
        name: {
            key: value for key, value in held.items() if isinstance(value, bytes) or _whole(value)
        }
        for name, held in vaults.items()
    }


def _whole(text: str) -> bool:
    return not any("\ud800" <= letter <= "\udfff" for letter in text)


def _object(number: int, random: Random) -> Json:
    kind = random.choice(_THIRDS[number % 3])
    base = random.choice(_material()[kind])
    spec, version = deepcopy(base.spec), base.version
    if kind in KINDS[:4] and random.random() < 0.15:
        spec, version = made(kind, random), VERSIONS.get(kind, "v1")
    for _ in range(random.choice((0, 1, 1, 1, 2, 3))):
        random.choice(_MUTATIONS)(kind, spec, random)
    return manifest(kind, ATTACKER, f"h-{number}", spec, version)


@cache
def _material() -> dict[str, list[Payload]]:
    """The payloads that are small enough to be changed a thousand times."""
    found: dict[str, list[Payload]] = {kind: [] for kind in KINDS}
    for each in PAYLOADS:
        refused = isinstance(each.outcome, Refused)
        if not refused and each.attack != "cost" and len(str(each.spec)) < _LARGEST:
            found[each.kind].append(each)
    return found


# --- Mutations ------------------------------------------------------------------------------------


def _other_text(kind: str, spec: Json, random: Random) -> None:
    """Put the text of another payload, of the same field where there is one, in a place."""
    holder, key = random.choice(string_places(spec) or [({}, "")])
    others = _texts()[kind]
    same = others.get(str(key)) or [text for each in others.values() for text in each]
    _put(holder, key, random.choice(same))


def _changed_text(kind: str, spec: Json, random: Random) -> None:
    """Change a text by its letters."""
    holder, key = random.choice(string_places(spec) or [({}, "")])
    if holder:
        _put(holder, key, mutated(holder[key], random))


def _joined(kind: str, spec: Json, random: Random) -> None:
    """Add the members and items of another payload."""
    _join(spec, deepcopy(random.choice(_material()[kind]).spec))


_MUTATIONS: Final[Sequence[Callable[[str, Json, Random], None]]] = (
    *(_other_text,) * 2,
    *(_changed_text,) * 4,
    _joined,
)


def mutated(text: str, random: Random) -> str:
    """A text with a few letters more, less or elsewhere."""
    for _ in range(random.choice((1, 1, 2, 4))):
        at, to = sorted((random.randrange(len(text) + 1), random.randrange(len(text) + 1)))
        piece = random.choice(_PIECES)
        text = random.choice(
            (
                text[:at] + piece + text[at:],
                text[:at] + piece + text[at + 1 :],
                text[:at] + text[to:],
                text[:to] + text[at:to] + text[to:],
                text[:at] + text[at:to][::-1] + text[to:],
            )
        )[:_LARGEST]
    return text


def _join(into: Any, other: Any) -> None:
    for key, value in other.items():
        mine = into.get(key)
        if isinstance(mine, dict) and isinstance(value, dict):
            _join(mine, value)
        elif isinstance(mine, list) and isinstance(value, list):
            # Names within a list are keys: of two the first stays.
            mine += [each for each in value if _name(each) not in map(_name, mine)]
        else:
            into.setdefault(key, value)


def _name(item: Any) -> Any:
    return item.get("name", id(item)) if isinstance(item, dict) else str(item)


def _put(holder: Any, key: Any, text: str) -> None:
    if _whole(text):
        holder[key] = text


@cache
def _texts() -> dict[str, dict[str, list[str]]]:
    """Every text of the corpus, by the kind of its object and the name of its field."""
    found: dict[str, dict[str, list[str]]] = {kind: {} for kind in KINDS}
    for kind, payloads in _material().items():
        for each in payloads:
            for holder, key in string_places(each.spec):
                found[kind].setdefault(str(key), []).append(holder[key])
    return found
