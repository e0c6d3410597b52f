"""The names and labels of all objects that belong to an Alertmanager or ThanosRuler.

They are those of prometheus-operator, so that a takeover finds every object under its name.

    alertmanager-NAME                     thanos-ruler-NAME               StatefulSet
    alertmanager-NAME-generated           thanos-ruler-NAME-config        configuration
    alertmanager-NAME-tls-assets-0        thanos-ruler-NAME-tls-assets-0  files behind references
    alertmanager-NAME-web-config          thanos-ruler-NAME-web-config    web server
    alertmanager-NAME-cluster-tls-config                                  TLS between members
                                          thanos-ruler-NAME-rulefiles-0   rules
    alertmanager-NAME-db                  thanos-ruler-NAME-data          claims, unless named
"""

from stoker.build.alerting.site import AlertSite
from stoker.build.names import (
    APPLICATION_INSTANCE,
    APPLICATION_NAME,
    APPLICATION_VERSION,
    DEFAULT_CONTAINER,
    MANAGING_OPERATOR,
)
from stoker.build.storage import claim_name


def prefix_of(site: AlertSite) -> str:
    """What the names of all the workload's objects begin with, and its StatefulSet's name."""
    return f"{site.program.application}-{site.name}"


def config_secret_name(site: AlertSite) -> str:
    """The Secret with the configuration."""
    return f"{prefix_of(site)}-{site.program.config}"


def tls_assets_name(site: AlertSite) -> str:
    """What the Secrets with the files behind references are called, less their number."""
    return f"{prefix_of(site)}-tls-assets"


def web_config_name(site: AlertSite) -> str:
    """The Secret that tells the web server how to listen."""
    return f"{prefix_of(site)}-web-config"


def cluster_tls_name(site: AlertSite) -> str:
    """The Secret that tells the members of a cluster how to reach each other."""
    return f"{prefix_of(site)}-cluster-tls-config"


def volume_claim_name(site: AlertSite) -> str:
    """The volume with the data, and the claims for it."""
    return claim_name(site.spec.storage, f"{prefix_of(site)}-{site.program.data}")


def governing_service_name(site: AlertSite) -> str:
    """The Service that gives pods their DNS names: the user's own, or one for all of a kind."""
    return site.spec.service_name or f"{site.program.application}-operated"


def own_labels(site: AlertSite) -> dict[str, str]:
    """The labels that tell the workload's pods, and its StatefulSet, from all others."""
    users = _users_labels(site) if site.program.selects_by_users_labels else {}
    return users | {
        "app.kubernetes.io/managed-by": MANAGING_OPERATOR,
        APPLICATION_NAME: site.program.application,
        APPLICATION_INSTANCE: site.name,
        site.program.application: site.name,
    }


def selector_labels(site: AlertSite) -> dict[str, str]:
    """The labels by which the StatefulSet knows its pods. They cannot be changed later."""
    return own_labels(site) | site.settings.labels


def pod_labels(site: AlertSite) -> dict[str, str]:
    """The labels of the pods: the user's, but never in place of one that is selected by."""
    version = {APPLICATION_VERSION: str(site.version)}
    return version | _users_labels(site) | selector_labels(site)


def pod_annotations(site: AlertSite) -> dict[str, str]:
    """The annotations of the pods.

    Unlike with Prometheus, the user cannot name another container as the usual one: another
    annotation than the peer's would replace every pod at a takeover.
    """
    metadata = site.spec.pod_metadata
    own = (metadata.annotations if metadata else None) or {}
    return own | {DEFAULT_CONTAINER: site.program.application}


def _users_labels(site: AlertSite) -> dict[str, str]:
    metadata = site.spec.pod_metadata
    return (metadata.labels if metadata else None) or {}
