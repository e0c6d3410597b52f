"""What an answer with a Secret or ConfigMap holds, and why there is none."""

import base64
from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

from stoker.api.core import Object
from stoker.kube.errors import ApiError
from stoker.kube.resources import CONFIG_MAP as CONFIG_MAPS
from stoker.kube.resources import SECRET as SECRETS
from stoker.select.assets import CONFIG_MAP, SECRET

RESOURCES: Final = {SECRET: SECRETS, CONFIG_MAP: CONFIG_MAPS}


class Content(Struct, frozen=True):
    """An object as it was read; without data where it could not be.

    `problem` is why we cannot read it; `refused` when we were refused the right to, by the loop's
    clock. What is `stale` has changed since, and counts until it is read again.
    """

    version: str = ""
    data: Mapping[str, str | bytes] | None = None
    problem: str = ""
    refused: float | None = None
    stale: bool = False


ABSENT: Final = Content()


def content_of(kind: str, found: Object) -> Content:
    """What an answer holds; any error where it is not what was asked for."""
    version = found["metadata"].get("resourceVersion", "")
    return Content(version, _values(kind, found.get("data") or {}))


def _values(kind: str, data: Mapping[str, Any]) -> dict[str, str | bytes]:
    """The values as text, and as bytes where that is impossible."""
    if kind == CONFIG_MAP:
        return dict(data)
    values: dict[str, str | bytes] = {}
    for name, encoded in data.items():
        decoded = base64.b64decode(encoded, validate=True)
        try:
            values[name] = decoded.decode()
        except ValueError:
            values[name] = decoded
    return values


def problem_of(error: Exception) -> str:
    """Why an object could not be read, in our words: those of others may quote what is in it."""
    if not isinstance(error, ApiError):
        return "the API server's answer is not the object"
    if error.timed_out:
        return "the API server did not answer in time"
    said = " ".join(str(part) for part in (error.status or "", error.reason) if part)
    return f"the API server answered {said}" if said else "the API server gave no whole answer"
