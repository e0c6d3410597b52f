"""The part of the world that a shell can see, of which explanations and pages are made.

Workloads, the resources that they choose from, the labels of namespaces and the values behind
references are at hand. Services, pods and permissions are asked for when they are needed
(`listing.Surroundings`).
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from stoker.consolidate import stand_ins_of
from stoker.generate.fragments import StandIns
from stoker.plan import Facts, Plan, plan
from stoker.ref import Ref
from stoker.select.assets import Missing, Source, WholeAssets
from stoker.select.choice import NamespaceLabels, Resource
from stoker.select.workload import Workload
from stoker.settings import Capabilities, OperatorSettings
from stoker.view.listing import Surroundings

_FEW: Final = 50


class View(Struct, frozen=True, kw_only=True):
    """What can be seen of a cluster or a directory.

    `labels_unknown` says why a namespace that is not in `namespaces` is known by its name alone.
    `rivals` are the operators that look after the same workload, by its kind, namespace and name;
    `rivals_unknown` says why a workload that is not there may have some. With `brief`, for
    thousands of resources at a time, what was probably meant is not looked for, and of what matches
    more than a few Services or pods the targets are not counted. `at_hand` says that surroundings
    need not be read first. `dropped` are the paths of fields that were written and that no
    definition has. `reaches` keeps what was found out of agents on nodes.
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
    at_hand: bool = False
    dropped: Mapping[Ref, tuple[str, ...]] = {}
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
    """Assets that note what could not be read, which the operator may read: it is not known."""

    assets: WholeAssets
    unreadable: list[Missing] = []

    def value(self, source: Source) -> str | Missing:
        """The text behind a key, or why there is none."""
        found = self.assets.value(source)
        if isinstance(found, Missing) and found.problem:
            found = replace(found, unsure=True)
            self.unreadable.append(found)
        return found

    def all_of(self, ref: Ref) -> Mapping[str, str | bytes]:
        """What an object holds by its keys."""
        return self.assets.all_of(ref)
