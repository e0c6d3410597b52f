"""How much a running operator keeps, as metrics: a world that stays as large must cost no more.

Each is asked when somebody reads the metrics, and costs a fraction of a millisecond then.
"""

import asyncio
import sys
from functools import partial
from typing import Any, Final

from stoker.cluster import sharing
from stoker.generate import block
from stoker.generate.relabel import label_name
from stoker.golang import regex
from stoker.operator.tools import Tools
from stoker.remembered import Remembered
from stoker.validate import rules
from stoker.web.operator_metrics import OperatorMetrics

_REMEMBERED: Final[dict[str, Remembered[Any, Any]]] = {
    "expressions": rules.parsed,
    "label_names": label_name,
    "regexes": regex.parsed,
}


def watch_footprint(metrics: OperatorMetrics, tools: Tools) -> None:
    """Have the metrics tell what is kept in memory."""
    metrics.gauge("tasks").follow(_tasks)
    metrics.gauge("late_reads").follow(lambda: tools.values.late)
    metrics.gauge("allocated_blocks").follow(sys.getallocatedblocks)
    entries = metrics.gauge("cache_entries")
    for each in tools.caches.all:
        entries.follow(partial(len, each.store), each.scope.resource.name)
    entries.follow(lambda: tools.values.entries, "contents")
    entries.follow(lambda: tools.writer.entries, "written")
    entries.follow(sharing.entries, "shared")
    for name, function in _REMEMBERED.items():
        metrics.gauge("cache_bytes").follow(partial(_held, function), name)
    metrics.gauge("cache_bytes").follow(block.held, "texts")


def _tasks() -> int:
    try:
        return len(asyncio.all_tasks())
    except RuntimeError:
        # Asked from outside of the loop, which has ended then.
        return 0


def _held(function: Remembered[Any, Any]) -> int:
    return function.held
