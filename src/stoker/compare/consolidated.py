"""The ScrapeConfigs that an operator keeps for monitors (`--consolidate-monitors`), compared.

They belong to monitors and not to workloads: several workloads may want the same one, and it is
removed when none does. So all workloads are gathered before anything is said about one of them.
"""

from collections.abc import Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from stoker.api.core import Object, ObjectMeta
from stoker.api.scrapeconfig.v1alpha1 import ScrapeConfig
from stoker.compare.objects import ObjectChange, changed_from_before, gone
from stoker.compare.plan import Planned
from stoker.consolidate import manifest_of
from stoker.ref import Ref, ref_of
from stoker.select.choice import Resource
from stoker.select.consolidated import CONSOLIDATED_BY, monitor_behind


class StandInChanges(Struct):
    """What all workloads want in place of monitors, before and after.

    `kept` are those of workloads for which nothing is written: theirs stay as they are.
    """

    before: dict[Ref, ScrapeConfig] = {}
    after: dict[Ref, ScrapeConfig] = {}
    kept: set[Ref] = set()

    def gather(self, before: Planned | None, after: Planned | None) -> None:
        """Count a workload in."""
        old = _by_ref(before.stand_ins if before else ())
        self.before |= old
        if after and after.blocked:
            self.kept |= old.keys()
        elif after:
            self.after |= _by_ref(after.stand_ins)

    def changes(self) -> Iterator[ObjectChange]:
        """What happens to each, where there are no others than those that were wanted before."""
        return self._changes(self.before)

    def changes_in_cluster(self, found: Iterable[Resource], writer: str) -> Iterator[ObjectChange]:
        """What happens to those that there are, if an operator of this name writes."""
        there = _by_ref(each for each in found if isinstance(each, ScrapeConfig))
        foreign = {key for key, each in there.items() if self._is_foreign(key, each)}
        # Another operator may want what this one does not.
        others = {key for key, each in there.items() if _writer_of(each.metadata) != writer}
        ours = {key: each for key, each in there.items() if key not in foreign}
        left = {key: each for key, each in self.after.items() if key not in foreign}
        return StandInChanges(after=left, kept=self.kept | others)._changes(ours)

    def foreign(self, found: Iterable[Resource]) -> Iterator[str]:
        """Those that cannot be written since somebody else has one of that name, in sentences."""
        there = _by_ref(each for each in found if isinstance(each, ScrapeConfig))
        for key in sorted(self.after):
            if key in there and self._is_foreign(key, there[key]):
                yield f"{key} is not the operator's: its monitor keeps its own jobs"

    def _is_foreign(self, key: Ref, found: ScrapeConfig) -> bool:
        """Whether one is no operator's, or stands for another monitor than it should."""
        behind = monitor_behind(found.metadata)
        if key not in self.after:
            return behind is None
        wanted = monitor_behind(self.after[key].metadata)
        same = behind and (not wanted or (behind.kind, behind.uid) == (wanted.kind, wanted.uid))
        return not same and not _writer_of(found.metadata)

    def _changes(self, there: dict[Ref, ScrapeConfig]) -> Iterator[ObjectChange]:
        for key in sorted(there.keys() | self.after.keys()):
            old = _shown(there[key]) if key in there else None
            if key in self.after:
                made = changed_from_before(_shown(self.after[key]), old)
                if made:
                    yield made
            elif old and key not in self.kept:
                yield gone(old)


def consolidated(found: Iterable[Resource]) -> int:
    """How many ScrapeConfigs an operator keeps for monitors."""
    return sum(1 for each in found if monitor_behind(each.metadata))


def _by_ref(found: Iterable[ScrapeConfig]) -> dict[Ref, ScrapeConfig]:
    return {ref_of(each): each for each in found}


def _shown(config: ScrapeConfig) -> Object:
    """A ScrapeConfig less what only says whose it is, or what became of it."""
    metadata = config.metadata
    own = ObjectMeta(name=metadata.name, namespace=metadata.namespace, labels=metadata.labels)
    return manifest_of(replace(config, metadata=own, status=None))


def _writer_of(metadata: ObjectMeta) -> str:
    return (metadata.annotations or {}).get(CONSOLIDATED_BY, "")
