"""What the cluster can do, and the gates that change what is generated."""

import re
from typing import Final

from stoker.kube.client import Client
from stoker.logs import logger
from stoker.settings import Capabilities, OperatorSettings, capabilities_with

# Vendors append what they like: `v1.29.4-gke.1043002`, `v1.28+`.
_VERSION: Final = re.compile(r"v?(\d{1,4})\.(\d{1,4})(?!\d)")
_POD_TOPOLOGY_LABELS: Final = (1, 35)


async def capabilities_of(client: Client, settings: OperatorSettings) -> Capabilities:
    """Ask the API server what there is, and the settings what is on."""
    version = await client.server_version()
    found = kubernetes_version(version)
    if found is None:
        logger("operator").warn("the API server's version cannot be read", version=version[:80])
    return capabilities_with(
        settings,
        endpoint_slices="endpointslices" in await client.api_resources("discovery.k8s.io/v1"),
        pod_topology_labels=found is None or found >= _POD_TOPOLOGY_LABELS,
    )


def kubernetes_version(text: str) -> tuple[int, int] | None:
    """The major and minor version of an API server; None where it says none: it may be newest."""
    found = _VERSION.match(text)
    numbers = (int(found[1]), int(found[2])) if found else (0, 0)
    return numbers if numbers > (0, 0) else None
