"""How pods get the file that tells their web server how to listen, and what it refers to."""

from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from stoker.api.core import Object
from stoker.api.workload import Argument, WebConfig
from stoker.build.names import unique_label
from stoker.generate.webconfig import Credential, tls_credentials

WEB_CONFIG_FILE: Final = "web-config.yaml"

_VOLUME: Final = "web-config"
_CREDENTIAL_VOLUME: Final = "web-config-tls-"


class Mount(Struct, frozen=True):
    """What a pod needs for a file: an argument that names it, volumes, and their mounts."""

    argument: Argument
    volumes: list[Object]
    mounts: list[Object]


def web_config_mount(directory: str, secret_name: str, web: WebConfig | None) -> Mount:
    """What a pod needs for a web configuration in this directory, from this Secret."""
    path = f"{directory}/{WEB_CONFIG_FILE}"
    volumes, mounts = credential_mounts(
        directory, _CREDENTIAL_VOLUME, tls_credentials(web.tls_config if web else None)
    )
    return Mount(
        Argument(name="web.config.file", value=path),
        [secret_volume(_VOLUME, secret_name), *volumes],
        [file_mount(_VOLUME, path, WEB_CONFIG_FILE), *mounts],
    )


def credential_mounts(
    directory: str, prefix: str, credentials: Iterable[Credential]
) -> tuple[list[Object], list[Object]]:
    """Volumes and mounts for certificates and keys; the names of volumes begin with the prefix."""
    volumes: list[Object] = []
    mounts: list[Object] = []
    for one in credentials:
        use = "client-ca" if one.use == "ca" else one.use
        name = unique_label(f"{prefix}{one.source}-{use}-", one.name)
        source = secret_volume if one.source == "secret" else config_map_volume
        volumes.append(source(name, one.name))
        mounts.append({"name": name, "readOnly": True, "mountPath": one.directory(directory)})
    return volumes, mounts


def secret_volume(name: str, secret: str) -> Object:
    """A volume with all of a Secret."""
    return {"name": name, "secret": {"secretName": secret}}


def config_map_volume(name: str, config_map: str) -> Object:
    """A volume with all of a ConfigMap."""
    return {"name": name, "configMap": {"name": config_map}}


def file_mount(volume: str, path: str, key: str) -> Object:
    """The mount of a single file of a volume."""
    return {"name": volume, "readOnly": True, "mountPath": path, "subPath": key}
