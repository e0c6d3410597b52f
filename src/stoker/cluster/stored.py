"""An object as a cluster has it, and what was said of it."""

from typing import Final

from stoker.api.core import Object
from stoker.cluster.explain import MayDo
from stoker.cluster.places import place_of
from stoker.kube.client import Client
from stoker.kube.errors import ApiError, Forbidden, NotFound
from stoker.kube.resources import EVENT, ApiResource
from stoker.page.answers import BusyError
from stoker.page.objects import Stored
from stoker.ref import Ref

_EVENTS: Final = (ApiResource("", "v1", "events", "Event"), EVENT)
_MOST: Final = "100"


async def stored(client: Client, ref: Ref, may: MayDo | None = None) -> Stored | None:
    """An object, None if it is gone, with its Events, where they may be listed."""
    try:
        where = await place_of(client, ref.kind)
        found = await client.find(where, ref.namespace, ref.name)
    except NotFound:
        return None
    except ApiError as error:
        raise BusyError(f"the API server does not tell: {error}") from None
    if found is None:
        return None
    if may and not any([await may("list", each, ref.namespace) for each in _EVENTS]):
        return Stored(object=found, unknown=f"you cannot list events in {ref.namespace}")
    events, unknown = await _events(client, ref)
    return Stored(object=found, events=events, unknown=unknown)


async def _events(client: Client, ref: Ref) -> tuple[tuple[Object, ...], str]:
    about = f"regarding.kind={ref.kind},regarding.name={ref.name}"
    path, query = EVENT.path(ref.namespace), {"fieldSelector": about, "limit": _MOST}
    try:
        found = await client.ask(dict[str, list[Object] | None], "GET", path, query=query)
    except Forbidden:
        return (), f"the operator cannot list {EVENT.name}"
    except ApiError as error:
        return (), f"the API server does not tell: {error}"
    return tuple(found.get("items") or ()), ""
