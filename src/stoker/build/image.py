"""The image of a container."""

import re
from typing import Final

from stoker.errors import WorkloadError

# The grammar of image references that container runtimes share (distribution/reference).
_WORD: Final = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_HOST: Final = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?"
_REFERENCE: Final = re.compile(
    rf"(?:(?:{_HOST}(?:\.{_HOST})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?/)?{_WORD}(?:/{_WORD})*"
    r"(?::(?P<tag>\w[\w.-]{0,127}))?"
    r"(?:@(?P<digest>[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}))?",
    re.ASCII,
)


_TAG: Final = re.compile(r"\w[\w.-]{0,127}", re.ASCII)
_HUB: Final = "docker.io"


def image_path(
    image: str | None, base_image: str, version: str | None, tag: str | None, sha: str | None
) -> str:
    """The image to run: the user's own, or the base image at a digest, a tag or else the version.

    `base_image` is the user's or else the operator's; one that says itself which version it is
    stays as it is. WorkloadError if it is not an image, or nothing says which version is meant.
    """
    if image and image.strip():
        return image
    found = _REFERENCE.fullmatch(base_image)
    if not found:
        reason = f"this is unset, and the base image `{base_image}` is not the name of an image"
        raise WorkloadError("spec.image", reason)
    if found["tag"] or found["digest"]:
        return base_image
    if sha:
        return f"{base_image}@sha256:{sha}"
    if tag:
        return _tagged(base_image, tag)
    if not version:
        raise WorkloadError("spec.version", f"must be set: the base image `{base_image}` has none")
    return f"{base_image}:{version}"


def _tagged(base_image: str, tag: str) -> str:
    """An image at a tag: spelt out, as prometheus-operator spells it there and nowhere else."""
    if not _TAG.fullmatch(tag):
        raise WorkloadError("spec.tag", f"`{tag}` is not the tag of an image")
    host, slash, rest = base_image.partition("/")
    if not slash or not (set(".:") & set(host) or host == "localhost" or host != host.lower()):
        host, rest = _HUB, base_image
    elif host == f"index.{_HUB}":
        host = _HUB
    if host == _HUB and "/" not in rest:
        rest = f"library/{rest}"
    return f"{host}/{rest}:{tag}"
