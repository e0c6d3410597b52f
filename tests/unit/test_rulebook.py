"""The kept rules of a workload: the same as made at once, and no more done than was changed."""

from collections import Counter
from collections.abc import Iterator, Mapping
from random import Random
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from stoker.api.decode import convert
from stoker.api.prometheus import Prometheus, PrometheusAgent, PrometheusSpec
from stoker.api.rules import PrometheusRule
from stoker.api.thanosruler import ThanosRulerSpec
from stoker.errors import WorkloadError
from stoker.generate import rulebook, rules
from stoker.generate.rulebook import KeptRules, RuleTerms, prometheus_terms, thanos_terms
from stoker.generate.rules import (
    CONFIG_MAP_LIMIT,
    GROWN_LIMIT,
    MOUNTED_BY_PROMETHEUS,
    MOUNTED_BY_RULER,
    file_name,
    rule_file,
)
from stoker.ref import Ref
from stoker.select.assets import AssetsAtHand
from stoker.select.workload import Scraper
from stoker.settings import Capabilities
from stoker.validate.verdicts import Verdict
from tests.builders import alert, typed
from tests.planning import decide

ConfigMaps = list[Mapping[str, str]]


def terms(version: str = "v3.14.0", **members: Any) -> RuleTerms:
    """What rules of a Prometheus depend on."""
    spec = convert(PrometheusSpec, {"version": version, **members})
    return prometheus_terms(Scraper(namespace="ops", name="main", spec=spec))


def key_of(name: str) -> Ref:
    """The key of a PrometheusRule of the namespace `shop`."""
    return Ref("PrometheusRule", "shop", name)


def rule(
    name: str, expr: str = "up == 0", size: int = 0, uid: str = "1", namespace: str = "shop"
) -> PrometheusRule:
    """A PrometheusRule with one alert, about so many bytes large."""
    spec = alert("shop", expr, annotations={"note": "x" * size})
    spec["groups"][0]["partial_response_strategy"] = "warn"
    return typed(PrometheusRule, name, spec, namespace, uid=uid, labels={"team": "shop"})


def texts(config_maps: ConfigMaps) -> dict[str, str]:
    """All files, each of which is in one ConfigMap alone."""
    names = [name for held in config_maps for name in held]
    assert len(names) == len(set(names))
    return {name: text for held in config_maps for name, text in held.items()}


def places(config_maps: ConfigMaps) -> list[list[str]]:
    """The names of PrometheusRules in each ConfigMap."""
    return [[name.split("-")[1] for name in held] for held in config_maps]


def changed(before: ConfigMaps, after: ConfigMaps) -> list[int]:
    """Which ConfigMaps must be written: they are other objects, and hold something else."""
    found = []
    for number in range(max(len(before), len(after))):
        old = before[number] if number < len(before) else None
        new = after[number] if number < len(after) else None
        assert (old is new) == (old == new)
        if old is not new:
            found.append(number)
    return found


def filled(sizes: Mapping[str, int]) -> tuple[KeptRules, ConfigMaps]:
    """Kept rules of these sizes, and their ConfigMaps."""
    kept = KeptRules(terms(), MOUNTED_BY_PROMETHEUS)
    kept.put_all({key_of(name): rule(name, size=size) for name, size in sizes.items()})
    return kept, kept.config_maps()


@pytest.fixture
def made() -> Iterator[list[str]]:
    """The names of PrometheusRules whose files are made."""
    names: list[str] = []

    def noted(one: PrometheusRule, *rest: Any) -> Any:
        names.append(one.metadata.name or "")
        return rule_file(one, *rest)

    with patch.object(rulebook, "rule_file", noted):
        yield names


# --- One and many ---------------------------------------------------------------------------------


def test_a_rule_that_is_rejected_has_a_verdict_and_the_others_have_files() -> None:
    """The finding names the path; nobody else is affected."""
    kept = KeptRules(terms(), MOUNTED_BY_PROMETHEUS)
    kept.put_all({key_of("good"): rule("good"), key_of("bad"): rule("bad", "up ==")})
    good, bad = kept.verdicts[key_of("good")], kept.verdicts[key_of("bad")]
    assert isinstance(good, Verdict)
    assert good.accepted
    assert good.ref == Ref("PrometheusRule", "shop", "good")
    assert [one.path for one in bad.findings] == ["spec.groups[0].rules[0].expr"]
    assert bad.reason == "InvalidConfiguration"
    assert list(texts(kept.config_maps())) == ["shop-good-1.yaml"]


