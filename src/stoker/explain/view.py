"""What an explanation is made from: the part of the world that a shell can see.

Workloads, the resources that they choose from, the labels of namespaces and the values behind
references are at hand. Services, pods and permissions are asked for when they are needed: a shell
on a cluster notes what it has not read yet, reads it, and has everything explained again.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, Final, Generic, Protocol, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from stoker.consolidate import stand_ins_of
from stoker.explain.objects import EndpointSlice, Ingress, Node, PodGroup, Service
from stoker.explain.shelves import Labelled, Shelf, Shelves
from stoker.generate.fragments import StandIns
from stoker.plan import Facts, Plan, plan
from stoker.ref import Ref
from stoker.select.assets import SECRET, Assets, Missing, Source, WholeAssets
from stoker.select.choice import NamespaceLabels, Resource
from stoker.select.labels import Selector
from stoker.select.workload import Workload
from stoker.settings import Capabilities, OperatorSettings

_FEW: Final = 50

T = TypeVar("T")
L = TypeVar("L", bound=Labelled)


class Listing(Struct, Generic[T], frozen=True):
    """Objects of a kind; `unknown` says why there may be more of them than these.

    With a `shelf`, the few that are looked for among thousands are found at once.
    """

    items: tuple[T, ...] = ()
    unknown: str = ""
    shelf: Shelf[T] | Shelves[T] | None = None

    def matching(self: "Listing[L]", selector: Selector, most: int | None = None) -> list[L]:
        """Those whose labels a selector chooses, or the first of them."""
        some = self.shelf.near(selector) if self.shelf else self.items
        return list(islice((each for each in some if selector.matches(each.labels)), most))

    @classmethod
    def joined(cls, listings: "Iterable[Listing[T]]") -> "Listing[T]":
        """Several together."""
        found = list(listings)
        if len(found) == 1:
            return found[0]
        unknown = next((each.unknown for each in found if each.unknown), "")
        items = tuple(item for each in found for item in each.items)
        shelves = [each.shelf for each in found if each.shelf]
        return cls(items, unknown, Shelves(shelves) if len(shelves) == len(found) else None)


class Need(Struct, frozen=True):
    """A permission that a workload needs: to list and watch a resource.

    `account` is its service account as `namespace/name`; no `namespace` means all of them.
    """

    account: str
    group: str
    resource: str
    namespace: str

    def __str__(self) -> str:
        name = f"{self.resource}.{self.group}" if self.group else self.resource
        return f"list and watch {name} in {_where(self.namespace)}"


def _where(namespace: str) -> str:
    return f"namespace {namespace}" if namespace else "all namespaces"


class Surroundings(Protocol):
    """Something that knows what is around our kinds; a namespace of None means all of them."""

    def services(self, namespace: str | None) -> Listing[Service]:
        """Services."""
        ...

    def slices(self, namespace: str | None) -> Listing[EndpointSlice]:
        """EndpointSlices."""
        ...

    def pods(self, namespace: str | None) -> Listing[PodGroup]:
        """Pods, or what will make them."""
        ...

    def ingresses(self, namespace: str | None) -> Listing[Ingress]:
        """Ingresses."""
        ...

    def nodes(self) -> Listing[Node]:
        """Nodes, the same value as long as nothing else is known of them."""
        ...

    def allowed(self, need: Need) -> bool | None:
        """Whether a service account has a permission; None where that is not known."""
        ...


class View(Struct, frozen=True, kw_only=True):
    """What can be seen of a cluster or a directory.

    `labels_unknown` says why a namespace that is not in `namespaces` is known by its name alone.
    `rivals` are the operators that look after the same workload, by its kind, namespace and name;
    `rivals_unknown` says why a workload that is not there may have some. With `brief`, for
    thousands of resources at a time, what was probably meant is not looked for, and of what matches
    more than a few Services or pods the targets are not counted. `reaches` keeps what was found out
    of agents on nodes.
    """

    workloads: tuple[Workload, ...]
    resources: tuple[Resource, ...]
    namespaces: NamespaceLabels
    assets: WholeAssets
    surroundings: Surroundings
    settings: OperatorSettings = OperatorSettings()
    capabilities: Capabilities = Capabilities()
    labels_unknown: str = ""
    rivals: Mapping[Ref, tuple[str, ...]] = {}
    rivals_unknown: str = ""
    brief: bool = False
    reaches: dict[int, Any] = {}

    @property
    def most(self) -> int | None:
        """How many matches are looked for, None for all."""
        return _FEW + 1 if self.brief else None

    def is_too_many(self, found: Sequence[object]) -> bool:
        """Whether there are more matches than are counted."""
        return self.brief and len(found) > _FEW

    @property
    def stand_ins(self) -> StandIns | None:
        """What finds the ScrapeConfigs in place of a monitor; None where there are none."""
        return stand_ins_of if self.settings.consolidate_monitors else None

    @property
    def facts(self) -> Facts:
        """What plans of workloads are made from."""
        return Facts(
            settings=self.settings,
            capabilities=self.capabilities,
            assets=self.assets,
            namespaces=self.namespaces,
            resources=self.resources,
            neighbours=self._neighbours,
            stand_ins=self.stand_ins,
        )

    def tried(self, workload: Workload, resources: Iterable[Resource]) -> tuple[Plan, str]:
        """What becomes of a workload with these resources, and why not all can be judged, if so.

        Whether its objects can be made is tried; they are not at hand.
        """
        assets = Noting(self.assets)
        facts = replace(self.facts, assets=assets, resources=resources, stand_ins=None, brief=True)
        made = plan(facts, workload)
        return made, str(assets.unreadable[0]) if assets.unreadable else ""

    def _neighbours(self, workload: Workload) -> Iterable[Workload]:
        namespace = workload.metadata.namespace
        return (
            each
            for each in self.workloads
            if type(each) is type(workload) and each.metadata.namespace == namespace
        )


class Noting(Struct):
    """Assets that note what could not be read, so that nobody is blamed for it."""

    assets: WholeAssets
    unreadable: list[Missing] = []

    def value(self, source: Source) -> str | Missing:
        """The text behind a key, or why there is none."""
        found = self.assets.value(source)
        if isinstance(found, Missing) and found.problem:
            self.unreadable.append(found)
        return found

    def all_of(self, ref: Ref) -> Mapping[str, str | bytes]:
        """What an object holds by its keys."""
        return self.assets.all_of(ref)


class Masked(Struct, frozen=True):
    """Assets whose values from Secrets are only named, for texts that people look at.

    `before` are the values as they were: one that is another now is marked.
    """

    assets: Assets
    before: Assets | None = None

    def value(self, source: Source) -> str | Missing:
        """A stand-in for a Secret's text, the text behind a ConfigMap's key, or why there is none.

        A value that may not be read is there all the same.
        """
        found = self.assets.value(source)
        if isinstance(found, Missing) and not found.problem:
            return found
        if source.kind == SECRET or isinstance(found, Missing):
            return f"<{self.place(source)}>"
        return found

    def place(self, source: Source) -> str:
        """Where a value is, and whether it is another one than before."""
        known = f"{source.kind} {source.namespace}/{source.name}, key {source.key}"
        changed = self.before and self.before.value(source) != self.assets.value(source)
        return f"{known}, another value" if changed else known


class Links:
    """Masked assets whose stand-ins look like URLs: writers refuse others where one belongs."""

    def __init__(self, masked: Masked) -> None:
        self._masked = masked
        self._plain: dict[str, str] = {}

    def value(self, source: Source) -> str | Missing:
        """A stand-in for what a Secret holds, the text of anything else, or why there is none."""
        found = self._masked.value(source)
        if isinstance(found, Missing) or source.kind != SECRET:
            return found
        link = f"https://masked.invalid/{source.namespace}/{source.name}/{source.key}/value"
        self._plain[link] = found
        return link

    def undone(self, text: str) -> str:
        """A text with the usual stand-ins."""
        for link, plain in self._plain.items():
            text = text.replace(link, plain)
        return text
