"""What a workload has of resources that the operator cannot see: it must not be taken away.

That a kind cannot be listed does not mean that there is nothing of it. After a start without the
permission nobody knows what was taken up before, so that is looked for in what was made of it.
"""

import gzip
import re
from collections.abc import AsyncIterator, Iterable, Iterator
from functools import partial
from typing import Final

from stoker.cluster.content import RESOURCES, content_of
from stoker.generate.jobs import POD_MONITOR, PROBE, SERVICE_MONITOR
from stoker.generate.rules import config_map_name
from stoker.kube.client import Client
from stoker.kube.errors import NotFound
from stoker.operator.caches import Caches
from stoker.operator.judging import aside
from stoker.plan import Outline
from stoker.select.assets import CONFIG_MAP, SECRET
from stoker.select.workload import Workload

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
    client: Client, caches: Caches, workload: Workload, outline: Outline, kinds: Iterable[str]
) -> list[str]:
    """Those of the kinds of which something is in what a workload has now."""
    wanted, names = sorted(kinds), partial(_names, caches, workload)
    found: set[str] = set()
    if any(kind in _TRACES for kind in wanted):
        secrets = names(SECRET, outline.configuration, outline.configuration)
        async for values in _contents(client, outline, SECRET, secrets):
            found.update(await aside(_kinds_in, values, wanted))
    if _RULE in wanted and outline.rules:
        first = config_map_name(outline.rules, 0)
        maps = names(CONFIG_MAP, first, first.removesuffix("0"))
        async for values in _contents(client, outline, CONFIG_MAP, maps):
            found.update({_RULE} if values else ())
    return [kind for kind in wanted if kind in found]


def _names(caches: Caches, workload: Workload, kind: str, first: str, prefix: str) -> list[str]:
    """The first object of a kind, whether or not it is known, and those that are called like it."""
    known = (
        each.metadata.name or "" for each in caches.belonging(kind, workload.metadata.uid or "")
    )
    return sorted({first, *(each for each in known if each.startswith(prefix))})


async def _contents(
    client: Client, outline: Outline, kind: str, names: Iterable[str]
) -> AsyncIterator[list[str | bytes]]:
    """What each of these objects holds; those that do not exist are passed over."""
    for name in names:
        try:
            answer = await client.get(RESOURCES[kind], outline.namespace, name)
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
