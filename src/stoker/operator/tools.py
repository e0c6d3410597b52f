"""What the loops work with, made once at the start."""

from collections.abc import Callable
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from stoker.cluster.values import Values
from stoker.generate.fragments import StandIns
from stoker.kube.client import Client
from stoker.operator.caches import Caches
from stoker.operator.notebook import Notebook
from stoker.operator.writer import Writer
from stoker.plan import Facts, Outline, outline_of
from stoker.select.workload import Workload
from stoker.settings import Capabilities, OperatorSettings


class Tools(Struct, frozen=True, kw_only=True):
    """The cluster, what is known of it, and what the flags say.

    `client` is for objects, `status_client` for all that must never delay them. `now` is the clock.
    `notebook` has what is being replaced. `stand_ins` finds the ScrapeConfigs in place of monitors;
    None, where they have none. `node_ca` is whom agents are to trust that get portions; nothing as
    long as that is not known.
    """

    client: Client
    status_client: Client
    caches: Caches
    values: Values
    writer: Writer
    notebook: Notebook
    settings: OperatorSettings
    capabilities: Capabilities
    now: Callable[[], datetime]
    stand_ins: StandIns | None = None
    node_ca: Callable[[], str] = lambda: ""

    def facts(self, workload: Workload) -> Facts:
        """What the plan of a workload is made from, as it is now: it is made beside the loop.

        Its resources go to what is kept of it, and so they are not among these.
        """
        store = self.caches.workloads[type(workload).__name__].store
        neighbours = tuple(store.in_namespace(workload.metadata.namespace or ""))
        return Facts(
            settings=self._with_authority(),
            capabilities=self.capabilities,
            assets=self.values.view(),
            neighbours=lambda _: neighbours,
            stand_ins=self.stand_ins,
        )

    def _with_authority(self) -> OperatorSettings:
        """The settings, and whom agents on nodes are to trust that get portions."""
        objects = self.settings.objects
        if objects.node_server is None:
            return self.settings
        server = replace(objects.node_server, ca=self.node_ca())
        return replace(self.settings, objects=replace(objects, node_server=server))

    def outline(self, workload: Workload) -> Outline:
        """What is known of a workload before anything is made of it."""
        return outline_of(workload, self.capabilities, self.settings.objects)
