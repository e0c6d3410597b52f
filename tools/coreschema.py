"""Refreshes `src/stoker/api/coreschema/core.json`, the schemas of Kubernetes' own types.

Takes the OpenAPI v3 document of a real API server and keeps only the types that our kinds embed and
those these refer to, in the form that a CRD may publish. What goes:

- descriptions (the reference pages link to Kubernetes' own),
- defaults that only spell out the zero value of a required field,
- words that a structural schema does not take (patch strategies, unions, group/version/kind),
- `enum`: the API server refuses a bad value itself when the pod is made, and a value that a newer
  Kubernetes adds must not be refused by an older CRD,
- the metadata of embedded objects, which a CRD prunes.

    python -m tools.coreschema            start a cluster, ask it, write the file
"""

import json
import sys
from pathlib import Path
from typing import Any

from stoker.api import core
from tools.cluster import Cluster

Schema = dict[str, Any]

TARGET = Path(__file__).parent.parent / "src/stoker/api/coreschema/core.json"

KEPT_WORDS = frozenset(
    {
        "type",
        "format",
        "default",
        "required",
        "x-kubernetes-list-type",
        "x-kubernetes-list-map-keys",
        "x-kubernetes-map-type",
    }
)

QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"
WRITTEN_OUT: dict[str, Schema] = {
    QUANTITY: {
        "anyOf": [{"type": "integer"}, {"type": "string"}],
        "pattern": (
            r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
            r"(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
        ),
        "x-kubernetes-int-or-string": True,
    },
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": {
        "anyOf": [{"type": "integer"}, {"type": "string"}],
        "x-kubernetes-int-or-string": True,
    },
    "io.k8s.apimachinery.pkg.apis.meta.v1.Time": {"type": "string", "format": "date-time"},
    "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta": {"type": "object"},
}

# Where CRDs made from the Go types say something else than the OpenAPI document.
ATOMIC_REFERENCES = (
    "ConfigMapEnvSource",
    "ConfigMapProjection",
    "ConfigMapVolumeSource",
    "SecretEnvSource",
    "SecretProjection",
)
UNPUBLISHED_DEFAULTS = {"AzureDiskVolumeSource": ("cachingMode", "kind")}
PUBLISHED_ENUMS = {"VolumeHealthCondition": {"status": ["DataLoss", "Degraded", "Inaccessible"]}}


def main() -> int:
    """Ask a fresh API server and write the file."""
    with Cluster.start(nodes=0) as cluster:
        definitions = cluster.api.get("/openapi/v3/api/v1")["components"]["schemas"]
    kept = reduction(definitions)
    TARGET.write_text(json.dumps({"definitions": kept}, indent=1, sort_keys=True) + "\n")
    print(f"{len(kept)} types written to {TARGET.relative_to(Path.cwd())}")
    return 0


def reduction(definitions: dict[str, Schema]) -> dict[str, Schema]:
    """The definitions that our kinds need, in the form that a CRD may publish."""
    wanted = reachable(definitions, roots())
    kept = {name: reduced(name, definitions[name]) for name in sorted(wanted)}
    return kept | {QUANTITY: WRITTEN_OUT[QUANTITY]}


def roots() -> set[str]:
    """The Kubernetes types that `stoker.api.core` embeds."""
    found = set()
    for value in vars(core).values():
        for note in getattr(value, "__metadata__", ()):
            found |= {note.constraints["embeds"]} if "embeds" in note.constraints else set()
        found |= {value.EMBEDS} if hasattr(value, "EMBEDS") else set()
    return found


def reachable(definitions: dict[str, Schema], names: set[str]) -> set[str]:
    """Those types and all that they refer to."""
    seen: set[str] = set()
    pending = sorted(names)
    while pending:
        name = pending.pop()
        if name in seen or name in WRITTEN_OUT:
            continue
        seen.add(name)
        pending.extend(_references(definitions[name]))
    return seen


def reduced(name: str, definition: Schema) -> Schema:
    """One definition, with only the words that a CRD may publish."""
    schema = _reduced(definition)
    short = name.rpartition(".")[2]
    if short in ATOMIC_REFERENCES:
        schema["x-kubernetes-map-type"] = "atomic"
    for field in UNPUBLISHED_DEFAULTS.get(short, ()):
        schema["properties"][field].pop("default", None)
    for field, values in PUBLISHED_ENUMS.get(short, {}).items():
        schema["properties"][field]["enum"] = values
    return schema


def _reduced(schema: Schema) -> Schema:
    reference = _reference(schema)
    if reference in WRITTEN_OUT:
        return dict(WRITTEN_OUT[reference])
    if reference:
        return {"$ref": reference}
    kept = {word: value for word, value in schema.items() if word in KEPT_WORDS}
    if "properties" in schema:
        kept["properties"] = _properties(schema)
    for word in ("items", "additionalProperties"):
        if word in schema:
            kept[word] = _reduced(schema[word])
    return kept


def _properties(schema: Schema) -> dict[str, Schema]:
    properties = {name: _reduced(inner) for name, inner in schema["properties"].items()}
    for name in schema.get("required", ()):
        if properties[name].get("default") in ("", 0):
            properties[name].pop("default")
    return properties


def _reference(schema: Schema) -> str:
    """The type a schema refers to; OpenAPI v3 wraps a reference in `allOf` to add words to it."""
    if "allOf" in schema:
        return _reference(schema["allOf"][0])
    return str(schema.get("$ref", "")).rpartition("/")[2]


def _references(schema: Any) -> list[str]:
    if isinstance(schema, list):
        return [name for item in schema for name in _references(item)]
    if not isinstance(schema, dict):
        return []
    own = [_reference(schema)] if "$ref" in schema else []
    return own + [name for value in schema.values() for name in _references(value)]


if __name__ == "__main__":
    sys.exit(main())
