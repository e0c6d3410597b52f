"""What the ScrapeConfigs of a monitor are called, and whose they are.

    servicemonitor-web-0             the first endpoint of the ServiceMonitor `web`
    servicemonitor-web-0-t1a2b3c4d   the same, for workloads with terms of their own
    servicemonitor-a-long-na-n1a2b…  where that would be too long for Kubernetes

The last part begins with a digit, a `t` or an `n`, so that names of different shape differ, and
within a shape all that tells monitors apart is in the name or in the digest.
"""

from hashlib import sha256
from typing import Any, Final

import msgspec

from stoker.api.core import Object, ObjectMeta, OwnerReference
from stoker.api.crd import GROUP
from stoker.api.scrapeconfig.v1alpha1 import ScrapeConfig
from stoker.consolidate.terms import Terms
from stoker.select.consolidated import CONSOLIDATED_FROM

API_VERSION: Final = f"{GROUP}/v1alpha1"
_MONITORS: Final = f"{GROUP}/v1"
_LONGEST: Final = 253
_DIGEST: Final = 16


def config_name(kind: str, name: str, index: int, terms: Terms) -> str:
    """The name of the ScrapeConfig for an endpoint of a monitor."""
    plain = f"{kind.lower()}-{name}-{index}"
    whole = f"{plain}-t{terms.digest}" if terms.digest else plain
    if len(whole) <= _LONGEST:
        return whole
    digest = sha256(whole.encode()).hexdigest()[:_DIGEST]
    return f"{whole[: _LONGEST - _DIGEST - 2].rstrip('.-')}-n{digest}"


def metadata_of(monitor: Any, index: int, terms: Terms) -> ObjectMeta:
    """The metadata of a ScrapeConfig; it belongs to the monitor where that is in a cluster."""
    kind, of = type(monitor).__name__, monitor.metadata
    owner = OwnerReference(
        api_version=_MONITORS, kind=kind, name=of.name or "", uid=of.uid or "", controller=True
    )
    return ObjectMeta(
        name=config_name(kind, of.name or "", index, terms),
        namespace=of.namespace,
        labels={**(of.labels or {}), CONSOLIDATED_FROM: kind},
        owner_references=(owner,) if of.uid else None,
    )


def manifest_of(config: ScrapeConfig) -> Object:
    """A ScrapeConfig as an object to be written."""
    # Through JSON, so that lists are lists.
    made: Object = msgspec.json.decode(msgspec.json.encode(config))
    return {"apiVersion": API_VERSION, "kind": "ScrapeConfig", **made}
