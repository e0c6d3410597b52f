"""What a cluster holds, read once, as if it lay in files, for commands that only look."""

import asyncio
from typing import Any, Final

from stoker.cli.access import access_to_read
from stoker.kube.access import Access
from stoker.kube.client import Client, ListPage
from stoker.kube.errors import ApiError, Forbidden, NotFound
from stoker.kube.reading import LAST_APPLIED
from stoker.kube.resources import (
    ENDPOINT_SLICE,
    NAMESPACE,
    NODE,
    OURS,
    POD,
    PROMETHEUS,
    PROMETHEUS_AGENT,
    SERVICE,
    ApiResource,
    versions_of,
)
from stoker.kube.served import Served
from stoker.offline.manifests import Document, Manifest, Unreadable
from stoker.roles import kinds_that

SCRAPING: Final = (
    PROMETHEUS_AGENT,
    PROMETHEUS,
    *(OURS[kind] for kind in kinds_that(monitor=True)),
    NAMESPACE,
    NODE,
    SERVICE,
    ENDPOINT_SLICE,
    POD,
)
_PAGE: Final = "500"


def found_in_cluster(kubeconfig: str | None, context: str | None) -> list[Document]:
    """All workloads that scrape, what they choose from, and what is there to be scraped.

    An error where there is no cluster; a kind that we cannot read, or that the cluster does not
    have, is an `Unreadable`.
    """
    return asyncio.run(_found(access_to_read(kubeconfig, context)))


async def _found(where: Access) -> list[Document]:
    async with Client(where) as client:
        return [each for resource in SCRAPING for each in await _listed(client, resource)]


async def _listed(client: Client, known: ApiResource) -> list[Document]:
    versions = versions_of(known)
    resource = await Served(client, versions).look() if len(versions) > 1 else known
    source = f"{resource.name} in {client.access.server}"
    query = {"limit": _PAGE}
    found: list[Document] = []
    try:
        while True:
            page = await client.ask(ListPage[Any], "GET", resource.path(None), query=query)
            found += (_manifest(each, resource, source) for each in page.items)
            if not page.metadata.continue_:
                return found
            query["continue"] = page.metadata.continue_
    except (Forbidden, NotFound) as error:
        return [_unreadable(source, error)]


def _unreadable(source: str, error: ApiError) -> Unreadable:
    return Unreadable(source, 0, 0, "", error.message)


def _manifest(found: dict[str, Any], resource: ApiResource, source: str) -> Manifest:
    """An object as its owner wrote it; those in a list do not say what they are."""
    metadata = {k: v for k, v in found["metadata"].items() if k != "managedFields"}
    annotations = metadata.get("annotations") or {}
    own = {name: value for name, value in annotations.items() if name != LAST_APPLIED}
    if own:
        metadata["annotations"] = own
    else:
        metadata.pop("annotations", None)
    typed = {"apiVersion": resource.api_version, "kind": resource.kind}
    return Manifest(source, 0, 0, typed | found | {"metadata": metadata})
