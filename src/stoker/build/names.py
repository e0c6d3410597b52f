"""The names and labels of all objects that belong to a Prometheus or PrometheusAgent.

A takeover from prometheus-operator must find every object under its name, and pods must keep the
labels that their StatefulSet selects: these are the same as there.

    prometheus-NAME                 StatefulSet of the first shard, Secret of the configuration
    prometheus-NAME-shard-1         StatefulSet of the second
    prometheus-NAME-tls-assets-0    files behind references
    prometheus-NAME-web-config      how the web server listens
    prometheus-NAME-db              claims, unless the user names them

Those of an agent begin with `prom-agent-`. What is read by pods that get portions has names of its
own, so that pods of either discovery keep theirs until they are replaced:

    prom-agent-NAME-portions                 Secret of the configuration
    prom-agent-NAME-portions-tls-assets-0    files behind the workload's own references
"""

import re
from collections.abc import Mapping
from typing import Final

from stoker.build.storage import claim_name
from stoker.build.xxh64 import xxh64
from stoker.errors import WorkloadError
from stoker.select.workload import Scraper

FIELD_MANAGER: Final = "stoker"
"""The name under which fields of objects are written."""

MANAGING_OPERATOR: Final = "prometheus-operator"
"""Who objects say they are managed by: the peer's own word, so that selectors go on working."""

MANAGED_BY: Final = {
    "managed-by": MANAGING_OPERATOR,
    "app.kubernetes.io/managed-by": MANAGING_OPERATOR,
}
APPLICATION_NAME: Final = "app.kubernetes.io/name"
APPLICATION_INSTANCE: Final = "app.kubernetes.io/instance"
APPLICATION_VERSION: Final = "app.kubernetes.io/version"
MODE: Final = "operator.prometheus.io/mode"
NAME: Final = "operator.prometheus.io/name"
SHARD: Final = "operator.prometheus.io/shard"
DEFAULT_CONTAINER: Final = "kubectl.kubernetes.io/default-container"

_LONGEST_LABEL: Final = 63
_HASH_LENGTH: Final = 8
_NOT_IN_LABEL: Final = re.compile(r"[^a-z0-9-]+")


def prefix_of(scraper: Scraper) -> str:
    """What the names of all the workload's objects begin with."""
    return f"prom-agent-{scraper.name}" if scraper.agent else f"prometheus-{scraper.name}"


def stateful_set_name(scraper: Scraper, shard: int) -> str:
    """The StatefulSet of a shard; the first has no number, as there is one without sharding."""
    prefix = prefix_of(scraper)
    return f"{prefix}-shard-{shard}" if shard else prefix


def daemon_set_name(scraper: Scraper) -> str:
    """The DaemonSet of an agent that runs on every node."""
    return prefix_of(scraper)


def config_secret_name(scraper: Scraper) -> str:
    """The Secret with the configuration."""
    return f"{prefix_of(scraper)}-portions" if scraper.portions else prefix_of(scraper)


def tls_assets_name(scraper: Scraper) -> str:
    """What the Secrets with the files behind references are called, less their number."""
    return f"{config_secret_name(scraper)}-tls-assets"


def web_config_name(scraper: Scraper) -> str:
    """The Secret that tells the web server how to listen."""
    return f"{prefix_of(scraper)}-web-config"


def thanos_http_client_name(scraper: Scraper) -> str:
    """The Secret that tells the Thanos sidecar how to reach Prometheus."""
    return f"{prefix_of(scraper)}-thanos-prometheus-http-client-file"


def governing_service_name(scraper: Scraper) -> str:
    """The Service that gives pods their DNS names: the user's own, or one for all of a kind."""
    return scraper.spec.service_name or f"{application_name(scraper)}-operated"


def volume_claim_name(scraper: Scraper) -> str:
    """The volume with the data, and the claims for it."""
    return claim_name(scraper.spec.storage, f"{prefix_of(scraper)}-db")


def application_name(scraper: Scraper) -> str:
    """What the pods run, as the label `app.kubernetes.io/name` has it."""
    return "prometheus-agent" if scraper.agent else "prometheus"


def mode_of(scraper: Scraper) -> str:
    """What the label `operator.prometheus.io/mode` says."""
    return "agent" if scraper.agent else "server"


def selector_labels(
    scraper: Scraper, shard: int | None, flags: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The labels by which a StatefulSet (or, without a shard, a DaemonSet) knows its pods.

    They cannot be changed later. `flags` are the labels that flags put on everything.
    """
    labels = {
        "app.kubernetes.io/managed-by": MANAGING_OPERATOR,
        APPLICATION_NAME: application_name(scraper),
        APPLICATION_INSTANCE: scraper.name,
        NAME: scraper.name,
    }
    if not scraper.agent:
        labels["prometheus"] = scraper.name
    if shard is not None:
        labels[SHARD] = str(shard)
    return labels | dict(flags or {})


def pod_labels(
    scraper: Scraper, shard: int | None, flags: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The labels of the pods: the user's, but never in place of one that is selected by."""
    metadata = scraper.spec.pod_metadata
    own = (metadata.labels if metadata else None) or {}
    version = {APPLICATION_VERSION: str(scraper.version)}
    return version | own | selector_labels(scraper, shard, flags)


def pod_annotations(scraper: Scraper) -> dict[str, str]:
    """The annotations of the pods."""
    metadata = scraper.spec.pod_metadata
    own = (metadata.annotations if metadata else None) or {}
    return {DEFAULT_CONTAINER: "prometheus"} | own


def object_labels(scraper: Scraper, shard: int | None) -> dict[str, str]:
    """The labels of a StatefulSet or DaemonSet itself."""
    return selector_labels(scraper, shard) | {MODE: mode_of(scraper)}


def unique_label(prefix: str, name: str) -> str:
    """A DNS label for a name of any length: what fits of it, and a hash that tells it apart.

    Volumes are named so after the Secrets that they hold, as a volume's name is shorter and has no
    dots. WorkloadError where nothing of the prefix and the name can stand in a label.
    """
    whole = f"{prefix.removesuffix('-')}-{name}" if prefix else name
    room = _LONGEST_LABEL - _HASH_LENGTH - 1
    readable = _NOT_IN_LABEL.sub("-", whole.lower())[:room].strip("-")
    if not readable:
        raise WorkloadError("", f"`{name}` has no letter or digit to name a volume after")
    return f"{readable}-{f'{xxh64(name.encode()):x}'[:_HASH_LENGTH]}"
