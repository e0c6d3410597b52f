"""Whether an agent can change its mode while pods of both modes run."""

from stoker.api.core import Object
from stoker.api.prometheus import PrometheusAgent
from stoker.build.agent import daemon_set, stateful_set
from stoker.build.hostports import held_by, in_each_others_way
from stoker.build.names import daemon_set_name, stateful_set_name, tls_assets_name
from stoker.build.site import Site, TlsAssets
from stoker.errors import WorkloadError
from stoker.generate.sharding import shard_count
from stoker.select.workload import Scraper, scraper_of
from stoker.settings import Capabilities, ObjectSettings


def mode_change_held(
    before: PrometheusAgent,
    after: PrometheusAgent,
    capabilities: Capabilities,
    settings: ObjectSettings,
) -> str:
    """Why the operator would hold a change from one mode to the other, and what to do.

    Empty where it would not, or where pods cannot be built at all.
    """
    old, new = scraper_of(before, capabilities), scraper_of(after, capabilities)
    if old.daemon_set == new.daemon_set:
        return ""
    try:
        ports = in_each_others_way(_pod(before, old, settings), _pod(after, new, settings))
    except WorkloadError:
        return ""
    kind, names = "DaemonSet", [daemon_set_name(old)]
    if not old.daemon_set:
        kind = "StatefulSet"
        names = [stateful_set_name(old, shard) for shard in range(shard_count(old))]
    return held_by(ports, kind, old.namespace, names)


def _pod(agent: PrometheusAgent, scraper: Scraper, settings: ObjectSettings) -> Object:
    site, assets = Site(agent, scraper, settings), TlsAssets(tls_assets_name(scraper), 1)
    if scraper.daemon_set:
        made = daemon_set(site, tls_assets=assets)
    else:
        made = stateful_set(site, 0, tls_assets=assets)
    pod: Object = made["spec"]["template"]["spec"]
    return pod