def test_what_the_version_ignores_is_told_by_rule() -> None:
    """Prometheus does not know Thanos' own field; once the rule is gone, so is the note."""
    kept = KeptRules(terms(), MOUNTED_BY_PROMETHEUS)
    kept.put(key_of("a"), rule("a"))
    (ignored,) = kept.ignored[key_of("a")]
    assert ignored.path == "spec.groups[0].partial_response_strategy"
    kept.remove(key_of("a"))
    assert not kept.ignored
    assert not kept.verdicts


def test_a_thanos_ruler_gets_its_own_field() -> None:
    """The same rules, for another reader."""
    kept = KeptRules(
        thanos_terms(convert(ThanosRulerSpec, {"enforcedNamespaceLabel": "ns"})), MOUNTED_BY_RULER
    )
    kept.put(key_of("a"), rule("a"))
    (text,) = texts(kept.config_maps()).values()
    assert "partial_response_strategy: warn" in text
    assert 'expr: up{ns="shop"} == 0' in text
    assert not kept.ignored


@pytest.mark.parametrize("version", ["three", "v"])
def test_a_version_that_cannot_be_read_is_a_fault_of_the_workload(version: str) -> None:
    """There is nobody to judge rules for then."""
    with pytest.raises(WorkloadError, match=r"spec\.version"):
        terms(version)
    with pytest.raises(WorkloadError, match=r"spec\.version"):
        thanos_terms(convert(ThanosRulerSpec, {"version": version}))


def test_without_rules_there_is_one_empty_config_map() -> None:
    """Pods mount it, so it must be there."""
    assert KeptRules(terms(), MOUNTED_BY_PROMETHEUS).config_maps() == [{}]


def test_a_rule_that_is_made_again_with_another_uid_leaves_nothing_behind() -> None:
    """It was deleted and created between two looks: the old file goes."""
    kept, _ = filled({"a": 0})
    kept.put(key_of("a"), rule("a", uid="2"))
    assert list(texts(kept.config_maps())) == ["shop-a-2.yaml"]


def test_a_name_too_long_for_a_config_map_is_cut() -> None:
    """The API server would refuse the ConfigMap with all the others' rules."""
    long = rule("n" * 253, uid="1f0c", namespace="s" * 63)
    name = file_name(long.metadata)
    assert len(name) == 253
    assert name.endswith("nnn-1f0c.yaml")


# --- The workload ---------------------------------------------------------------------------------


def test_settings_that_rules_do_not_depend_on_judge_nothing_again(made: list[str]) -> None:
    """Replicas and monitors are no concern of rules."""
    kept, _ = filled({"a": 0, "b": 0})
    made.clear()
    kept.set_workload(terms(replicas=3, scrapeInterval="10s"))
    spared = {"resource": "probes", "namespace": "shop", "name": "a"}
    kept.set_workload(terms(excludedFromEnforcement=[spared]))
    assert made == []


def test_another_version_judges_all_rules_again(made: list[str]) -> None:
    """What the older one cannot read is rejected, and comes back with the newer."""
    kept, _ = filled({"a": 0})
    kept.put(key_of("b"), rule("b", "up @ 0 == 1"))
    made.clear()
    kept.set_workload(terms("v2.30.0"))
    assert sorted(made) == ["a", "b"]
    assert not kept.verdicts[key_of("b")].accepted
    assert list(texts(kept.config_maps())) == ["shop-a-1.yaml"]
    kept.set_workload(terms())
    assert kept.verdicts[key_of("b")].accepted
    assert list(texts(kept.config_maps())) == ["shop-a-1.yaml", "shop-b-1.yaml"]


def test_a_rule_that_is_spared_is_the_only_one_made_again(made: list[str]) -> None:
    """The label is taken off its expressions; the others keep it."""
    kept, _ = filled({"a": 0, "b": 0})
    kept.set_workload(terms(enforcedNamespaceLabel="ns"))
    made.clear()
    spared = [{"resource": "prometheusrules", "namespace": "shop", "name": "a"}]
    kept.set_workload(terms(enforcedNamespaceLabel="ns", excludedFromEnforcement=spared))
    assert made == ["a"]
    found = texts(kept.config_maps())
    assert "expr: up == 0" in found["shop-a-1.yaml"]
    assert 'expr: up{ns="shop"} == 0' in found["shop-b-1.yaml"]


# --- ConfigMaps -----------------------------------------------------------------------------------

HALF = CONFIG_MAP_LIMIT // 2 - 1000
# Too large for a ConfigMap that another half is in.
OUTGROWN = GROWN_LIMIT - HALF


