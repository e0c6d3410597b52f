"""What becomes of an Alertmanager or ThanosRuler, at once and piece by piece."""

import gzip
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from stoker.api.alertmanager import Alertmanager
from stoker.api.amconfig.v1alpha1 import AlertmanagerConfig
from stoker.api.core import Object
from stoker.api.prometheus import Prometheus, PrometheusAgent
from stoker.api.rules import PrometheusRule
from stoker.api.thanosruler import ThanosRuler
from stoker.errors import WorkloadError
from stoker.plan import OWN, KeptAlertmanager, KeptRuler, objects_for, outline_of, shared_service_of
from stoker.ref import Ref, ref_of
from stoker.select.assets import SECRET, AssetsAtHand
from stoker.select.workload import Workload
from stoker.settings import Capabilities, ObjectSettings
from tests.builders import record, typed
from tests.planning import decide

CAPABILITIES, SETTINGS = Capabilities(), ObjectSettings()
FILE = "route:\n  receiver: own\nreceivers:\n- name: own\n"
OWN_SECRET = Ref(SECRET, "shop", "alertmanager-main")
WITH_FILE = AssetsAtHand({OWN_SECRET: {"alertmanager.yaml": FILE, "a.tmpl": "text"}})


def made(model: type[Any], name: str, spec: Object, **metadata: Any) -> Any:
    """An object of one of our kinds."""
    return typed(model, name, spec, uid=f"uid-of-{name}", **metadata)


def alertmanager(**spec: Any) -> Alertmanager:
    """An Alertmanager that selects everything."""
    found: Alertmanager = made(Alertmanager, "main", {"alertmanagerConfigSelector": {}} | spec)
    return found


def config(name: str, receiver: str = "team") -> AlertmanagerConfig:
    """An AlertmanagerConfig; without a receiver it is a bad one."""
    receivers = [{"name": receiver}] if receiver else []
    spec = {"route": {"receiver": receiver or "none"}, "receivers": receivers}
    found: AlertmanagerConfig = made(AlertmanagerConfig, name, spec)
    return found


def ruler(**spec: Any) -> ThanosRuler:
    """A ThanosRuler that selects everything."""
    own = {"ruleSelector": {}, "queryEndpoints": ["query:1"]}
    found: ThanosRuler = made(ThanosRuler, "main", own | spec)
    return found


def rule(name: str, text: str = "up") -> PrometheusRule:
    """A PrometheusRule."""
    found: PrometheusRule = made(PrometheusRule, name, record("a", text))
    return found


def receivers(text: str) -> list[str]:
    """The names of the receivers of a configuration."""
    return [each["name"] for each in yaml.safe_load(text)["receivers"]]


# --- Alertmanager ---------------------------------------------------------------------------------


def test_an_alertmanager_is_decided_at_once() -> None:
    """Its Secret has the packed configuration, and what lies beside that in the user's own."""
    found = decide(alertmanager(), [config("a"), config("b", "")], {}, WITH_FILE, CAPABILITIES)
    assert [(each.ref.name, each.accepted) for each in found.verdicts.values()] == [
        ("a", True),
        ("b", False),
    ]
    assert receivers(found.text) == ["own", "shop/a/team"]
    files = found.contents.config_files
    assert gzip.decompress(files.pop("alertmanager.yaml.gz")).decode() == found.text
    assert files == {"a.tmpl": "text"}
    assert found.version == "0.34.0"


def test_the_files_of_a_secret_are_no_ones_where_a_config_is_the_base() -> None:
    """The Secret is not even looked for then."""
    kept = KeptAlertmanager(
        alertmanager(alertmanagerConfiguration={"name": "a"}), CAPABILITIES, WITH_FILE
    )
    kept.put_all({ref_of(config("a")): config("a")}, WITH_FILE)
    assert list(kept.contents(WITH_FILE).config_files) == ["alertmanager.yaml.gz"]
    assert not kept.refers_to(OWN_SECRET)


def test_what_changes_in_the_users_secret_is_taken_over() -> None:
    """Also if it is nothing but a template."""
    kept = KeptAlertmanager(alertmanager(), CAPABILITIES, AssetsAtHand())
    assert kept.refers_to(OWN_SECRET)
    assert receivers(kept.text()) == ["null"]
    kept.touched([OWN_SECRET], WITH_FILE)
    assert receivers(kept.text()) == ["own"]
    other = AssetsAtHand({OWN_SECRET: {"alertmanager.yaml": FILE, "a.tmpl": "other"}})
    kept.touched([OWN_SECRET], other)
    assert kept.contents(other).config_files["a.tmpl"] == "other"
    kept.touched([OWN_SECRET], AssetsAtHand())
    assert list(kept.contents(other).config_files) == ["alertmanager.yaml.gz"]


