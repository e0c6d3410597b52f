"""What `stoker migrate takeover` says beforehand, held against what came of it.

foreseen = Foresight.of(cluster, flags)
…
foreseen.mistakes(Changes.between(before, after))
"""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from typing import Self

from msgspec import Struct

from stoker.cli.access import access_to_read
from stoker.cli.operator_settings import operator_settings
from stoker.cluster.takeover.report import TakeoverReport, takeover_report
from stoker.kube.client import Client
from tests.conformance.worlds import PLURALS
from tests.takeover.snapshot import Changes, Key
from tools.cluster import Cluster


class Foresight(Struct, frozen=True):
    """What was said before a takeover; `namespaces` are those of workloads."""

    report: TakeoverReport
    namespaces: frozenset[str]

    @classmethod
    def of(cls, cluster: Cluster, flags: Sequence[str]) -> Self:
        """Look at a cluster as it is now; a look that writes is an error."""
        mark = cluster.audit.mark()
        report = asyncio.run(_looked(cluster, flags))
        kept = [each for each in cluster.audit.since(mark, _AGENT) if "review" not in each.resource]
        if kept:
            raise RuntimeError(f"a look that writes: {', '.join(map(str, kept))}")
        spaces = (each.workload.split(" ")[1].partition("/")[0] for each in report.workloads)
        return cls(report, frozenset(spaces))

    def mistakes(self, changes: Changes) -> Iterator[str]:
        """What came otherwise than it was said."""
        found = self.report.workloads
        sets = {_key(one.title) for each in found for one in each.sets if one.rolls}
        gone = _keys(name for each in found for name in each.gone)
        yield from _differences("rolls", sets, changes.rolled)
        yield from _differences("goes", gone, changes.lost)
        yield from _differences("comes", self._new(), changes.gained)
        yield from _differences("reads otherwise", self._told(), changes.told)

    def _new(self) -> set[Key]:
        sets = (
            one.title for each in self.report.workloads for one in each.sets if one.action == "new"
        )
        return _keys(sets) | _keys(name for each in self.report.workloads for name in each.new)

    def _told(self) -> set[Key]:
        written = _keys(name for each in self.report.workloads for name in each.written)
        return {key for key in written if key[1].startswith(("secrets/", "configmaps/"))}


_AGENT = "stoker-migrate"


async def _looked(cluster: Cluster, flags: Sequence[str]) -> TakeoverReport:
    access = access_to_read(str(cluster.kubeconfig), None)
    async with Client(access, user_agent=_AGENT) as client:
        return await takeover_report(client, operator_settings(flags))


def _differences(what: str, foreseen: Iterable[Key], came: Iterable[Key]) -> Iterator[str]:
    said, seen = set(foreseen), set(came)
    yield from (f"{'/'.join(key)} {what}, which was not foreseen" for key in sorted(seen - said))
    yield from (f"{'/'.join(key)} was to be one that {what}" for key in sorted(said - seen))


def _keys(titles: Iterable[str]) -> set[Key]:
    return set(map(_key, titles))


def _key(title: str) -> Key:
    kind, _, path = title.partition(" ")
    namespace, _, name = path.partition("/")
    return namespace, f"{PLURALS[kind]}/{name}"
