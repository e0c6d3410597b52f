"""The labels of namespaces that may be read, but not listed.

A Role cannot allow to list namespaces, for these belong to the whole cluster; but it can allow to
read the one that it is in. So where the list is forbidden and the namespaces are named, each is
read now and then. One that cannot be read either is known by its name alone, which is a label too.
"""

import asyncio
from collections.abc import Iterable
from typing import Final

import msgspec

from stoker.kube.changes import Applied, Deleted, Key
from stoker.kube.client import METADATA_ONLY, Client
from stoker.kube.errors import ApiError, Forbidden, NotFound
from stoker.kube.reading import Head, typed
from stoker.kube.reflector import Reflector
from stoker.kube.resources import NAMESPACE
from stoker.kube.store import StoreWriter
from stoker.logs import logger
from stoker.operator.refusals import Refusals

_SECONDS: Final = 30.0
_READ: Final = typed(Head)


async def read_one_by_one(
    client: Client, namespaces: Reflector[Head], names: Iterable[str], tried: asyncio.Event
) -> None:
    """Keep these namespaces up to date for as long as they cannot be listed.

    `tried` is set when each was read once, or could not be.
    """
    writer = StoreWriter(namespaces.store, None)
    refusals = Refusals(logger("namespaces"))
    await namespaces.settled()
    while True:
        if any(isinstance(error, Forbidden) for error in namespaces.troubles):
            for name in names:
                await asyncio.sleep(await _read(client, writer, name, refusals))
        tried.set()
        await asyncio.sleep(_SECONDS)


async def _read(client: Client, writer: StoreWriter[Head], name: str, refusals: Refusals) -> float:
    """Read one; for how long the server wants not to be asked for the next."""
    key = Key("", name)
    try:
        found = await client.get(NAMESPACE, None, name, accept=METADATA_ONLY)
    except NotFound:
        writer.apply(Deleted(key))
    except ApiError as error:
        # Not allowed, or not now.
        refusals.tell("a namespace is known by its name alone", error, namespace=name)
        return error.asked_wait
    else:
        head = _READ(msgspec.Raw(msgspec.json.encode(found)))
        writer.apply(Applied(key, head.metadata.resource_version or "", head))
    return 0.0