def test_a_base_that_is_missing_stops_the_alertmanager_and_no_config() -> None:
    """It is named in the reason; the verdicts on all others are there."""
    found = decide(
        alertmanager(alertmanagerConfiguration={"name": "root"}),
        [config("a")],
        {},
        AssetsAtHand(),
        CAPABILITIES,
    )
    assert "there is no AlertmanagerConfig shop/root" in found.problem
    assert [each.accepted for each in found.verdicts.values()] == [True]
    assert found.contents is None


def test_zero_durations_are_ignored_fields_of_its_own() -> None:
    """With what the version does not know of the file."""
    kept = KeptAlertmanager(alertmanager(retention="0s"), CAPABILITIES, AssetsAtHand())
    assert [each.path for each in kept.ignored[OWN]] == ["spec.retention"]
    assert OWN not in KeptAlertmanager(alertmanager(), CAPABILITIES, AssetsAtHand()).ignored


def test_an_alertmanager_without_a_selector_misses_nothing() -> None:
    """One with a selector that matches nothing should say so."""
    silent = made(Alertmanager, "main", {})
    assert not KeptAlertmanager(silent, CAPABILITIES, AssetsAtHand()).is_empty
    kept = KeptAlertmanager(alertmanager(), CAPABILITIES, AssetsAtHand())
    assert kept.is_empty
    kept.put_all({ref_of(config("a")): config("a")}, AssetsAtHand())
    assert not kept.is_empty


NAMES = ("a", "b", "c")
SPECS: tuple[Object, ...] = (
    {},
    {"alertmanagerConfiguration": {"name": "a"}},
    {"alertmanagerConfiguration": {"name": "b"}},
    {"alertmanagerConfigMatcherStrategy": {"type": "None"}},
)
CHANGES = st.one_of(
    st.tuples(st.just("put"), st.sampled_from(NAMES), st.sampled_from(("team", "other", ""))),
    st.tuples(st.just("remove"), st.sampled_from(NAMES), st.none()),
    st.tuples(st.just("spec"), st.sampled_from(SPECS), st.none()),
    st.tuples(st.just("secret"), st.booleans(), st.none()),
)


@given(st.lists(CHANGES, max_size=12))
def test_piece_by_piece_is_as_at_once(history: list[tuple[str, Any, Any]]) -> None:
    """Whatever came in whatever order, the last state alone counts, its base included."""
    workload, values = alertmanager(), AssetsAtHand()
    present: dict[str, AlertmanagerConfig] = {}
    kept = KeptAlertmanager(workload, CAPABILITIES, values)
    for what, which, how in history:
        if what == "put":
            present[which] = config(which, how)
            kept.put_all({ref_of(present[which]): present[which]}, values)
        elif what == "remove":
            present.pop(which, None)
            kept.remove(ref_of(config(which)), values)
        elif what == "spec":
            workload = alertmanager(**which)
            kept.set_workload(workload, values)
        else:
            values = WITH_FILE if which else AssetsAtHand()
            kept.touched([OWN_SECRET], values)
    expected = decide(workload, present.values(), {}, values, CAPABILITIES)
    verdicts = [kept.verdicts[each.ref] for each in expected.verdicts.values()]
    assert [each.accepted for each in verdicts] == [
        each.accepted for each in expected.verdicts.values()
    ]
    if expected.problem:
        with pytest.raises(WorkloadError) as raised:
            kept.contents(values)
        assert str(raised.value) == expected.problem
        return
    assert kept.text() == expected.text
    files = kept.contents(values).config_files
    assert files.keys() == expected.contents.config_files.keys()


# --- ThanosRuler ----------------------------------------------------------------------------------


def test_a_ruler_is_decided_at_once() -> None:
    """Rules that Thanos takes, and a file that says where results go."""
    remote = [{"url": "http://receiver/api/v1/write"}]
    rules = [rule("good"), rule("bad", "sum(")]
    found = decide(ruler(remoteWrite=remote), rules, {}, AssetsAtHand(), CAPABILITIES)
    assert {each.ref.name: each.accepted for each in found.verdicts.values()} == {
        "good": True,
        "bad": False,
    }
    assert "http://receiver/api/v1/write" in found.text
    assert [list(held) for held in found.contents.rule_files] == [["shop-good-uid-of-good.yaml"]]
    assert decide(ruler(), rules, {}, AssetsAtHand(), CAPABILITIES).text == ""


