"""A state of the world with manifests on top of it, as if they had been applied.

A manifest replaces the object of its kind and name. What the API server gave that object stays (its
UID, its age, its status), and so do labels and annotations that somebody else put on it.
"""

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from stoker.api.core import ObjectMeta
from stoker.ref import Ref, ref_of
from stoker.select.assets import AssetsAtHand, Missing, Source, WholeAssets
from stoker.select.choice import Resource
from stoker.select.workload import Workload
from stoker.view.view import View

T = TypeVar("T", Workload, Resource)


class Manifests(Struct, frozen=True, kw_only=True):
    """What is to be applied: objects of our kinds, labels of namespaces, Secrets and ConfigMaps."""

    workloads: tuple[Workload, ...] = ()
    resources: tuple[Resource, ...] = ()
    namespaces: Mapping[str, Mapping[str, str]] = {}
    contents: AssetsAtHand = AssetsAtHand()


def overlaid(view: View, manifests: Manifests, foreign: Mapping[Ref, ObjectMeta]) -> View:
    """The view with manifests on top of it.

    `foreign` are the labels and annotations of objects that no manifest gave them.
    """
    return replace(
        view,
        workloads=_replaced(view.workloads, manifests.workloads, foreign),
        resources=_replaced(view.resources, manifests.resources, foreign),
        namespaces={
            **view.namespaces,
            **{
                name: {**view.namespaces.get(name, {}), **labels}
                for name, labels in manifests.namespaces.items()
            },
        },
        assets=Overlaid(manifests.contents, view.assets),
    )


def _replaced(
    found: Iterable[T], manifests: Iterable[T], foreign: Mapping[Ref, ObjectMeta]
) -> tuple[T, ...]:
    known = {ref_of(each): each for each in found}
    for each in manifests:
        key = ref_of(each)
        known[key] = _on_top(known[key], each, foreign.get(key)) if key in known else each
    return tuple(known.values())


def _on_top(found: Any, manifest: Any, foreign: ObjectMeta | None) -> Any:
    """A manifest in place of what is found."""
    own, there = manifest.metadata, found.metadata
    kept = foreign or ObjectMeta()
    metadata = replace(
        own,
        uid=there.uid,
        generation=there.generation,
        creation_timestamp=there.creation_timestamp,
        deletion_timestamp=there.deletion_timestamp,
        labels={**(kept.labels or {}), **(own.labels or {})} or None,
        annotations={**(kept.annotations or {}), **(own.annotations or {})} or None,
    )
    return replace(manifest, metadata=metadata, status=found.status)


class Overlaid(Struct, frozen=True):
    """Assets of manifests, and below them those of the cluster."""

    manifests: AssetsAtHand
    below: WholeAssets

    def value(self, source: Source) -> str | Missing:
        """The text behind a key, or why there is none."""
        here = source.ref in self.manifests.objects
        return (self.manifests if here else self.below).value(source)

    def all_of(self, ref: Ref) -> Mapping[str, str | bytes]:
        """What an object holds by its keys."""
        here = ref in self.manifests.objects
        return (self.manifests if here else self.below).all_of(ref)
