"""What the pods of an agent on nodes ask of nodes, by the template that the operator makes."""

from msgspec.structs import replace

from stoker.api.core import Object
from stoker.api.decode import convert
from stoker.build.agent import daemon_set
from stoker.build.names import tls_assets_name
from stoker.build.site import Site, TlsAssets
from stoker.select.nodes import Placing
from stoker.select.workload import AnyPrometheus, Workload, scraper_of
from stoker.settings import SOME_NODE_SERVER, Capabilities, ObjectSettings


def placing_of(
    workload: Workload, capabilities: Capabilities, settings: ObjectSettings
) -> Placing | None:
    """Where the pods of an agent on nodes may run; None for a workload that is not on nodes.

    WorkloadError where the user's settings make no pods.
    """
    if not isinstance(workload, AnyPrometheus):
        return None
    scraper = scraper_of(workload, capabilities)
    if not scraper.daemon_set:
        return None
    # Which files its pods mount does not matter here, nor where they get others.
    settings = replace(settings, node_server=settings.node_server or SOME_NODE_SERVER)
    assets = TlsAssets(tls_assets_name(scraper), 0)
    made = daemon_set(Site(workload, scraper, settings), tls_assets=assets)
    return placing_in(made)


def placing_in(made: Object) -> Placing:
    """Where the pods of a DaemonSet may run."""
    return convert(Placing, made["spec"]["template"]["spec"])
