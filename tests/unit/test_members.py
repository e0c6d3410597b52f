"""Membership kept up by changes is what matching everything with everything would give."""

from collections.abc import Mapping
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from stoker.api.alertmanager import AlertmanagerSpec
from stoker.api.core import LabelSelector, LabelSelectorRequirement
from stoker.api.decode import convert
from stoker.api.prometheus import PrometheusAgentSpec, PrometheusSpec
from stoker.api.thanosruler import ThanosRulerSpec
from stoker.ref import Ref
from stoker.select.choice import Choice, choices_in
from stoker.select.labels import EVERYTHING, NOTHING, Selector, selector_of
from stoker.select.members import Members, SelectorIndex
from stoker.select.namespaces import Namespaces

Labels = Mapping[str, str]

KINDS = ("ServiceMonitor", "PrometheusRule")
NAMES = ("a", "b", "c")

labels_strategy = st.dictionaries(st.sampled_from("xyz"), st.sampled_from("123"), max_size=3)


def equal(**labels: str) -> Selector:
    """A selector that wants these labels."""
    return selector_of(LabelSelector(match_labels=labels))


@st.composite
def selectors(draw: st.DrawFn) -> Selector:
    """Any selector, with every operator."""
    expressions = []
    for _ in range(draw(st.integers(0, 2))):
        operator = draw(st.sampled_from(("In", "NotIn", "Exists", "DoesNotExist")))
        values: tuple[str, ...] = ()
        if operator in ("In", "NotIn"):
            values = tuple(draw(st.sets(st.sampled_from("123"), min_size=1, max_size=2)))
        key = draw(st.sampled_from("xyz"))
        expressions.append(LabelSelectorRequirement(key=key, operator=operator, values=values))
    equals = draw(st.dictionaries(st.sampled_from("xyz"), st.sampled_from("123"), max_size=1))
    declared = LabelSelector(match_labels=equals, match_expressions=tuple(expressions))
    return draw(st.sampled_from((selector_of(declared), EVERYTHING, NOTHING)))


object_keys = st.builds(Ref, st.sampled_from(KINDS), st.sampled_from(NAMES), st.sampled_from(NAMES))
workload_keys = st.builds(
    Ref, st.just("Prometheus"), st.sampled_from(NAMES), st.sampled_from(NAMES)
)
choices = st.builds(
    Choice,
    selectors(),
    st.none() | selectors(),
    st.sampled_from(NAMES),
    st.sampled_from(("", *NAMES)),
)
changes = st.one_of(
    st.tuples(st.just("resource"), object_keys, st.none() | labels_strategy),
    st.tuples(st.just("namespace"), st.sampled_from(NAMES), st.none() | labels_strategy),
    st.tuples(
        st.just("workload"),
        workload_keys,
        st.none() | st.dictionaries(st.sampled_from(KINDS), choices, max_size=2),
    ),
)


class Naive:
    """The same by matching everything with everything."""

    def __init__(self) -> None:
        self.known: dict[str, dict[Any, Any]] = {"resource": {}, "namespace": {}, "workload": {}}

    def apply(self, what: str, key: Any, value: Any) -> None:
        """Set or delete."""
        self.known[what].pop(key, None)
        if value is not None:
            self.known[what][key] = value

    def members(self) -> dict[Ref, frozenset[Ref]]:
        """What each workload takes."""
        return {
            workload: frozenset(
                key for key in self.known["resource"] if self.takes(wanted.get(key.kind), key)
            )
            for workload, wanted in self.known["workload"].items()
        }

    def takes(self, wanted: Choice | None, key: Ref) -> bool:
        """Whether a choice takes a resource."""
        if wanted is None:
            return False
        labels = self.known["namespace"].get(key.namespace)
        return wanted.names(key.namespace, key.name) or (
            wanted.labels.matches(self.known["resource"][key])
            and wanted.takes_namespace(key.namespace, labels)
        )


@given(st.lists(changes, max_size=30))
def test_members_are_those_of_the_naive_scan_after_every_change(
    history: list[tuple[str, Any, Any]],
) -> None:
    """Whatever changes, in whatever order, members are right and whoever is affected wakes."""
    members, naive = Members(), Naive()
    for what, key, value in history:
        before = naive.members()
        woken = getattr(members, f"put_{what}")(key, value)
        naive.apply(what, key, value)
        after = naive.members()
        for workload in before.keys() | after.keys():
            assert members.members(workload) == after.get(workload, frozenset())
        changed = {
            workload
            for workload in before.keys() | after.keys()
            if before.get(workload, frozenset()) != after.get(workload, frozenset())
        }
        if what == "workload":
            assert woken is bool(changed)
        elif what == "namespace":
            assert woken == changed
        else:
            holders = {one for one, taken in (before | after).items() if key in taken}
            holders |= {one for one, taken in before.items() if key in taken}
            assert woken == changed | holders


def prometheus(name: str) -> Ref:
    """A workload in the namespace `monitoring`."""
    return Ref("Prometheus", "monitoring", name)


def test_a_changed_monitor_wakes_only_the_workloads_that_choose_it() -> None:
    """A hundred workloads with their own team's label: one of them is asked for."""
    members = Members()
    for team in range(100):
        wanted = Choice(equal(team=str(team)), EVERYTHING, "monitoring")
        members.put_workload(prometheus(f"team-{team}"), {"ServiceMonitor": wanted})
    key = Ref("ServiceMonitor", "shop", "api")
    assert members.put_resource(key, {"team": "7"}) == {prometheus("team-7")}
    assert members.put_resource(key, {"team": "8"}) == {
        prometheus("team-7"),
        prometheus("team-8"),
    }
    assert members.users(key) == {prometheus("team-8")}
    assert members.put_resource(key, None) == {prometheus("team-8")}
    assert members.users(key) == frozenset()


