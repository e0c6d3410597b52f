"""The volumes of a pod, and where its containers mount them."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from stoker.api.alertmanager import AlertmanagerSpec
from stoker.api.core import Object
from stoker.api.prometheus_common import PrometheusCommonSpec
from stoker.build.names import unique_label
from stoker.build.paths import (
    CERTIFICATES_VOLUME,
    CONFIG_VOLUME,
    EXPANDED,
    EXPANDED_VOLUME,
    LOGS_VOLUME,
)
from stoker.build.plain import plain
from stoker.build.secrets import config_file_secret_name
from stoker.build.site import TlsAssets
from stoker.build.storage import DataVolume
from stoker.build.webconfig import config_map_volume, secret_volume
from stoker.errors import WorkloadError
from stoker.generate.sections import LOGS
from stoker.generate.split import MAIN_FILE, file_name
from stoker.select.workload import Scraper

_LONGEST_LABEL: Final = 63
_NOT_IN_LABEL: Final = re.compile(r"[^a-z0-9-]+")


class Mounted(Struct, frozen=True):
    """A volume, and its mount in the main container."""

    volume: Object
    mount: Object


def config_volume(scraper: Scraper, files: int) -> Object:
    """The packed configuration; that of several files is one volume, so they change together."""
    if files == 1:
        return secret_volume(CONFIG_VOLUME, config_file_secret_name(scraper, MAIN_FILE))
    names = [MAIN_FILE, *map(file_name, range(files - 1))]
    return _projected(CONFIG_VOLUME, (config_file_secret_name(scraper, one) for one in names))


def expanded_volume() -> Object:
    """The unpacked configuration; it may hold secrets, so it stays in memory."""
    return {"name": EXPANDED_VOLUME, "emptyDir": {"medium": "Memory"}}


def expanded_mount(path: str = EXPANDED) -> Object:
    """The unpacked configuration, for the program to read."""
    return read_only(EXPANDED_VOLUME, path)


def certificates(assets: TlsAssets, path: str) -> Mounted:
    """The files behind references, from all their Secrets."""
    names = (f"{assets.name}-{number}" for number in range(assets.shards))
    return Mounted(_projected(CERTIFICATES_VOLUME, names), read_only(CERTIFICATES_VOLUME, path))


def listed(
    spec: PrometheusCommonSpec | AlertmanagerSpec, secrets_path: str, config_maps_path: str
) -> list[Mounted]:
    """The Secrets and ConfigMaps that the user lists to be mounted, and where."""
    secrets = _numbered("secret", spec.secrets or ())
    config_maps = _numbered("configmap", spec.config_maps or ())
    return [
        *(
            Mounted(secret_volume(volume, name), read_only(volume, f"{secrets_path}/{name}"))
            for volume, name in secrets
        ),
        *(
            Mounted(
                config_map_volume(volume, name), read_only(volume, f"{config_maps_path}/{name}")
            )
            for volume, name in config_maps
        ),
    ]


def rules(names: Iterable[str], path: str) -> list[Mounted]:
    """The ConfigMaps with rules, below a path.

    One may be gone for a moment while rules are spread again.
    """
    return [
        Mounted(
            {"name": name, "configMap": {"name": name, "optional": True}},
            read_only(name, f"{path}/{name}"),
        )
        for name in names
    ]


class Logs(Struct, frozen=True):
    """A place for log files that the user names without a directory.

    Its mount stands `before` those of rules where failed scrapes are logged, and after them where
    only queries are; its volume always before theirs.
    """

    before: tuple[Mounted, ...] = ()
    after: tuple[Mounted, ...] = ()


def logs(scraper: Scraper) -> Logs:
    """Where log files of a workload have their place, if they need one."""
    volume = {"name": LOGS_VOLUME, "emptyDir": {}}
    made = Mounted(volume, {"name": LOGS_VOLUME, "mountPath": LOGS})
    if _has_no_directory(scraper.spec.scrape_failure_log_file):
        return Logs(before=(made,))
    queries = getattr(scraper.spec, "query_log_file", None)
    return Logs(after=(made,)) if _has_no_directory(queries) else Logs()


def _has_no_directory(file: str | None) -> bool:
    return bool(file) and "/" not in (file or "").removeprefix("./")


def pod_volumes(
    ours: Sequence[Object], data: DataVolume | None, theirs: Sequence[Object] | None
) -> list[Object]:
    """All volumes of a pod: ours, that of the data, the user's."""
    if data is None:
        return with_users(ours, theirs, "name", "spec.volumes")
    _check_data(data, ours)
    claims = [{"name": one["metadata"]["name"]} for one in data.claims]
    made = with_users([*claims, *ours, *data.volumes], theirs, "name", "spec.volumes")
    return made[len(claims) :]