def test_one_changed_rule_makes_one_file_and_changes_one_config_map(made: list[str]) -> None:
    """The other ConfigMaps are the very same objects: nobody has to compare their texts."""
    kept, before = filled(dict.fromkeys("abcdef", HALF))
    assert places(before) == [["a", "b"], ["c", "d"], ["e", "f"]]
    made.clear()
    kept.put(key_of("c"), rule("c", "up == 1", HALF))
    after = kept.config_maps()
    assert made == ["c"]
    assert changed(before, after) == [1]
    assert "expr: up == 1" in after[1]["shop-c-1.yaml"]
    assert "expr: up == 0" in before[1]["shop-c-1.yaml"]


def test_a_changed_rule_stays_though_there_is_room_before_it() -> None:
    """Prometheus would forget since when the alerts of a file that moves are pending."""
    kept, _ = filled(dict.fromkeys("abcd", HALF))
    kept.remove(key_of("a"))
    before = kept.config_maps()
    kept.put(key_of("d"), rule("d", "up == 1"))
    after = kept.config_maps()
    assert changed(before, after) == [1]
    assert places(after) == [["b"], ["c", "d"]]


def test_a_rule_that_is_put_again_changes_nothing() -> None:
    """A new state with the same rules, such as another label, writes nothing."""
    kept, before = filled(dict.fromkeys("abc", HALF))
    kept.put(key_of("a"), rule("a", size=HALF))
    assert changed(before, kept.config_maps()) == []


def test_a_rule_that_outgrows_its_config_map_moves_alone() -> None:
    """It goes to the first with room, or to a new one."""
    kept, before = filled({"a": HALF, "b": HALF, "c": 5000})
    kept.put(key_of("a"), rule("a", size=OUTGROWN))
    after = kept.config_maps()
    assert places(after) == [["b"], ["a", "c"]]
    assert changed(before, after) == [0, 1]
    kept.put(key_of("c"), rule("c", size=CONFIG_MAP_LIMIT - 1000))
    assert places(kept.config_maps()) == [["b"], ["a"], ["c"]]


def test_nearly_every_change_rewrites_one_config_map() -> None:
    """Rules that grow and shrink by a tenth stay where they are, though ConfigMaps were full."""
    chance = Random(1)
    sizes = {f"r{number}": chance.randrange(2000, 20_000) for number in range(200)}
    kept, before = filled(sizes)
    assert len(before) > MOUNTED_BY_PROMETHEUS
    written = Counter[int]()
    for number in range(100):
        name = chance.choice(list(sizes))
        size = round(sizes[name] * chance.uniform(0.9, 1.1))
        kept.put(key_of(name), rule(name, f"up == {number}", size))
        after = kept.config_maps()
        written[len(changed(before, after))] += 1
        before = after
    assert written == {1: 100}


def test_a_new_rule_goes_where_there_are_not_too_many() -> None:
    """However small it is: names take room that is not in any file."""
    kept = KeptRules(terms(), MOUNTED_BY_PROMETHEUS)
    with patch.object(rulebook, "MOST_FILES", 3), patch.object(rules, "MOST_FILES", 3):
        kept.put_all({key_of(name): rule(name) for name in "abc"})
        kept.config_maps()
        kept.put(key_of("d"), rule("d"))
        assert places(kept.config_maps()) == [["a", "b", "c"], ["d"]]


def test_a_new_rule_takes_the_room_of_one_that_is_gone() -> None:
    """One ConfigMap changes for each, wherever the name would have been."""
    kept, before = filled(dict.fromkeys("abcdef", HALF))
    kept.remove(key_of("c"))
    without = kept.config_maps()
    assert changed(before, without) == [1]
    kept.put(key_of("z"), rule("z", size=HALF))
    after = kept.config_maps()
    assert changed(without, after) == [1]
    assert places(after) == [["a", "b"], ["d", "z"], ["e", "f"]]


def test_a_config_map_at_the_end_goes_when_it_is_empty() -> None:
    """One between others stays, since their numbers are their names."""
    kept, before = filled(dict.fromkeys("abcdef", HALF))
    for name in "ef":
        kept.remove(key_of(name))
    after = kept.config_maps()
    assert len(after) == 2
    assert changed(before, after) == [2]
    for name in "ab":
        kept.remove(key_of(name))
    assert places(kept.config_maps()) == [[], ["c", "d"]]


