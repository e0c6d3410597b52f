"""How fast expressions are parsed, and PrometheusRules become ConfigMaps: all, and one changed.

Our parser stands next to the Rust one from PyPI (`promql-parser`), where that is installed; it
answers fewer questions (see docs/decisions), so it is a yardstick and no goal. What a rule costs
from the typed object to the text of its file stands next to the machine's floor, decoding the same
objects, in the same run: with expressions that share their shapes, with none that do, and held to
a namespace. Each number of rules
runs in a process of its own, so that its peak of memory is its own. The best of several runs
counts: noise only ever adds. A change is measured until the files of its ConfigMap can be written.

Goals: 10,000 PrometheusRules of three rules in at most 10 s; one change of 10,000 at most 1.5 times
that of 1,000.

    python -m bench.rules N       one number of rules in this process, as JSON
"""

import json
import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module
from statistics import median
from typing import Any

import msgspec

from bench.alone import RUNS, best, peak, reached, timed
from stoker.api.decode import convert
from stoker.api.prometheus import PrometheusSpec
from stoker.api.rules import PrometheusRule
from stoker.generate.rulebook import KeptRules, prometheus_terms
from stoker.generate.rules import MOUNTED_BY_PROMETHEUS, Enforcement, rule_file
from stoker.promql import parse
from stoker.ref import Ref
from stoker.select.workload import Scraper

SIZES = (1_000, 10_000)
NAMESPACES = 50
CHANGES = 400
SPREAD = 7919  # a prime: the changed rules are all over the ConfigMaps
EXPRESSIONS = 2_000
STEPS = 500
RULES_EACH = 3
FULL_GOAL = 10.0
RATIO_GOAL = 1.5
RUST = "promql_parser"

# What people alert on, with the name of a service.
TEMPLATES = (
    'up{{job="{0}"}} == 0',
    'sum by (code) (rate(http_requests_total{{job="{0}"}}[5m]))',
    'sum(rate(http_requests_total{{job="{0}",code=~"5.."}}[5m]))'
    ' / sum(rate(http_requests_total{{job="{0}"}}[5m])) > 0.05',
    "histogram_quantile(0.99, sum by (le, job)"
    ' (rate(http_request_duration_seconds_bucket{{job="{0}"}}[5m]))) > 1',
    'kube_deployment_spec_replicas{{deployment="{0}"}}'
    " != on (namespace, deployment) kube_deployment_status_replicas_available",
    'max_over_time(process_resident_memory_bytes{{job="{0}"}}[1h:5m] offset 1d) > 2e9'
    ' and on () hour() >= 8 unless absent(up{{job="{0}"}})',
)
SPEC = convert(PrometheusSpec, {"ruleSelector": {}, "ruleNamespaceSelector": {}})
TERMS = prometheus_terms(Scraper(namespace="monitoring", name="main", spec=SPEC))


def report() -> bool:
    """Measure, print, and tell whether the goals were reached."""
    _report_parsers()
    _report_steps()
    found = {size: best("bench.rules", size) for size in SIZES}
    rows: tuple[tuple[str, Callable[[dict[str, float]], str]], ...] = (
        ("ConfigMaps", lambda of: f"{of['config_maps']:.0f}"),
        ("text", lambda of: f"{of['text'] / 1e6:.1f} MB"),
        ("all of them, CPU", lambda of: f"{of['full']:.2f} s"),
        ("one change, median", lambda of: f"{of['change'] * 1e3:.2f} ms"),
        ("  of which reading its ConfigMap", lambda of: f"{of['reading'] / of['change']:.0%}"),
        ("peak RSS", lambda of: f"{of['rss']:.0f} MiB"),
        ("  before, with all objects", lambda of: f"{of['rss_before']:.0f} MiB"),
    )
    print(f"\n{'N PrometheusRules of three rules':<34}" + "".join(f"{n:>12,}" for n in found))
    for name, cell in rows:
        print(f"{name:<34}" + "".join(f"{cell(figures):>12}" for figures in found.values()))
    return _reached(found)


def _report_parsers() -> None:
    expressions = [
        TEMPLATES[number % len(TEMPLATES)].format(f"service-{number}")
        for number in range(EXPRESSIONS)
    ]
    ours = _each(parse, expressions)
    print(f"\n{'parsing and checking a PromQL expression':<44}{ours * 1e6:>8.1f} µs")
    try:
        rust = import_module(RUST)
    except ImportError:
        print(f"the Rust parser is not installed ({RUST}): nothing to compare with")
        return
    theirs = _each(rust.parse, expressions)
    times = f"(ours takes {ours / theirs:.1f} times that)"
    print(f"{'  the Rust parser, from Python':<44}{theirs * 1e6:>8.1f} µs {times}")


