"""ScrapeConfigs between v1alpha1 and the versions that were made from it (v1beta1, v1).

How the spec is rewritten is a `Shape` that comes from the same table as the newer types, so there
is no list of fields here. The newer versions say everything that v1alpha1 says; of several
spellings of one value (`http`, `HTTP`) they know one. A spelling that is not the usual one waits in
an annotation and comes back where the value is still the same: the annotation can choose among
spellings of what stands in the spec and nothing else.

A field or value that no version knows is left as it is. The API server has dropped or refused it
before; where it has not, that is reported as a finding: an object that cannot be converted would
make every list that it is part of fail.
"""

import re
from functools import cache
from typing import Any, Final

from stoker.api.admit import UNSUPPORTED, WRONG_TYPE, Objection
from stoker.api.convert.kept import (
    Converted,
    KeptObject,
    ListItems,
    PathStep,
    annotated,
    entries,
    steps,
)
from stoker.api.core import Object
from stoker.api.graduate import Shape, in_words
from stoker.api.scrapeconfig import graduated
from stoker.errors import below


@cache
def _way_back() -> Shape:
    return graduated.shape().reversed


def to_newer(given: Object) -> Converted:
    """A v1alpha1 object as v1beta1 and v1 say it."""
    rewriting = _Rewriting()
    spec = rewriting.value(given.get("spec"), graduated.shape(), (), "spec")
    return annotated(given, spec, rewriting.kept, rewriting.findings)


def to_v1alpha1(given: Object) -> Converted:
    """A v1beta1 or v1 object as v1alpha1 says it."""
    rewriting = _Rewriting()
    spec = rewriting.value(given.get("spec"), _way_back(), (), "spec")
    places = ListItems()
    for entry in entries(given):
        _respell(spec, entry, places)
    return annotated(given, spec, (), rewriting.findings)


class _Rewriting:
    """A spec on its way to the other version, and what it cannot take along."""

    def __init__(self) -> None:
        self.kept: list[KeptObject] = []
        self.findings: list[Objection] = []

    def value(self, given: Any, shape: Shape, at: tuple[PathStep, ...], path: str) -> Any:
        """A value of a shape as the other version writes it."""
        if isinstance(given, list):
            return [
                self.value(item, shape, (*at, step), f"{path}[{index}]")
                for index, (step, item) in enumerate(zip(steps(given), given, strict=True))
            ]
        if not isinstance(given, dict):
            self._misfit(given, path)
            return given
        self._keep(given, shape, at)
        return {
            shape.renamed.get(name, name): self._member(name, item, shape, at, path)
            for name, item in given.items()
        }

    def _member(
        self, name: str, item: Any, shape: Shape, at: tuple[PathStep, ...], path: str
    ) -> Any:
        if name in shape.inner:
            return self.value(item, shape.inner[name], (*at, name), below(path, name))
        if name in shape.spelled and isinstance(item, str):
            return self._spelled(item, shape.spelled[name].there, below(path, name))
        return item

    def _spelled(self, item: str, words: Any, path: str) -> str:
        if item not in words:
            message = "is a value that no version has"
            self.findings.append(Objection(path, UNSUPPORTED, message))
        return str(words.get(item, item))

    def _keep(self, given: Object, shape: Shape, at: tuple[PathStep, ...]) -> None:
        """Note the spellings that would come back as others."""
        had = {
            name: given[name]
            for name, spelling in shape.spelled.items()
            if isinstance(given.get(name), str)
            and given[name] in spelling.there
            and spelling.back[spelling.there[given[name]]] != given[name]
        }
        if had:
            self.kept.append(KeptObject(list(at), had))

    def _misfit(self, given: Any, path: str) -> None:
        if given is not None:
            self.findings.append(Objection(path, WRONG_TYPE, "is not an object"))


def _respell(spec: Any, entry: KeptObject, places: ListItems) -> None:
    """Give values of a v1alpha1 spec the spelling that they had, if they are still the same."""
    found, shape = _found(spec, entry.at, places)
    if not isinstance(found, dict) or shape is None:
        return
    for name, had in entry.had.items():
        words, now = shape.spelled[name].there if name in shape.spelled else {}, found.get(name)
        if isinstance(now, str) and isinstance(had, str) and had in words:
            found[name] = had if words[had] == words.get(now) else now


def _found(spec: Any, at: list[PathStep], places: ListItems) -> tuple[Any, Shape | None]:
    """What is at a place of a v1alpha1 spec, and its shape."""
    value, shape = spec, graduated.shape()
    for step in at:
        if isinstance(value, list):
            value = places.item(value, step)
        elif isinstance(value, dict) and step in shape.inner:
            value, shape = value.get(step), shape.inner[str(step)]
        else:
            return None, None
    return value, shape


# --- Paths ----------------------------------------------------------------------------------------

# A name, the places in lists and maps after it, and whether there is more.
_PART: Final = re.compile(r"([^.\[]+)((?:\[[^\]]*\])*)(?:\.|$)")


def newer_words(path: str, message: str) -> tuple[str, str]:
    """What is said about a v1alpha1 object, as the writer of a newer version would look for it."""
    shape, rest = graduated.shape(), path.removeprefix("spec.")
    if rest == path:
        return path, in_words(message, graduated.shape().renamed)
    words, made = dict(shape.renamed), "spec"
    while rest and (part := _PART.match(rest)):
        name, places = part[1], part[2]
        made, rest = below(made, shape.renamed.get(name, name) + places), rest[part.end() :]
        words = dict(shape.renamed)
        if name in shape.spelled:
            words |= shape.spelled[name].there
        if name not in shape.inner:
            break
        shape = shape.inner[name]
        words |= shape.renamed
    return (f"{made}.{rest}" if rest else made), in_words(message, words)
