"""All objects of a kind, page by page, for commands that look once."""

from typing import Any, Final

import msgspec

from stoker.api.core import Object
from stoker.kube.client import Client
from stoker.kube.resources import ApiResource
from stoker.kube.transport import JSON

_PAGE: Final = "500"


async def listed(
    client: Client, resource: ApiResource, namespace: str | None, accept: str = JSON, **query: Any
) -> list[Object]:
    """Those in a namespace, or in all; each says what it is. ApiError where that is not allowed."""
    query = {"limit": _PAGE} | query
    typed = {"apiVersion": resource.api_version, "kind": resource.kind}
    found: list[Object] = []
    while True:
        path = resource.path(namespace)
        page = await client.page(path, query=query, accept=accept)
        found += (typed | msgspec.json.decode(each) for each in page.items)
        if not page.metadata.continue_:
            return found
        query["continue"] = page.metadata.continue_