def test_config_maps_that_are_nearly_empty_are_filled_anew() -> None:
    """Room is lost over time; where most of it is, files move."""
    kept, before = filled(dict.fromkeys("abcdef", HALF))
    assert len(before) == 3
    for name in "bcdf":
        kept.remove(key_of(name))
    kept.config_maps()
    kept.put(key_of("a"), rule("a"))
    assert places(kept.config_maps()) == [["a", "e"]]


def test_the_first_answer_begins_with_what_the_config_maps_hold() -> None:
    """After a restart every file is found where it was; what nobody asks for is gone."""
    kept, _ = filled(dict.fromkeys("abcd", HALF))
    kept.put(key_of("a"), rule("a", size=OUTGROWN))
    before = kept.config_maps()
    assert places(before) == [["b"], ["c", "d"], ["a"]]
    again = KeptRules(terms(), MOUNTED_BY_PROMETHEUS)
    for name in "bcd":
        again.put(key_of(name), rule(name, size=HALF))
    again.put(key_of("a"), rule("a", size=OUTGROWN))
    found = [*before[:-1], {**before[-1], "unknown.yaml": "x"}]
    assert again.config_maps(found) == before


# --- Pods that stay -------------------------------------------------------------------------------


def of_ruler(sizes: Mapping[str, int]) -> KeptRules:
    """The rules of a ThanosRuler, of these sizes."""
    kept = KeptRules(thanos_terms(convert(ThanosRulerSpec, {})), MOUNTED_BY_RULER)
    for name, size in sizes.items():
        kept.put(key_of(name), rule(name, size=size))
    return kept


def test_config_maps_that_pods_mount_because_they_exist_stay_when_they_are_empty() -> None:
    """A ThanosRuler mounts what exists: to take one away would replace its pods."""
    kept = of_ruler(dict.fromkeys("abcdef", HALF))
    assert places(kept.config_maps()) == [["a", "b"], ["c", "d"], ["e", "f"]]
    for name in "bcdef":
        kept.remove(key_of(name))
    assert places(kept.config_maps()) == [["a"], [], []]
    kept.put(key_of("z"), rule("z", size=CONFIG_MAP_LIMIT - 1000))
    assert places(kept.config_maps()) == [["a"], ["z"], []]


def test_a_prometheus_gives_back_no_more_config_maps_than_its_pods_mount_anyway() -> None:
    """It mounts three of them whether they exist or not, and more because they exist."""
    kept, before = filled(dict.fromkeys("abcdefgh", HALF))
    assert len(before) == MOUNTED_BY_PROMETHEUS + 1
    for name in "cdefgh":
        kept.remove(key_of(name))
    assert places(kept.config_maps()) == [["a", "b"], [], [], []]


def test_config_maps_of_a_peer_are_taken_over_as_many_as_they_are() -> None:
    """Of what the peer wrote we may leave something out, and its pods must stay."""
    taken, large = "shop-a-1.yaml", CONFIG_MAP_LIMIT - 1000
    theirs = [{taken: "groups: []\n"}, {"shop-b-1.yaml": "groups: [{}]\n"}, {}]
    kept = of_ruler({"a": large})
    kept.put(key_of("b"), rule("b", "up =="))
    assert places(kept.config_maps(theirs)) == [["a"], [], []]
    again = of_ruler({"a": large})
    assert places(again.config_maps(kept.config_maps())) == [["a"], [], []]


def test_files_do_not_move_where_no_config_map_would_go() -> None:
    """Two would be enough after a restart, but pods mount the third."""
    kept = of_ruler(dict.fromkeys("abcdef", HALF))
    before = kept.config_maps()
    again = of_ruler(dict.fromkeys("bdf", HALF))
    assert places(again.config_maps(before)) == [["b"], ["d"], ["f"]]
    again.put(key_of("f"), rule("f"))
    again.remove(key_of("b"))
    assert places(again.config_maps()) == [[], ["d"], ["f"]]


def test_all_are_filled_anew_rather_than_one_more_is_mounted() -> None:
    """There is room enough, but in two places; one more ConfigMap would replace all pods."""
    kept = of_ruler(dict.fromkeys("abcd", HALF))
    kept.config_maps()
    for name in "bc":
        kept.remove(key_of(name))
    kept.put(key_of("e"), rule("e", size=CONFIG_MAP_LIMIT - 1000))
    assert places(kept.config_maps()) == [["a", "d"], ["e"]]


# --- Any history ----------------------------------------------------------------------------------

