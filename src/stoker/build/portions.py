"""What a pod needs to get the portion of its node: a token, whom to trust, arguments of reloaders.

The token is for the operator alone, names the pod, and is mounted in the reloaders alone. With
it they ask the operator for the jobs, targets and credentials of their node, and put them where
Prometheus finds them.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from stoker.api.core import Object
from stoker.api.workload import Argument
from stoker.build.paths import CONFIG
from stoker.build.secrets import AUTHORITY_FILE
from stoker.build.site import Site
from stoker.build.volumes import read_only
from stoker.errors import WorkloadError
from stoker.generate.nodejobs import PORTION
from stoker.select.workload import BY_OPERATOR, Scraper
from stoker.settings import ObjectSettings

AUDIENCE: Final = "stoker-portions"
"""Whom the token is for."""

_TOKEN_VOLUME: Final = "portion-token"  # noqa: S105 (a name)
_TOKEN_DIRECTORY: Final = "/var/run/secrets/stoker"  # noqa: S105 (a path)
_TOKEN_FILE: Final = "token"  # noqa: S105 (a name)
_TOKEN_SECONDS: Final = 3600

_DISCOVERY: Final = "spec.daemonSet.discovery"
_PEER: Final = "prometheus-config-reloader"


def check_server(site: Site) -> None:
    """WorkloadError where an agent is to get portions and nobody gives any."""
    if site.scraper.portions and site.settings.node_server is None:
        reason = f"`{BY_OPERATOR}` needs an operator that was started with --node-discovery-url"
        raise WorkloadError(_DISCOVERY, reason)


def check_reloaders(containers: Iterable[Object], settings: ObjectSettings) -> None:
    """WorkloadError where a container that should get the portion runs what does not know how."""
    server = settings.node_server
    unknown = settings.reloader.image if server and server.assumed else None
    for each in containers:
        image = str(each.get("image") or "")
        ours = any(mount["name"] == _TOKEN_VOLUME for mount in each.get("volumeMounts") or ())
        if ours and image != unknown and _name_of(image) == _PEER:
            reason = (
                f"`{BY_OPERATOR}` needs the reloader of this project, and container"
                f" `{each.get('name')}` runs {image}: start the operator with"
                " --prometheus-config-reloader and its own image"
            )
            raise WorkloadError(_DISCOVERY, reason)


def portion_arguments(scraper: Scraper, settings: ObjectSettings) -> Iterator[Argument]:
    """What tells a reloader to get the portion of its node."""
    server = settings.node_server
    if not scraper.portions or server is None:
        return
    yield Argument(name="portion-url", value=server.url)
    yield Argument(name="portion-ca", value=f"{CONFIG}/{AUTHORITY_FILE}")
    yield Argument(name="portion-token", value=f"{_TOKEN_DIRECTORY}/{_TOKEN_FILE}")
    yield Argument(name="portion-dir", value=PORTION)


def token_volumes(scraper: Scraper) -> list[Object]:
    """The volume of the token, if there is one."""
    if not scraper.portions:
        return []
    token = {"audience": AUDIENCE, "expirationSeconds": _TOKEN_SECONDS, "path": _TOKEN_FILE}
    sources = [{"serviceAccountToken": token}]
    return [{"name": _TOKEN_VOLUME, "projected": {"sources": sources}}]


def token_mounts(scraper: Scraper) -> list[Object]:
    """Where a reloader finds the token, if there is one."""
    return [read_only(_TOKEN_VOLUME, _TOKEN_DIRECTORY)] if scraper.portions else []


def _name_of(image: str) -> str:
    """The last part of an image's name, without tag and digest."""
    return image.partition("@")[0].rpartition("/")[2].partition(":")[0]
