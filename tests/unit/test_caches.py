"""What is remembered of tenants' texts is bounded by bytes, not by their number alone."""

import gc
import importlib
import pkgutil
import tracemalloc
from collections.abc import Iterator
from functools import _lru_cache_wrapper
from typing import Any

from msgspec.structs import replace

import stoker
from stoker.api.decode import convert
from stoker.api.prometheus import PrometheusAgentSpec, PrometheusSpec
from stoker.api.rules import PrometheusRule
from stoker.generate import block, grammar
from stoker.generate.rulebook import KeptRules, RuleTerms
from stoker.generate.rules import MOUNTED_BY_PROMETHEUS
from stoker.limits import LIMITS, Limits
from stoker.ref import Ref
from stoker.remembered import Remembered
from stoker.select.assets import AssetsAtHand
from stoker.select.workload import Scraper
from stoker.validate.rules import parsed, prometheus_reader
from tests.builders import typed
from tests.whole import Resources, agent_config, server_config

# Why a cache of the standard library, which counts entries, cannot hold much.
OURS = "only what we declare enters it: types, schemas, tables, patterns of our own"
SHORT = "a text is short, or does not enter it"
REASONS = {
    "stoker.api.admit._pattern": OURS,
    "stoker.api.admit._schema": OURS,
    "stoker.api.admit._schema_of_part": OURS,
    "stoker.api.cel._engine": OURS,
    "stoker.api.cel._program": OURS,
    "stoker.api.convert.amconfig.differences": OURS,
    "stoker.api.convert.scrapeconfig._way_back": OURS,
    "stoker.api.decode._decoder_of": OURS,
    "stoker.api.schema._core_definitions": OURS,
    "stoker.api.schema.fields_of": OURS,
    "stoker.api.schema.marked": OURS,
    "stoker.view.states._plural": OURS,
    "stoker.offline.problems._schema": OURS,
    "stoker.offline.strangers._is_in_chart": "folders that are read, while a command runs",
    "stoker.golang.letters._ranges": OURS,
    "stoker.golang.template.token_pattern": OURS,
    "stoker.validate.findings.json_names": OURS,
    "stoker.validate.http._to_choose_from": OURS,
    "stoker.validate.http._of_type": OURS,
    "stoker.validate.warnings._schema": OURS,
    "stoker.generate.block._flat": SHORT,
    "stoker.generate.block._key_text": SHORT,
    "stoker.validate.syntax._milliseconds": SHORT,
    "stoker.version.parse_version": SHORT,
    "stoker.validate.reading._at_least": "versions that could be read, and words of ours",
    "stoker.validate.templates._setting": "versions that could be read",
    "stoker.generate.sharding._modulo": "the number of shards of a workload",
    "stoker.generate.sharding._only_active": "the number of shards of a workload",
}
# All that is remembered of texts together.
MOST_BYTES = 128 * 1024 * 1024


def _modules() -> Iterator[Any]:
    for found in pkgutil.walk_packages(stoker.__path__, "stoker."):
        if not found.name.endswith("__main__"):
            yield importlib.import_module(found.name)


def _members() -> Iterator[tuple[str, Any]]:
    for module in _modules():
        for name, value in vars(module).items():
            yield f"{getattr(value, '__module__', module.__name__)}.{name}", value
            if isinstance(value, type) and value.__module__ == module.__name__:
                for inner, member in vars(value).items():
                    yield f"{module.__name__}.{name}.{inner}", member


def test_every_cache_is_bounded_by_bytes_or_has_a_reason() -> None:
    """One that is new has to be decided."""
    found = {name for name, value in _members() if isinstance(value, _lru_cache_wrapper)}
    counted = {name for name in found if name.startswith("stoker.")}
    assert "stoker.generate.block._flat" in counted
    assert counted == REASONS.keys()


def test_what_is_remembered_of_texts_is_little() -> None:
    """The bounds of all such memories, together."""
    remembering = {id(value): value for _, value in _members() if isinstance(value, Remembered)}
    assert len(remembering) >= 2
    assert sum(each._limit for each in remembering.values()) <= MOST_BYTES


def test_caches_of_entries_have_room_for_short_texts_only() -> None:
    """A long one is worked on anew: what is held stays the same."""
    before = block._flat.cache_info().currsize
    for number in range(50):
        long = f"{number}: " + "x" * 300
        assert block.text_of({"a": long, "b": [long], "k" * 200: long})
    assert block._flat.cache_info().currsize <= before + 3


def _rule(number: int, **members: Any) -> PrometheusRule:
    spec = {"groups": [{"name": "g", "rules": [{"expr": "up", **members}]}]}
    return typed(PrometheusRule, f"r{number}", spec, "tenant", uid="u")


def _kept() -> KeptRules:
    workload = Scraper(namespace="m", name="w", spec=PrometheusSpec())
    reader = prometheus_reader(workload)
    unlimited = Limits(dict.fromkeys(LIMITS, 10**12))
    return KeptRules(RuleTerms(replace(reader, limits=unlimited)), MOUNTED_BY_PROMETHEUS)


def test_long_expressions_are_not_kept_as_trees() -> None:
    """Four rules of half a megabyte kept 515 MiB; here shorter ones, in proportion."""
    kept = _kept()
    gc.collect()
    tracemalloc.start()
    for number in range(4):
        kept.put(
            Ref("PrometheusRule", "tenant", f"{number}"),
            _rule(number, record="a", expr=f"{number}" + "+a" * 25_000),
        )
    kept.config_maps()
    gc.collect()
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 2_000_000
    assert parsed.held <= 32 * 1024 * 1024


def test_edits_of_a_long_annotation_leave_nothing_behind() -> None:
    """200 edits of one with 480 KB left 93 MiB; here 40 of 120 KB."""
    kept = _kept()
    gc.collect()
    tracemalloc.start()
    for number in range(40):
        text = f"{number} " + "x" * 120_000
        kept.put(
            Ref("PrometheusRule", "tenant", "r"), _rule(0, alert="A", annotations={"text": text})
        )
        kept.config_maps()
    gc.collect()
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 1_000_000


def _in_containers() -> dict[str, int]:
    """How much is in each container that a module has of its own."""
    return {
        f"{module.__name__}.{name}": len(value)
        for module in _modules()
        for name, value in vars(module).items()
        if isinstance(value, dict | list | set) and not name.startswith("__")
    }


def _configured(version: str) -> None:
    for spec, config in ((PrometheusSpec, server_config), (PrometheusAgentSpec, agent_config)):
        given = {"version": version, "runtime": {"goGC": 50}, "sampleLimit": 5}
        found = convert(spec, given | {"tracingConfig": {"endpoint": "collector:4317"}})
        workload = Scraper(
            namespace="shop", name="main", spec=found, agent=spec is PrometheusAgentSpec
        )
        config(workload, Resources(), AssetsAtHand({}))


def test_what_is_made_again_leaves_nothing_behind() -> None:
    """A table that is no constant would be remembered each time."""
    _configured("2.40.0")
    before = _in_containers()
    for _ in range(5):
        _configured("2.40.0")
    assert _in_containers() == before


def test_as_many_versions_as_users_like_are_not_all_remembered() -> None:
    """Who may write workloads says which versions there are."""
    for number in range(600):
        _configured(f"2.45.{number}")
    assert len(grammar._ROWS) <= grammar._MOST_ROWS
