"""What a workload has of resources that the operator may not see: it must not be taken away.

That a kind may not be listed does not mean that there is nothing of it. After a start without the
permission nobody knows what was taken up before, so that is looked for in what was made of it.
"""

import gzip
import re
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Final

from stoker.decide import Outline
from stoker.generate.jobs import POD_MONITOR, PROBE, SERVICE_MONITOR
from stoker.kube.client import Client
from stoker.kube.errors import NotFound
from stoker.run.caches import Caches
from stoker.run.content import RESOURCES, content_of
from stoker.run.judging import aside
from stoker.select.assets import CONFIG_MAP, SECRET
from stoker.select.workload import Owner

_RULE: Final = "PrometheusRule"


def _job(name: str) -> re.Pattern[str]:
    return re.compile(rf'^\s*- job_name: ["\']?{re.escape(name)}/', re.MULTILINE)


# What is in a configuration only where resources of the kind were taken up.
_TRACES: Final = {
    "ServiceMonitor": _job(SERVICE_MONITOR.job),
    "PodMonitor": _job(POD_MONITOR.job),
    "Probe": _job(PROBE.job),
    "ScrapeConfig": _job("scrapeConfig"),
    "AlertmanagerConfig": re.compile(r'^\s*- name: ["\']?[^\s/]+/[^\s/]+/', re.MULTILINE),
}
_GZIP: Final = b"\x1f\x8b"


async def traces(
    client: Client, caches: Caches, owner: Owner, outline: Outline, kinds: Iterable[str]
) -> list[str]:
    """Those of the kinds of which something is in what a workload has now."""
    wanted = sorted(kinds)
    found: set[str] = set()
    if any(kind in _TRACES for kind in wanted):
        async for values in _contents(client, caches, owner, SECRET, outline.configuration):
            found.update(await aside(_kinds_in, values, wanted))
    if _RULE in wanted and outline.rules:
        async for values in _contents(client, caches, owner, CONFIG_MAP, outline.rules):
            found.update({_RULE} if values else ())
    return [kind for kind in wanted if kind in found]


async def _contents(
    client: Client, caches: Caches, owner: Owner, kind: str, prefix: str
) -> AsyncIterator[list[str | bytes]]:
    """What the objects of a workload hold whose names begin so, and the one of that name."""
    uid, namespace = owner.metadata.uid or "", owner.metadata.namespace or ""
    known = (each.metadata.name or "" for each in caches.belonging(kind, uid))
    for name in sorted({prefix, *(each for each in known if each.startswith(prefix))}):
        try:
            answer = await client.get(RESOURCES[kind], namespace, name)
        except NotFound:
            continue
        yield list((content_of(kind, answer).data or {}).values())


def _kinds_in(values: Iterable[str | bytes], kinds: Iterable[str]) -> set[str]:
    texts = [text for value in values for text in _texts(value)]
    return {
        kind
        for kind in kinds
        if kind in _TRACES and any(_TRACES[kind].search(text) for text in texts)
    }


def _texts(value: str | bytes) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif value.startswith(_GZIP):
        yield gzip.decompress(value).decode(errors="replace")
