"""Objects from one version to another, with nothing lost on the way there and back.

    kept             what the conversions share: the annotation
    amconfig         AlertmanagerConfig: v1alpha1 and v1beta1
    scrapeconfig     ScrapeConfig: v1alpha1, and v1beta1 and v1, which are the same

The version that is called internal is the one that everything else works with. Of ScrapeConfig that
is v1alpha1: `to_internal` and `typed` bring any version there, and `as_written` puts what is said
about it into the words of the version that the user wrote.
"""

from collections.abc import Callable
from typing import Final

from stoker.api.convert import amconfig, scrapeconfig
from stoker.api.convert.kept import ANNOTATION, Converted
from stoker.api.core import Object
from stoker.api.crd import GROUP, CustomResource
from stoker.api.decode import convert
from stoker.api.kinds import version_of
from stoker.api.scrapeconfig import v1alpha1
from stoker.errors import DecodeError, FieldError

__all__ = ["ANNOTATION", "Converted", "as_written", "converted", "to_internal", "typed"]

ALPHA: Final = f"{GROUP}/v1alpha1"
_SCRAPE_CONFIG: Final = "ScrapeConfig"
# {(kind, whether it comes from v1alpha1, whether it goes there): how}. Any other pair of versions
# has the same fields.
_WAYS: Final[dict[tuple[str, bool, bool], Callable[[Object], Converted]]] = {
    ("AlertmanagerConfig", True, False): amconfig.to_v1beta1,
    ("AlertmanagerConfig", False, True): amconfig.to_v1alpha1,
    (_SCRAPE_CONFIG, True, False): scrapeconfig.to_newer,
    (_SCRAPE_CONFIG, False, True): scrapeconfig.to_v1alpha1,
}


def converted(given: Object, api_version: str) -> Converted:
    """The object in another version of its kind; FieldError if there is no such version."""
    here, kind = str(given.get("apiVersion", "")), str(given.get("kind", ""))
    for field, version in (("apiVersion", here), ("desiredAPIVersion", api_version)):
        if version_of(version, kind) is None:
            raise FieldError(field, f"there is no {kind[:80]} in `{version[:80]}`")
    if here == api_version:
        return Converted(given)
    way = _WAYS.get((kind, here == ALPHA, api_version == ALPHA), Converted)
    made = way(given)
    return Converted(made.object | {"apiVersion": api_version}, made.findings)


def to_internal(given: Object) -> Object:
    """An object with the fields and values that everything else works with.

    Its `apiVersion` stays as it was written, which is how `as_written` knows the user's words.
    An object that needs no conversion, of any kind, is given back as it is.
    """
    version = given.get("apiVersion")
    if given.get("kind") != _SCRAPE_CONFIG or not _graduated(version):
        return given
    return scrapeconfig.to_v1alpha1(given).object


def typed(given: Object) -> CustomResource:
    """The typed object that everything else works with, of a manifest of one of our kinds.

    FieldError if there is no such kind, DecodeError in the user's words if its types are wrong.
    """
    kind, api_version = str(given.get("kind", "")), str(given.get("apiVersion", ""))
    version = version_of(api_version, kind)
    if version is None:
        raise FieldError("apiVersion", f"there is no {kind[:80]} in `{api_version[:80]}`")
    model = v1alpha1.ScrapeConfig if kind == _SCRAPE_CONFIG else version.model
    try:
        return convert(model, to_internal(given))
    except DecodeError as error:
        raise DecodeError(*as_written(api_version, kind, error.path, error.reason)) from None


def as_written(api_version: str | None, kind: str, path: str, message: str = "") -> tuple[str, str]:
    """A path and a message about an internal object in the words of the version it came from."""
    if kind != _SCRAPE_CONFIG or not _graduated(api_version):
        return path, message
    return scrapeconfig.newer_words(path, message)


def _graduated(api_version: object) -> bool:
    return isinstance(api_version, str) and api_version in _GRADUATED


_GRADUATED: Final = frozenset(f"{GROUP}/{name}" for name in ("v1beta1", "v1"))