def test_a_ruler_waits_for_the_secret_that_it_sends_results_with() -> None:
    """What is missing is asked for again when it comes; rules are judged meanwhile."""
    key = Ref(SECRET, "shop", "token")
    token = {"credentials": {"name": "token", "key": "token"}}
    remote = [{"url": "http://receiver/api/v1/write", "authorization": token}]
    kept = KeptRuler(ruler(remoteWrite=remote), CAPABILITIES, AssetsAtHand())
    kept.put_all({ref_of(rule("good")): rule("good")}, AssetsAtHand())
    with pytest.raises(WorkloadError, match=r"spec\.remoteWrite"):
        kept.contents(AssetsAtHand())
    assert kept.refers_to(key)
    values = AssetsAtHand({key: {"token": "first"}})
    kept.touched([Ref("ConfigMap", "shop", "token")], values)
    with pytest.raises(WorkloadError, match=r"spec\.remoteWrite"):
        kept.text()
    kept.touched([key], values)
    assert "first" in kept.contents(values).remote_write
    found = kept.verdict(ref_of(rule("good")))
    assert found is not None
    assert found[0].accepted
    assert kept.take_news() == {ref_of(rule("good"))}
    kept.set_workload(ruler(), AssetsAtHand())
    assert not kept.refers_to(key)
    kept.remove(ref_of(rule("good")), AssetsAtHand())
    assert kept.is_empty
    assert kept.verdict(ref_of(rule("good"))) is None


def test_a_ruler_whose_version_cannot_be_read_changes_nothing() -> None:
    """It is a WorkloadError at once, and what was known stays."""
    kept = KeptRuler(ruler(), CAPABILITIES, AssetsAtHand())
    with pytest.raises(WorkloadError, match=r"spec\.version"):
        kept.set_workload(ruler(version="newest"), AssetsAtHand())
    assert str(kept.version) == "0.42.4"
    with pytest.raises(WorkloadError, match=r"spec\.version"):
        KeptRuler(ruler(version="v1.0.0"), CAPABILITIES, AssetsAtHand())


# --- All kinds ------------------------------------------------------------------------------------

WORKLOADS: dict[str, Workload] = {
    "prometheus-main": made(Prometheus, "main", {"shards": 2, "ruleSelector": {}}),
    "prom-agent-main": made(PrometheusAgent, "main", {}),
    "alertmanager-main": alertmanager(),
    "thanos-ruler-main": ruler(),
}


@pytest.mark.parametrize("prefix", WORKLOADS)
def test_an_outline_tells_the_names_that_objects_have(prefix: str) -> None:
    """What runs, the Secret, the ConfigMaps with rules, and the labels of the pods."""
    workload = WORKLOADS[prefix]
    outline = outline_of(workload, CAPABILITIES, SETTINGS)
    found = decide(workload, [rule("good")], {}, AssetsAtHand(), CAPABILITIES)
    objects = objects_for(workload, CAPABILITIES, SETTINGS, found.contents)
    names = {(each["kind"], each["metadata"]["name"]): each for each in objects}
    sets = [each for each in objects if each["kind"] == "StatefulSet"]
    assert [part.name for part in outline.parts] == [each["metadata"]["name"] for each in sets]
    assert outline.parts[0].name == prefix
    assert sets[0]["spec"]["selector"]["matchLabels"] == outline.labels
    assert ("Secret", outline.configuration) in names
    maps = [name for kind, name in names if kind == "ConfigMap"]
    assert maps == ([f"{outline.rules}-rulefiles-0"] if outline.rules else [])
    pods = dict(pair.split("=") for pair in outline.pods.split(","))
    for each in sets:
        assert pods.items() <= each["spec"]["template"]["metadata"]["labels"].items()


def test_workloads_of_a_kind_share_a_service_with_the_ports_of_all() -> None:
    """TCP and UDP of one number are two ports; one that has a Service of its own is no owner."""
    old = made(Alertmanager, "old", {"portName": "http"}, creationTimestamp="2026-01-01T00:00:00Z")
    new = made(Alertmanager, "new", {}, creationTimestamp="2026-01-02T00:00:00Z")
    apart = made(Alertmanager, "apart", {"serviceName": "mine"})
    service = shared_service_of([new, apart, old], CAPABILITIES, SETTINGS)
    assert [each["name"] for each in service["metadata"]["ownerReferences"]] == ["old", "new"]
    assert [each["name"] for each in service["spec"]["ports"]] == ["http", "tcp-mesh", "udp-mesh"]
    assert service["metadata"]["namespace"] == "shop"


@pytest.mark.parametrize(
    ("label", "version"), [("__name__", "v0.40.0"), ("alertname", "v0.40.0"), ("a-b", "v0.36.0")]
)
def test_a_ruler_cannot_enforce_what_is_written_after_it(label: str, version: str) -> None:
    """Thanos would refuse all rules, or let each say for itself whose alerts it makes."""
    found = decide(
        ruler(enforcedNamespaceLabel=label, version=version), [], {}, AssetsAtHand(), CAPABILITIES
    )
    assert found.problem.startswith("spec.enforcedNamespaceLabel: ")
    held = ruler(enforcedNamespaceLabel="tenant", version=version)
    assert not decide(held, [], {}, AssetsAtHand(), CAPABILITIES).problem