NAMES = "abcdef"
EXPRESSIONS = ("up == 0", "up ==", "rate(a[5m] @ 0) > 1")
SIZES = (0, 100, CONFIG_MAP_LIMIT // 3, HALF, CONFIG_MAP_LIMIT)
TERMS = (terms(), terms("v2.30.0"), terms(enforcedNamespaceLabel="ns"))

puts = st.builds(rule, st.sampled_from(NAMES), st.sampled_from(EXPRESSIONS), st.sampled_from(SIZES))
changes = st.one_of(puts, puts, st.sampled_from(NAMES), st.sampled_from(TERMS))


@given(st.lists(st.lists(changes, max_size=4), max_size=8))
def test_any_history_leads_to_what_is_made_at_once(
    history: list[list[PrometheusRule | str | RuleTerms]],
) -> None:
    """Verdicts, ignored fields and texts are those of a fresh one; no ConfigMap is overfull."""
    kept, current = KeptRules(TERMS[0], MOUNTED_BY_PROMETHEUS), TERMS[0]
    wanted: dict[Ref, PrometheusRule] = {}
    for batch in history:
        for change in batch:
            if isinstance(change, RuleTerms):
                current = change
                kept.set_workload(change)
            elif isinstance(change, str):
                wanted.pop(key_of(change), None)
                kept.remove(key_of(change))
            else:
                wanted[key_of(change.metadata.name or "")] = change
                kept.put(key_of(change.metadata.name or ""), change)
        fresh = KeptRules(current, MOUNTED_BY_PROMETHEUS)
        fresh.put_all(wanted)
        found = kept.config_maps()
        assert texts(found) == texts(fresh.config_maps())
        assert all(sum(map(len, held.values())) <= CONFIG_MAP_LIMIT for held in found)
        assert dict(kept.verdicts) == dict(fresh.verdicts)
        assert dict(kept.ignored) == dict(fresh.ignored)


@given(
    st.dictionaries(st.sampled_from("abcdefghijkl"), st.sampled_from(SIZES[:4]), min_size=1),
    st.data(),
)
def test_one_change_writes_one_config_map(sizes: dict[str, int], data: st.DataObject) -> None:
    """Whatever there is: a second one only where a rule has outgrown the first."""
    kept, _ = filled(sizes)
    name = data.draw(st.sampled_from(sorted(sizes)))
    for gone in data.draw(st.sets(st.sampled_from(sorted(sizes)), max_size=3)) - {name}:
        kept.remove(key_of(gone))
    before = kept.config_maps()
    size = data.draw(st.sampled_from((sizes[name], 0, sizes[name] + 500)))
    kept.put(key_of(name), rule(name, "up == 2", size))
    after = kept.config_maps()
    used = sum(map(len, texts(after).values()))
    assume(3 * used >= (len(before) - 1) * CONFIG_MAP_LIMIT)  # or all may be filled anew
    (place,) = [number for number, held in enumerate(before) if f"shop-{name}-1.yaml" in held]
    if f"shop-{name}-1.yaml" in after[place]:
        assert changed(before, after) == [place]
    elif len(changed(before, after)) > 2:
        # All were filled anew, as one more than pods mount would have rolled them.
        assert len(after) <= max(len(before), MOUNTED_BY_PROMETHEUS)
    else:
        assert len(changed(before, after)) == 2


# --- The decision ---------------------------------------------------------------------------------


def test_a_decision_has_the_rules_and_names_their_config_maps() -> None:
    """Verdicts stand beside those on monitors; pods mount three ConfigMaps at least."""
    spec = {"version": "v3.14.0", "ruleSelector": {"matchLabels": {"team": "shop"}}}
    scraper = typed(Prometheus, "main", spec)
    candidates = [rule("good"), rule("bad", "up =="), rule("far", namespace="bank")]
    decision = decide(scraper, candidates, {}, AssetsAtHand(), Capabilities())
    assert [(one.ref.name, one.accepted) for one in decision.verdicts.values()] == [
        ("bad", False),
        ("good", True),
    ]
    assert decision.contents is not None
    assert [list(held) for held in decision.contents.rule_files] == [["shop-good-1.yaml"]]
    assert set(decision.ignored) == {key_of("good")}
    for number in range(3):
        assert f"- /etc/prometheus/rules/prometheus-main-rulefiles-{number}/*.yaml" in decision.text


def test_an_agent_has_no_rules() -> None:
    """It evaluates nothing, so it mounts nothing."""
    scraper = typed(PrometheusAgent, "main", {})
    decision = decide(scraper, [rule("good")], {}, AssetsAtHand(), Capabilities())
    assert decision.verdicts == {}
    assert decision.contents is not None
    assert decision.contents.rule_files == ()
    assert "rule_files" not in decision.text