def _report_steps() -> None:
    """What one rule costs, in times of what decoding it costs."""
    best: dict[str, float] = {}
    for run in range(RUNS):
        for name, way in _ways(run).items():
            best[name] = min(best.get(name, float("inf")), timed(way)[0])
    floor = next(iter(best.values()))
    print(f"\n{'one rule, CPU':<44}{'':>11}{'times the floor':>18}")
    for name, seconds in best.items():
        each = seconds / STEPS / RULES_EACH
        print(f"{name:<44}{each * 1e6:>8.1f} µs{seconds / floor:>18.1f}")


def _ways(run: int) -> dict[str, Callable[[], object]]:
    """What is measured, with rules that no run had before: what was seen is remembered."""
    numbers = range(run * STEPS, (run + 1) * STEPS)
    rules = [_rule(number) for number in numbers]
    strangers = [_rule(number, metric=f"http_requests_{number}_total") for number in numbers]
    encoded = [msgspec.json.encode(rule) for rule in rules]
    decoder = msgspec.json.Decoder(PrometheusRule)
    return {
        "decoding a rule, the floor": lambda: [decoder.decode(one) for one in encoded],
        "to its text, shapes shared": lambda: _texts(rules, Enforcement()),
        "to its text, no shape shared": lambda: _texts(strangers, Enforcement()),
        "to its text, held to a namespace": lambda: _texts(rules, Enforcement("namespace")),
    }


def _texts(rules: list[PrometheusRule], enforcement: Enforcement) -> None:
    for rule in rules:
        if not rule_file(rule, TERMS.reader, enforcement).text:
            raise RuntimeError(f"{rule.metadata.name} was refused")


def _each(parser: Callable[[str], Any], expressions: list[str]) -> float:
    """The seconds that one expression takes."""
    runs = (timed(lambda: [parser(one) for one in expressions])[0] for _ in range(RUNS))
    return min(runs) / len(expressions)


def _reached(found: dict[int, dict[str, float]]) -> bool:
    full = found[10_000]["full"]
    ratio = found[10_000]["change"] / found[1_000]["change"]
    return reached(
        (
            (
                f"10,000 PrometheusRules: {full:.1f} s (goal: at most {FULL_GOAL:.0f})",
                full,
                FULL_GOAL,
            ),
            (
                f"one change of 10,000 / of 1,000: {ratio:.2f} (goal: at most {RATIO_GOAL})",
                ratio,
                RATIO_GOAL,
            ),
        )
    )


# --- In the process of its own --------------------------------------------------------------------


def _measured(size: int) -> dict[str, float]:
    rules = {_key(number): _rule(number) for number in range(size)}
    before = peak()
    full, kept = timed(lambda: _filled(rules))
    after = peak()
    held = kept.config_maps()
    numbers = [number * SPREAD % size for number in range(CHANGES)]
    changed = [(_key(number), _rule(number, "15m")) for number in numbers]
    return {
        "full": full,
        "change": median(timed(partial(_change, kept, *one))[0] for one in changed),
        "reading": median(timed(partial(dict, one))[0] for one in held),
        "config_maps": len(held),
        "text": sum(len(text) for files in held for text in files.values()),
        "rss": after,
        "rss_before": before,
    }


def _filled(rules: dict[Ref, PrometheusRule]) -> KeptRules:
    kept = KeptRules(TERMS, MOUNTED_BY_PROMETHEUS)
    kept.put_all(rules)
    kept.config_maps()
    return kept


def _change(kept: KeptRules, key: Ref, rule: PrometheusRule) -> None:
    before = kept.config_maps()
    kept.put(key, rule)
    for old, new in zip(before, kept.config_maps(), strict=True):
        if new is not old:
            dict(new)


def _rule(number: int, lasting: str = "10m", metric: str = "") -> PrometheusRule:
    """One PrometheusRule as a team would write it; with a metric of its own it shares no shape."""
    service, team = f"service-{number}", f"team-{number % NAMESPACES}"
    alert = {"for": lasting, "labels": {"severity": "page", "team": team}}
    down = {"summary": "{{ $labels.instance }} is down"}
    failing = {"summary": f"{service} fails {{{{ $value | humanizePercentage }}}} of requests"}
    wanted = [TEMPLATES[at].format(service) for at in (1, 0, 2)]
    if metric:
        named = (one.replace("http_requests_total", metric) for one in wanted)
        wanted = [one.replace("up{", f"{metric}{{") for one in named]
    rules = [
        {"record": "service:requests:rate5m", "expr": wanted[0]},
        alert | {"alert": "Down", "expr": wanted[1], "annotations": down},
        alert | {"alert": "Fails", "expr": wanted[2], "annotations": failing},
    ]
    uid = f"{number:08x}-0000-4000-8000-000000000000"
    metadata = {"name": service, "namespace": team, "uid": uid}
    groups = [{"name": service, "rules": rules}]
    return convert(PrometheusRule, {"metadata": metadata, "spec": {"groups": groups}})


def _key(number: int) -> Ref:
    return Ref("PrometheusRule", f"team-{number % NAMESPACES}", f"service-{number}")


if __name__ == "__main__":
    print(json.dumps(_measured(int(sys.argv[1]))))