def sources(volume: Object) -> Iterator[tuple[str, str]]:
    """The kinds and names of the Secrets and ConfigMaps that a volume is made of."""
    for source in (volume, *((volume.get("projected") or {}).get("sources") or ())):
        secret, config_map = source.get("secret") or {}, source.get("configMap") or {}
        for kind, name in (
            ("Secret", secret.get("secretName") or secret.get("name")),
            ("ConfigMap", config_map.get("name")),
        ):
            if name:
                yield kind, name


def mounted(volumes: Sequence[Object], containers: Iterable[Object]) -> tuple[Object, ...]:
    """Those volumes that a container has a use for, and those without a name, to be refused."""
    used = [
        use.get("name")
        for container in containers
        for uses in ("volumeMounts", "volumeDevices")
        for use in container.get(uses) or ()
        if isinstance(use, dict)
    ]
    return tuple(each for each in volumes if not each.get("name") or each["name"] in used)


def mounts_between(
    before: Sequence[Object], theirs: Sequence[Object] | None, after: Sequence[Object]
) -> list[Object]:
    """All mounts of the main container: the user's stand between ours."""
    made = with_users([*before, *after], theirs, "mountPath", "spec.volumeMounts")
    return [*before, *made[len(before) + len(after) :], *after]


def _check_data(data: DataVolume, ours: Iterable[Object]) -> None:
    """WorkloadError where the user's name for the data is that of another volume of ours.

    Kubernetes would mount a claim of that name in its place, and not say so.
    """
    name = data.mount["name"]
    if any(one["name"] == name for one in ours):
        path = "spec.storage.volumeClaimTemplate.metadata.name"
        raise WorkloadError(path, f"`{name}` is a volume of the operator's own: give it another")


def with_users(
    ours: Sequence[Object], theirs: Sequence[Object] | None, key: str, path: str
) -> list[Object]:
    """Our volumes or mounts, then the user's."""
    refuse_clashes(ours, theirs or (), key, path)
    return [*ours, *plain(theirs or ())]


def refuse_clashes(
    ours: Iterable[Object], theirs: Iterable[Mapping[str, Any]], key: str, path: str
) -> None:
    """WorkloadError for an item of the user's that has the name or the path of another."""
    taken = {one[key]: "the operator's own" for one in ours}
    for index, one in enumerate(theirs):
        value = one.get(key)
        if not isinstance(value, str) or not value:
            raise WorkloadError(f"{path}[{index}].{key}", "this must be set, to a text")
        if value in taken:
            reason = f"`{value}` is {taken[value]}: give it another"
            raise WorkloadError(f"{path}[{index}].{key}", reason)
        taken[value] = f"that of {path}[{index}] too"


def _projected(name: str, secrets: Iterable[str]) -> Object:
    sources = [{"secret": {"name": secret}} for secret in secrets]
    return {"name": name, "projected": {"sources": sources}}


def read_only(volume: str, path: str) -> Object:
    """The mount of a volume that a container is not allowed to write to."""
    return {"name": volume, "readOnly": True, "mountPath": path}


def _numbered(prefix: str, names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """A volume's name for each name: readable, and told apart by a hash where need be.

    The name of a Secret may be longer than that of a volume, and have dots.
    """
    taken: set[str] = set()
    for name in dict.fromkeys(names):
        label = _NOT_IN_LABEL.sub("-", f"{prefix}-{name}".lower())[:_LONGEST_LABEL].strip("-")
        volume = unique_label(prefix, name) if label in taken else label
        taken.add(volume)
        yield volume, name