def test_labels_of_a_namespace_bring_monitors_in_and_out() -> None:
    """Who selects namespaces by label follows them."""
    members = Members()
    key = Ref("PodMonitor", "shop", "api")
    wanted = Choice(EVERYTHING, equal(monitored="yes"), "monitoring")
    members.put_resource(key, {})
    members.put_workload(prometheus("main"), {"PodMonitor": wanted})
    assert members.members(prometheus("main")) == frozenset()
    assert members.put_namespace("shop", {"monitored": "yes"}) == {prometheus("main")}
    assert members.members(prometheus("main")) == {key}
    assert members.put_namespace("shop", {"monitored": "yes", "other": "1"}) == frozenset()
    assert members.put_namespace("shop", {}) == {prometheus("main")}
    assert members.members(prometheus("main")) == frozenset()


def test_a_config_that_is_called_by_its_name_needs_no_labels() -> None:
    """And only the one beside the Alertmanager is meant; a selector may take others."""
    members, main = Members(), Ref("Alertmanager", "monitoring", "main")
    spec: dict[str, Any] = {"alertmanagerConfiguration": {"name": "root"}}
    members.put_workload(main, choices_in("monitoring", convert(AlertmanagerSpec, spec)))
    root, other = (
        Ref("AlertmanagerConfig", namespace, "root") for namespace in ("monitoring", "shop")
    )
    assert members.put_resource(root, {}) == {main}
    assert members.put_resource(other, {}) == frozenset()
    spec["alertmanagerConfigSelector"] = {}
    spec["alertmanagerConfigNamespaceSelector"] = {}
    members.put_workload(main, choices_in("monitoring", convert(AlertmanagerSpec, spec)))
    assert members.members(main) == {root, other}
    members.put_workload(main, choices_in("monitoring", AlertmanagerSpec()))
    assert members.members(main) == frozenset()


def test_only_what_is_called_by_its_name_may_lie_out_of_scope() -> None:
    """Where flags narrow what is selected, whatever comes first, resource or workload."""
    main = Ref("Alertmanager", "monitoring", "main")
    root, beside, tenant = (
        Ref("AlertmanagerConfig", namespace, name)
        for namespace, name in (("monitoring", "root"), ("monitoring", "more"), ("shop", "more"))
    )
    wanted = {"AlertmanagerConfig": Choice(EVERYTHING, EVERYTHING, "monitoring", "root")}
    for first in (True, False):
        members = Members({"AlertmanagerConfig": Namespaces(frozenset({"shop"}))})
        if first:
            members.put_workload(main, wanted)
        for key in (root, beside, tenant):
            members.put_resource(key, {})
        members.put_namespace("monitoring", {"team": "a"})
        if not first:
            members.put_workload(main, wanted)
        assert members.members(main) == {root, tenant}


def test_a_changed_rule_wakes_who_evaluates_it() -> None:
    """A Prometheus and a Thanos Ruler with a selector for rules; an agent has none."""
    members = Members()
    asked = {"ruleSelector": {"matchLabels": {"team": "shop"}}}
    specs = {
        "Prometheus": convert(PrometheusSpec, asked),
        "PrometheusAgent": convert(PrometheusAgentSpec, {"serviceMonitorSelector": {}}),
        "ThanosRuler": convert(ThanosRulerSpec, asked | {"ruleNamespaceSelector": {}}),
    }
    for kind, spec in specs.items():
        key = Ref(kind, "monitoring", "main")
        members.put_workload(key, choices_in("monitoring", spec))
    prometheus, ruler = (Ref(kind, "monitoring", "main") for kind in ("Prometheus", "ThanosRuler"))
    near, far = (Ref("PrometheusRule", name, "alerts") for name in ("monitoring", "shop"))
    assert members.put_resource(near, {"team": "shop"}) == {prometheus, ruler}
    assert members.put_resource(far, {"team": "shop"}) == {ruler}
    assert members.put_resource(far, {"team": "bank"}) == {ruler}
    assert members.members(ruler) == {near}
    assert members.put_workload(prometheus, choices_in("monitoring", PrometheusSpec())) is True
    assert members.users(near) == {ruler}


def test_a_namespace_that_is_not_known_yet_has_its_name_as_a_label() -> None:
    """A monitor may be seen before its namespace; selection by name works already."""
    members = Members()
    wanted = Choice(EVERYTHING, equal(**{"kubernetes.io/metadata.name": "shop"}), "monitoring")
    members.put_workload(prometheus("main"), {"Probe": wanted})
    assert members.put_resource(Ref("Probe", "shop", "web"), {}) == {prometheus("main")}


def test_a_deleted_workload_is_forgotten() -> None:
    """It has no members, and nothing wakes it."""
    members = Members()
    key = Ref("Probe", "monitoring", "web")
    members.put_workload(prometheus("main"), {"Probe": Choice(EVERYTHING, None, "monitoring")})
    members.put_resource(key, {})
    assert members.put_workload(prometheus("main"), None) is True
    assert members.members(prometheus("main")) == frozenset()
    assert members.put_resource(key, {"a": "b"}) == frozenset()


@given(st.dictionaries(st.integers(0, 20), selectors()), labels_strategy)
def test_the_index_of_selectors_finds_what_matches(
    by_key: dict[int, Selector], labels: Labels
) -> None:
    """Asking the index is asking every selector; removing leaves nothing behind."""
    index: SelectorIndex[int] = SelectorIndex()
    for key, selector in by_key.items():
        index.put(key, selector)
    assert index.matching(labels) == {k for k, one in by_key.items() if one.matches(labels)}
    for key in by_key:
        index.put(key, None)
    assert index.matching(labels) == set()
