"""Objects made at random: from the schema of their kind, from parts of others, and then spoilt.

Spoiling puts a hostile string where another stood. References lead to values that exist, most of
the time, so that objects are not all refused for the same dull reason.
"""

from copy import deepcopy
from functools import cache
from random import Random
from typing import Any, Final

from stoker.api.crd import KindVersion
from stoker.api.kinds import kind_called
from stoker.api.schema import Schema
from tests.builders import resource
from tests.conformance.generated import Generator, leaves, prepare, schema_of_version
from tests.fuzz.examples import Spec
from tests.fuzz.material import parts, specs
from tests.fuzz.strings import HOSTILE, PLAUSIBLE

VAULT: Final = "vault"
# Some keys must be UUIDs.
PLAIN: Final = "11111111-1111-1111-1111-111111111111"
_CERTIFICATES: Final = ("ca", "cert")
_HOLDERS: Final = ("secret", "configMap")
# Most members of a workload shape its pods; these shape its configuration.
_OF_CONFIGURATION: Final = (
    *("remoteWrite", "remoteRead", "alerting", "scrapeClasses", "tracingConfig", "otlp", "tsdb"),
    *(
        "apiserverConfig",
        "externalLabels",
        "exemplars",
        "runtime",
        "bodySizeLimit",
        "scrapeTimeout",
    ),
    *("scrapeInterval", "enforcedBodySizeLimit", "podTargetLabels", "scrapeProtocols", "rules"),
)


def version_called(kind: str) -> KindVersion:
    """The declaration of a kind, with texts for its patterns ready."""
    found = kind_called(kind)
    assert found
    return _prepared(found.stored)


@cache
def _prepared(version: KindVersion) -> KindVersion:
    prepare(schema_of_version(version))
    return version


class Texts(Generator):
    """Makes values of schemas, with more plausible and more hostile texts."""

    def _text(self, schema: Schema) -> str:
        if "pattern" in schema or "format" in schema or self._random.random() < 0.1:
            return super()._text(schema)
        return self._random.choice(PLAUSIBLE if self._random.random() < 0.8 else HOSTILE)


def made(kind: str, random: Random) -> Spec:
    """A spec of that kind, made in one way or another."""
    spec = from_schema(kind, random) if random.random() < 0.4 else crossed(kind, random)
    for _ in range(random.choice((0, 0, 1, 1, 1, 2, 4))):
        spoil(spec, random)
    refer(spec, random)
    return spec


def from_schema(kind: str, random: Random) -> Spec:
    """A spec made of nothing but the schema, about one of its fields."""
    version = version_called(kind)
    schema = schema_of_version(version)["properties"]["spec"]
    names = [name for name in _OF_CONFIGURATION if name in schema["properties"]]
    first = random.choice(names if len(names) > 10 else list(schema["properties"]))
    below = random.choice(leaves_of(version, first))
    fill = random.choice((0, 0, 0.1, 0.3))
    spec: Spec = Texts(str(random.random()), fill).value(schema, (f".{first}", *below))
    return spec


@cache
def leaves_of(version: KindVersion, name: str) -> list[tuple[str, ...]]:
    """The paths to all values in a member of the spec."""
    schema = schema_of_version(version)["properties"]["spec"]
    return list(leaves(schema["properties"][name]))


def crossed(kind: str, random: Random) -> Spec:
    """A known spec, some of whose members come from others."""
    spec = deepcopy(random.choice(specs()[kind]))
    for _ in range(random.choice((0, 1, 1, 2, 3))):
        holder = random.choice(_objects(spec))
        # Either another value for a member, or a member that other objects with these have.
        name = random.choice(list(holder)) if holder else ""
        if name in parts():
            holder[name] = deepcopy(random.choice(parts()[name]))
    if random.random() < 0.3:
        other = random.choice(specs()[kind])
        names = [name for name in other if name not in spec]
        spec |= {name: deepcopy(other[name]) for name in names if random.random() < 0.5}
    return spec


def _objects(value: Any) -> list[Spec]:
    found = [value] if isinstance(value, dict) else []
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return found + [one for each in inner for one in _objects(each)]


def spoil(spec: Spec, random: Random) -> None:
    """Put a hostile string in the place of another, now and then of a name in a mapping."""
    places = list(string_places(spec))
    if not places:
        return
    holder, key = random.choice(places)
    text = random.choice(HOSTILE)
    # No reader lets half a surrogate pair through; in a name, not even the types stand it.
    if isinstance(holder, dict) and random.random() < 0.1 and text.isprintable():
        holder[text] = holder.pop(key)
    else:
        holder[key] = text


def string_places(value: Any) -> list[tuple[Any, Any]]:
    """All texts in JSON: what holds each, and under which key or number."""
    found: list[tuple[Any, Any]] = []
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in pairs:
        if isinstance(inner, str):
            found.append((value, key))
        elif isinstance(inner, dict | list):
            found += string_places(inner)
    return found


def refer(value: Any, random: Random, under: str = "") -> None:
    """Let references lead to something; which key of the vault depends on what they are for."""
    # Parts may stand in several places: they are replaced, not changed.
    pairs = list(value.items() if isinstance(value, dict) else enumerate(value))
    for name, inner in pairs:
        place = under if name in _HOLDERS or isinstance(name, int) else name
        if (
            isinstance(inner, dict)
            and "key" in inner
            and inner.keys() <= {"name", "key", "optional"}
        ):
            if random.random() < 0.95:
                value[name] = inner | {"name": VAULT, "key": _vault_key(place, random)}
        elif isinstance(inner, dict | list):
            refer(inner, random, place)


def _vault_key(place: str, random: Random) -> str:
    if place in _CERTIFICATES:
        return "certificate"
    if place == "keySecret":
        return "private-key"
    return "plain" if random.random() < 0.5 else f"hostile-{random.randrange(len(HOSTILE))}"


def vault(certificate: str, key: str) -> dict[str, str]:
    """What references lead to."""
    hostile = {f"hostile-{number}": text for number, text in enumerate(HOSTILE)}
    return {"plain": PLAIN, "certificate": certificate, "private-key": key, **hostile}


def manifest(kind: str, spec: Spec, namespace: str, name: str) -> dict[str, Any]:
    """A whole object."""
    version = version_called(kind)
    return resource(kind, name, spec, version=version.name, namespace=namespace)
