"""A short word that stands for the content of an object."""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Final

import msgspec

from stoker.api.core import Object

INPUT_HASH: Final = "prometheus-operator-input-hash"
"""The annotation that holds it: the peer's own, so that it is overwritten at a takeover."""

_LENGTH: Final = 32


def content_hash(made: Mapping[str, Any]) -> str:
    """The hash of an object: another for any change but of its status and of the hash itself.

    It does not depend on the order in which members were added.
    """
    content = {name: value for name, value in made.items() if name != "status"}
    metadata = dict(content.get("metadata") or {})
    annotations = metadata.get("annotations") or {}
    metadata["annotations"] = {
        name: value for name, value in annotations.items() if name != INPUT_HASH
    }
    text = msgspec.json.encode(content | {"metadata": metadata}, order="sorted")
    return sha256(text).hexdigest()[:_LENGTH]


def with_hash(made: Object) -> Object:
    """The object with its own hash in its annotations."""
    annotations = made["metadata"].get("annotations") or {}
    noted = annotations | {INPUT_HASH: content_hash(made)}
    return made | {"metadata": made["metadata"] | {"annotations": noted}}
