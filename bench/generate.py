"""How fast monitors become a compressed configuration, all of them and one changed.

Each size runs in a process of its own, so that its peak of memory is its own. All of it is the work
of one core: selection, validation, text, compression. The best of several runs counts: noise only
ever adds. A change is measured until the bytes are ready, and its floor is joining them.

Goals: 5,000 monitors in at most 2 s; one change of 10,000 at most 1.5 times that of 1,000.

    python -m bench.generate N       one size in this process, as JSON
"""

import json
import sys
import zlib
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any

from bench.alone import best, peak, reached, timed
from bench.world import monitor
from stoker.api.decode import convert
from stoker.api.monitors import ServiceMonitor
from stoker.api.prometheus import PrometheusSpec
from stoker.generate.fragments import KeptConfiguration
from stoker.generate.prometheus import fragment
from stoker.generate.stream import gzip_member
from stoker.ref import Ref, ref_of
from stoker.select.assets import AssetsAtHand
from stoker.select.choice import Monitor, applicable
from stoker.select.workload import Scraper
from stoker.validate.verdicts import judge

SIZES = (1_000, 5_000, 10_000)
CHANGES = 400
SPREAD = 7919  # a prime: the changed monitors are all over the file
FULL_GOAL = 2.0
RATIO_GOAL = 1.5

WORKLOAD = Scraper(
    namespace="monitoring",
    name="main",
    spec=convert(
        PrometheusSpec, {"serviceMonitorSelector": {}, "serviceMonitorNamespaceSelector": {}}
    ),
)
ASSETS = AssetsAtHand()


def report() -> bool:
    """Measure, print, and tell whether the goals were reached."""
    found = {size: best("bench.generate", size) for size in SIZES}
    rows: tuple[tuple[str, Callable[[dict[str, float]], str]], ...] = (
        ("text", lambda of: f"{of['text'] / 1e6:.1f} MB"),
        ("compressed", lambda of: f"{of['compressed'] / 1e3:.0f} KB"),
        ("all of them, CPU", lambda of: f"{of['full']:.2f} s"),
        ("  of which compressing", lambda of: f"{of['packing'] / of['full']:.0%}"),
        ("one change, median", lambda of: f"{of['change'] * 1e3:.2f} ms"),
        ("  of which compressing", lambda of: f"{1 - of['fragment'] / of['change']:.0%}"),
        ("  floor: joining the bytes", lambda of: f"{of['join'] * 1e3:.3f} ms"),
        ("peak RSS", lambda of: f"{of['rss']:.0f} MiB"),
        ("  before, with all objects", lambda of: f"{of['rss_before']:.0f} MiB"),
    )
    print(f"\n{'configuration of N monitors':<32}" + "".join(f"{size:>12,}" for size in found))
    for name, cell in rows:
        print(f"{name:<32}" + "".join(f"{cell(figures):>12}" for figures in found.values()))
    return _reached(found)


def _reached(found: dict[int, dict[str, float]]) -> bool:
    full = found[5_000]["full"]
    ratio = found[10_000]["change"] / found[1_000]["change"]
    return reached(
        (
            (f"5,000 monitors: {full:.2f} s (goal: at most {FULL_GOAL:.1f})", full, FULL_GOAL),
            (
                f"one change of 10,000 / of 1,000: {ratio:.2f} (goal: at most {RATIO_GOAL})",
                ratio,
                RATIO_GOAL,
            ),
        )
    )


# --- In the process of its own --------------------------------------------------------------------


def _measured(size: int) -> dict[str, float]:
    monitors = [convert(ServiceMonitor, monitor(number)) for number in range(size)]
    before = peak()
    full, kept = timed(lambda: _generated(monitors))
    after = peak()
    texts = _texts(kept.gzip())
    packing, _ = timed(lambda: [gzip_member(text) for text in texts])
    changed = [_changed(number * SPREAD % size, number) for number in range(CHANGES)]
    return {
        "full": full,
        "packing": packing,
        "change": _median([partial(_change, kept, one) for one in changed]),
        "fragment": _median([partial(_fragment, one) for one in changed]),
        "join": _median([kept.gzip] * CHANGES),
        "text": len(kept.text().encode()),
        "compressed": len(kept.gzip()),
        "rss": after,
        "rss_before": before,
    }


def _generated(monitors: list[ServiceMonitor]) -> KeptConfiguration:
    kept = KeptConfiguration(WORKLOAD, ASSETS)
    kept.put_all({_key(one): one for one in applicable(WORKLOAD, monitors, {})}, ASSETS)
    kept.gzip()
    return kept


def _texts(packed: bytes) -> list[str]:
    """The texts of gzip members, one by one."""
    found = []
    while packed:
        unpacker = zlib.decompressobj(zlib.MAX_WBITS | 16)
        found.append(unpacker.decompress(packed).decode())
        packed = unpacker.unused_data
    return found


def _change(kept: KeptConfiguration, one: ServiceMonitor) -> None:
    kept.put(_key(one), one, ASSETS)
    kept.gzip()


def _fragment(one: Monitor) -> int:
    judge(WORKLOAD, one, ASSETS)
    return len(fragment(one, WORKLOAD, ASSETS).text)


def _changed(number: int, seconds: int) -> ServiceMonitor:
    one = monitor(number)
    one["spec"]["endpoints"][0]["interval"] = f"{seconds + 1}s"
    return convert(ServiceMonitor, one)


def _key(one: Monitor) -> Ref:
    return ref_of(one)


def _median(works: list[Callable[[], Any]]) -> float:
    return median(timed(work)[0] for work in works)


if __name__ == "__main__":
    print(json.dumps(_measured(int(sys.argv[1]))))
