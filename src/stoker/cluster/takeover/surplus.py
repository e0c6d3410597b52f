"""Objects that workloads would lose: theirs alone, made by an operator, and wanted no longer."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, datetime
from typing import Final

from stoker.api.core import Object
from stoker.build.names import MANAGED_BY
from stoker.cluster.listed import listed
from stoker.kube.client import METADATA_ONLY_LIST, Client
from stoker.kube.errors import Forbidden
from stoker.kube.resources import CONFIG_MAP, DAEMON_SET, SECRET, STATEFUL_SET
from stoker.plan import Outline
from stoker.ref import Ref
from stoker.select.workload import Workload
from stoker.status.retention import ShardAction, fates

_KINDS: Final = (STATEFUL_SET, DAEMON_SET, SECRET, CONFIG_MAP)


class Belongings:
    """What belongs to workloads, by their UIDs; `hidden` says what cannot be seen."""

    def __init__(self, *, retains_shards: bool) -> None:
        self._retains_shards = retains_shards
        self.hidden: list[str] = []
        self._found: dict[str, dict[Ref, Object]] = defaultdict(dict)

    @classmethod
    async def read(cls, client: Client, *, retains_shards: bool) -> "Belongings":
        """Read the metadata of all that operators made; whether shards that go may stay a while."""
        made = cls(retains_shards=retains_shards)
        for resource in _KINDS:
            try:
                for label, value in MANAGED_BY.items():
                    selector = f"{label}={value}"
                    for each in await listed(
                        client, resource, None, METADATA_ONLY_LIST, labelSelector=selector
                    ):
                        made._add(resource.kind, each["metadata"])
            except Forbidden as error:
                what = f"you cannot {error.verb} {resource.name} in all namespaces"
                made.hidden.append(f"{what}: which would go is not known")
        return made

    def surplus(self, workload: Workload, outline: Outline, wanted: Collection[Ref]) -> set[Ref]:
        """What a workload has and would not have with these objects."""
        found = self._found.get(workload.metadata.uid or "", {})
        kept = Ref("Secret", outline.namespace, outline.configuration)
        ended = set(self._ended(workload, found, wanted))
        return {
            each
            for each in found.keys() - set(wanted) - {kept}
            if each.kind != "StatefulSet" or each.name in ended
        }

    def _add(self, kind: str, metadata: Object) -> None:
        if metadata.get("deletionTimestamp"):
            return
        for owner in metadata.get("ownerReferences") or ():
            if owner.get("controller"):
                key = Ref(kind, metadata["namespace"], metadata["name"])
                self._found[owner["uid"]][key] = {"metadata": metadata}

    def _ended(
        self, workload: Workload, found: Mapping[Ref, Object], wanted: Collection[Ref]
    ) -> Iterator[str]:
        """The StatefulSets that would be deleted; others are kept for what they hold."""
        sets = [each for key, each in found.items() if key.kind == "StatefulSet"]
        names = {each.name for each in wanted if each.kind == "StatefulSet"}
        now = datetime.now(UTC)
        for fate in fates(workload.spec, sets, names, now, enabled=self._retains_shards):
            if fate.action is ShardAction.DELETE:
                yield fate.name
