"""How pods of Alertmanager get the file for TLS between them, and what it refers to."""

from typing import Final

from msgspec import Struct

from stoker.api.alertmanager import ClusterTlsConfig
from stoker.api.core import Object
from stoker.api.workload import Argument
from stoker.build.webconfig import credential_mounts, file_mount, secret_volume
from stoker.generate.clustertls import CLIENT_DIRECTORY, SERVER_DIRECTORY, cluster_credentials

CLUSTER_TLS_FILE: Final = "cluster-tls-config.yaml"

_VOLUME: Final = "cluster-tls-config"
_SERVER_VOLUME: Final = "cluster-tls-server-config-"
_CLIENT_VOLUME: Final = "cluster-tls-client-config-"


class ClusterMount(Struct, frozen=True):
    """What a pod needs: volumes, their mounts, and an argument where there is something to say.

    The file is mounted always, so that to turn TLS on changes no more of the pod than must be.
    """

    argument: Argument | None
    volumes: list[Object]
    mounts: list[Object]


def cluster_tls_mount(
    directory: str, secret_name: str, tls: ClusterTlsConfig | None
) -> ClusterMount:
    """What a pod needs for the file in this directory, from this Secret."""
    path = f"{directory}/{CLUSTER_TLS_FILE}"
    credentials = cluster_credentials(tls)
    server = credential_mounts(
        f"{directory}/{SERVER_DIRECTORY}", _SERVER_VOLUME, credentials.server
    )
    client = credential_mounts(
        f"{directory}/{CLIENT_DIRECTORY}", _CLIENT_VOLUME, credentials.client
    )
    return ClusterMount(
        Argument(name="cluster.tls-config", value=path) if tls else None,
        [secret_volume(_VOLUME, secret_name), *server[0], *client[0]],
        [file_mount(_VOLUME, path, CLUSTER_TLS_FILE), *server[1], *client[1]],
    )
