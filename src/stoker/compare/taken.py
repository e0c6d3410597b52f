"""What an operator has taken into its configurations, as the objects tell that it wrote.

Whatever an operator says of itself: a monitor is taken if there is a job of it, an
AlertmanagerConfig if there are receivers of it, and a PrometheusRule if there is a file of it.
"""

import gzip
import zlib
from base64 import b64decode
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from msgspec import Struct

from stoker.api.core import Object
from stoker.ref import Ref
from stoker.roles import kinds_that
from stoker.yamltree import YamlError, parse

_PACKED: Final = ".yaml.gz"
# The name of a job begins with the kind of its resource, in the case of its fields.
_JOBS: Final = {f"{kind[0].lower()}{kind[1:]}": kind for kind in kinds_that(monitor=True)}
_ALERTING: Final = "AlertmanagerConfig"


class Taken(Struct, frozen=True, kw_only=True):
    """What is in the configurations of a workload.

    `resources` are those of which they have jobs or receivers, `files` the names of all files with
    rules. `parts` are jobs and receivers by their names, and all other sections. `found`: whether
    there is a configuration at all, and it can be read.
    """

    resources: frozenset[Ref] = frozenset()
    files: frozenset[str] = frozenset()
    parts: Mapping[str, Any] = {}
    found: bool = False


def taken_by(objects: Iterable[Object]) -> Taken:
    """What the objects of a workload tell."""
    listed = list(objects)
    files = (name for each in listed if _is(each, "ConfigMap") for name in each.get("data") or ())
    texts = list(_texts(each for each in listed if _is(each, "Secret")))
    try:
        parts = dict(part for text in texts for part in _parts(parse(text)))
    except YamlError:
        return Taken(files=frozenset(files))
    return Taken(
        resources=frozenset(_resources(parts)),
        files=frozenset(files),
        parts=parts,
        found=bool(texts),
    )


def told_otherwise(one: Taken, other: Taken) -> tuple[str, ...]:
    """The parts that are not the same in both, by their names."""
    names = one.parts.keys() | other.parts.keys()
    nothing = object()
    return tuple(
        name
        for name in sorted(names)
        if one.parts.get(name, nothing) != other.parts.get(name, nothing)
    )


def _is(found: Object, kind: str) -> bool:
    return bool(found["kind"] == kind)


def _texts(secrets: Iterable[Object]) -> Iterator[str]:
    for each in secrets:
        for key, value in (each.get("data") or {}).items():
            if key.endswith(_PACKED) and value:
                try:
                    yield gzip.decompress(b64decode(value)).decode()
                except (OSError, EOFError, ValueError, zlib.error):
                    # Whoever wrote that, it is no configuration.
                    continue


def _parts(document: Any) -> Iterator[tuple[str, Any]]:
    if not isinstance(document, Mapping):
        return
    for section, value in document.items():
        if section == "scrape_configs":
            yield from _named("job", "job_name", value)
        elif section == "receivers":
            yield from _named("receiver", "name", value)
        else:
            yield str(section), value


def _named(noun: str, member: str, items: Any) -> Iterator[tuple[str, Any]]:
    for each in items if isinstance(items, list) else ():
        if isinstance(each, Mapping):
            yield f"{noun} {each.get(member)}", each


def _resources(parts: Iterable[str]) -> Iterator[Ref]:
    for part in parts:
        noun, _, name = part.partition(" ")
        words = name.split("/")
        if noun == "job" and words[0] in _JOBS and len(words) > 2:
            yield Ref(_JOBS[words[0]], words[1], words[2])
        elif noun == "receiver" and len(words) > 2:
            yield Ref(_ALERTING, words[0], words[1])
