"""`stoker diff`: what manifests would change, between two folders and on top of a cluster."""

import difflib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from stoker.__main__ import main
from stoker.api.core import ObjectMeta, OwnerReference
from stoker.api.decode import convert
from stoker.api.prometheus import Prometheus
from stoker.api.scrapeconfig.v1alpha1 import ScrapeConfig, ScrapeConfigSpec
from stoker.build.drift import as_far_as_wanted
from stoker.compare.consolidated import StandInChanges
from stoker.compare.lines import file_diff
from stoker.compare.overlay import Manifests, overlaid
from stoker.compare.plan import Planned
from stoker.offline.manifests import read
from stoker.offline.surroundings import view_of
from stoker.offline.world import World, world_of
from stoker.plan import Plan
from stoker.ref import ref_of
from stoker.select.assets import Source
from stoker.select.consolidated import CONSOLIDATED_BY, CONSOLIDATED_FROM
from stoker.settings import OperatorSettings
from tests import builders
from tests.builders import thing
from tests.unit import page_world
from tests.unit.test_validate import CERTIFICATE

Object = dict[str, Any]
Output = pytest.CaptureFixture[str]
Diff = Callable[..., list[str]]
CANARY = "hunter2-canary"
TWICE = f"{CERTIFICATE}\n{CERTIFICATE}"
API = "monitoring.coreos.com"


def prometheus(**spec: Any) -> Object:
    """A Prometheus that takes everything beside it."""
    every: Object = {"serviceMonitorSelector": {}, "ruleSelector": {}, "version": "v3.5.0"}
    return thing("Prometheus", "main", spec=every | spec)


def monitor(name: str, labels: Object | None = None, **endpoint: Any) -> Object:
    """A ServiceMonitor of one endpoint."""
    spec = {"selector": {}, "endpoints": [{"port": "web"} | endpoint]}
    return thing("ServiceMonitor", name, spec=spec, labels=labels or {})


def secret(name: str, **data: str) -> Object:
    """A Secret."""
    return builders.secret(name, data, namespace="shop")


LOGIN = {"username": {"name": "login", "key": "user"}, "password": {"name": "login", "key": "word"}}


@pytest.fixture
def diff(tmp_path: Path, capsys: Output) -> Diff:
    """Compare objects with others: the exit status and the lines."""

    def compared(old: list[Object], new: list[Object], *words: str) -> list[str]:
        for name, objects in (("old", old), ("new", new)):
            (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump_all(objects))
        files = (str(tmp_path / "old.yaml"), str(tmp_path / "new.yaml"))
        status = main(["diff", "--from", files[0], files[1], *words])
        said = capsys.readouterr()
        assert CANARY not in said.out + said.err
        return [str(status), *said.out.splitlines(), *said.err.splitlines()]

    return compared


def test_the_same_is_no_difference(diff: Diff) -> None:
    """The status is 0, as of `kubectl diff`."""
    both = [prometheus(), monitor("cart")]
    assert diff(both, both) == ["0", "nothing would change"]


def test_a_changed_monitor_shows_its_job_and_no_other(diff: Diff) -> None:
    """Pods stay, for the configuration is read again."""
    old = [prometheus(), monitor("cart"), monitor("till", interval="20s")]
    status, first, *lines = diff(old, [*old[:2], monitor("till", interval="10s")])
    assert status == "1"
    assert first.startswith("Prometheus shop/main: configuration changes; ")
    assert "; pods stay" in first
    assert "--- Prometheus shop/main configuration (now)" in lines
    assert [line for line in lines if line.startswith(("-  ", "+  "))] == [
        "-  scrape_interval: 20s",
        "+  scrape_interval: 10s",
    ]
    assert not any("cart" in line for line in lines)
    assert any(line.endswith("@@ - job_name: serviceMonitor/shop/till/0") for line in lines)
    assert lines[-1] == "1 workload changes; no pods roll"


@pytest.mark.parametrize(
    "spec",
    [
        {"version": "newest"},
        {"version": "v2.45.0", "otlp": {"promoteResourceAttributes": ["a"]}},
        {"additionalArgs": [{"name": "storage.tsdb.path", "value": "a"}]},
    ],
)
def test_a_workload_that_cannot_be_built_selects_what_it_selected(diff: Diff, spec: Object) -> None:
    """It is held up, at whatever step, and nothing of it comes into use or goes out of it."""
    bad = monitor("bad", relabelings=[{"regex": "(", "targetLabel": "a"}])
    words = ("selected:", "accepted:")
    good, broken = [prometheus(), monitor("cart")], [prometheus(**spec), monitor("cart")]
    for old, new in ((good, broken), (broken, good), ([good[0], bad], [broken[0], monitor("bad")])):
        _, first, *_ = diff(old, new)
        assert "nothing is written: spec." in first or "nothing was written: spec." in first
        assert not [word for word in words if word in first], first


def test_another_version_rolls_pods(diff: Diff) -> None:
    """The pod template is shown where it differs."""
    status, first, *lines = diff([prometheus()], [prometheus(version="v3.6.0")])
    assert (status, "; pods roll" in first) == ("1", True)
    assert "  changed  StatefulSet shop/prometheus-main" in lines
    assert any(line.startswith("+") and line.endswith("prometheus:v3.6.0") for line in lines)


def test_pods_that_wait_to_be_deleted_do_not_roll(diff: Diff) -> None:
    """With OnDelete nothing is made anew, and what has to be done is said."""
    waits = {"updateStrategy": {"type": "OnDelete"}}
    _, first, *lines = diff([prometheus(**waits)], [prometheus(version="v3.6.0", **waits)])
    told = "; pods stay; spec.updateStrategy is OnDelete: pods change when you delete them"
    assert first.endswith(told)
    assert lines[-1] == "1 workload changes; no pods roll"


def test_without_replicas_no_pods_roll(diff: Diff) -> None:
    """There are none; they end and start with their number."""
    asleep, awake = prometheus(replicas=0), prometheus(version="v3.6.0", replicas=2)
    _, first, *lines = diff([asleep], [prometheus(version="v3.6.0", replicas=0)])
    assert first.endswith(": 1 object written; pods stay")
    assert lines[-1] == "1 workload changes; no pods roll"
    assert diff([asleep], [awake])[1].endswith("; pods start")
    assert diff([awake], [asleep])[1].endswith("; pods end")


def test_more_replicas_let_pods_stay(diff: Diff) -> None:
    """Another number is written, but no pod is made anew."""
    _, first, *lines = diff([prometheus(replicas=1)], [prometheus(replicas=2)])
    assert "; pods stay" in first
    assert "+  replicas: 2" in lines


def test_workloads_that_come_and_go_are_named(diff: Diff) -> None:
    """Their objects are listed, their content is `stoker render`'s to show."""
    _, first, *lines = diff([], [prometheus()])
    assert first.startswith("Prometheus shop/main: new; ")
    assert first.endswith("; pods start")
    assert "  new  StatefulSet shop/prometheus-main" in lines
    _, first, *_ = diff([prometheus()], [monitor("cart")])
    assert first.startswith("Prometheus shop/main: gone; ")
    assert first.endswith("; pods end")


def test_a_shard_less_ends_pods(diff: Diff) -> None:
    """Its StatefulSet is removed."""
    _, *lines = diff([prometheus(shards=2)], [prometheus(shards=1)])
    assert "  removed  StatefulSet shop/prometheus-main-shard-1" in lines


def test_what_is_selected_deselected_rejected_and_accepted_is_told(diff: Diff) -> None:
    """Each with its name, the rejected with the reason."""
    some = prometheus(serviceMonitorSelector={"matchLabels": {"team": "a"}})
    team = {"team": "a"}
    broken = {"interval": "1s", "scrapeTimeout": "2s"}
    old = [some, monitor("a", team), monitor("b"), monitor("c", team), monitor("d", team, **broken)]
    new = [some, monitor("a"), monitor("b", team), monitor("c", team, **broken), monitor("d", team)]
    _, first, *_ = diff(old, new)
    assert "; selected: ServiceMonitor shop/b;" in first
    assert "; deselected: ServiceMonitor shop/a;" in first
    assert "; rejected: ServiceMonitor shop/c: spec.endpoints[0].scrapeTimeout" in first
    assert first.endswith("; accepted: ServiceMonitor shop/d")


def test_what_is_not_among_the_manifests_is_unknown(diff: Diff) -> None:
    """Before and after; it is not called rejected, and nothing is called accepted later."""
    private = monitor("a", basicAuth=LOGIN)
    _, first, *_ = diff([prometheus()], [prometheus(), private])
    assert "; unknown: ServiceMonitor shop/a: spec.endpoints[0].basicAuth.username: Secret" in first
    assert "rejected" not in first
    _, first, *_ = diff([prometheus(), private], [prometheus(), monitor("a")])
    assert "accepted" not in first


def test_of_a_workload_that_cannot_be_judged_nothing_is_claimed(diff: Diff) -> None:
    """Neither that its pods stay nor that nothing is written: its own Secret may be elsewhere."""
    own = {"additionalScrapeConfigs": {"name": "elsewhere", "key": "jobs.yaml"}}
    _, first, *_, last = diff([prometheus()], [prometheus(**own)])
    assert ": whether pods roll is not known; what is written is not known: " in first
    assert "pods stay" not in first
    assert last.endswith("no pods roll, as far as is known")


def test_rule_files_are_compared_as_texts(diff: Diff) -> None:
    """Line by line, not as one string."""

    def rule(expression: str) -> Object:
        group = {"name": "g", "rules": [{"record": "a:b", "expr": expression}]}
        return thing("PrometheusRule", "sums", spec={"groups": [group]})

    _, first, *lines = diff([prometheus(), rule("vector(1)")], [prometheus(), rule("vector(2)")])
    assert "; pods stay" in first
    assert "-  - expr: vector(1)" in lines
    assert "+  - expr: vector(2)" in lines


def test_a_monitor_that_is_kept_as_a_scrape_config_is_compared_as_one(diff: Diff) -> None:
    """With the flag of the operator that makes it so."""
    old = [prometheus(), monitor("cart", interval="20s")]
    new = [prometheus(), monitor("cart", interval="10s")]
    flag = "--flag=consolidate-monitors=true"
    _, *lines = diff(old, new, flag)
    assert any("@@ - job_name: scrapeConfig/shop/" in line for line in lines)
    assert "+  scrape_interval: 10s" in lines


# --- Secrets --------------------------------------------------------------------------------------


def test_a_secret_is_named_on_both_sides(diff: Diff) -> None:
    """Neither the old value nor the new one is shown, only that it is another."""
    base = [prometheus(), monitor("cart", basicAuth=LOGIN)]
    old, new = secret("login", user="ann", word=CANARY), secret("login", user="ann", word="else")
    status, *lines = diff([*base, old], [*base, new])
    assert status == "1"
    assert "-    password: <Secret shop/login, key word>" in lines
    assert "+    password: <Secret shop/login, key word, another value>" in lines
    assert "     username: <Secret shop/login, key user>" in lines


def test_additional_configuration_is_named_as_a_whole(diff: Diff) -> None:
    """It lies in a Secret, whatever is in it."""
    extra = {"name": "extra", "key": "jobs"}
    job = f"- job_name: {CANARY}\n"
    old = [prometheus(additionalScrapeConfigs=extra), secret("extra", jobs=job)]
    new = [*old[:1], secret("extra", jobs=job + "  scheme: https\n")]
    _, *lines = diff(old, new)
    path = "(spec.additionalScrapeConfigs)"
    assert f"-# not shown: it is in Secret shop/extra, key jobs {path}" in lines
    assert f"+# not shown: it is in Secret shop/extra, key jobs, another value {path}" in lines


def test_the_additional_file_that_may_be_missing_is_not_named_where_it_is(diff: Diff) -> None:
    """Where there is nothing, nothing is hidden."""
    extra = {"name": "extra", "key": "jobs", "optional": True}
    missing = [prometheus(additionalScrapeConfigs=extra)]
    _, *lines = diff(missing, [*missing, secret("extra", jobs=f"- job_name: {CANARY}\n")])
    assert "-scrape_configs: []" in lines
    assert any(line.startswith("+# not shown: it is in Secret shop/extra") for line in lines)
    assert not any(line.startswith("-#") for line in lines)


def test_files_of_secrets_are_not_shown(diff: Diff) -> None:
    """Of what is mounted from a Secret only that it changes."""
    tls = {"ca": {"secret": {"name": "ca", "key": "ca.crt"}}}
    base = [prometheus(), monitor("cart", scheme="https", tlsConfig=tls)]
    old, new = secret("ca", **{"ca.crt": CERTIFICATE}), secret("ca", **{"ca.crt": TWICE})
    _, first, *lines = diff([*base, old], [*base, new])
    assert first == "Prometheus shop/main: 1 object written; pods stay"
    assert "-  0_shop_ca_ca.crt: <not shown>" in lines
    assert "+  0_shop_ca_ca.crt: <not shown, another value>" in lines


def test_what_alertmanager_reads_is_compared(diff: Diff) -> None:
    """By AlertmanagerConfig; URLs from Secrets are named too."""
    workload = thing("Alertmanager", "main", spec={"alertmanagerConfigSelector": {}})

    def config(channel: str) -> Object:
        slack = {"apiURL": {"name": "slack", "key": "url"}, "channel": channel}
        spec = {
            "route": {"receiver": "team"},
            "receivers": [{"name": "team", "slackConfigs": [slack]}],
        }
        return thing("AlertmanagerConfig", "team", spec=spec)

    url = secret("slack", url=f"https://hooks.example/{CANARY}")
    _, first, *lines = diff([workload, config("#a"), url], [workload, config("#b"), url])
    assert first.startswith("Alertmanager shop/main: configuration changes; ")
    assert "+    channel: '#b'" in lines
    changed = secret("slack", url="https://hooks.example/else")
    _, *lines = diff([workload, config("#a"), url], [workload, config("#a"), changed])
    assert "-  - api_url: <Secret shop/slack, key url>" in lines
    assert "+  - api_url: <Secret shop/slack, key url, another value>" in lines
    assert any(line.endswith("@@ - name: shop/team/team") for line in lines)
    _, *lines = diff([workload, url], [workload, config("#a"), url])
    assert "+# alertmanagerConfig/shop/team" in lines


def test_nothing_from_a_secret_is_in_a_diff(tmp_path: Path, capsys: Output) -> None:
    """One word is in every place where a Secret may be referred to, and then it is another."""
    words = (page_world.WORD, "canary-8e4b")
    for name, word in zip(("old", "new"), words, strict=True):
        (tmp_path / name).mkdir()
        page_world.write(tmp_path / name)
        # Where a file is no YAML, the line is told by the parser, before there are any Secrets.
        (tmp_path / name / "broken.yaml").unlink()
        for file in (tmp_path / name).iterdir():
            file.write_text(file.read_text().replace(page_world.WORD, word))
    main(["diff", "--from", str(tmp_path / "old"), str(tmp_path / "new")])
    said = capsys.readouterr()
    assert not any(word in (said.out + said.err).lower() for word in words)
    assert "<Secret shop/all, key token, another value>" in said.out
    assert "it is in Secret shop/own, key jobs, another value" in said.out
    assert "api_url: <Secret shop/all, key url, another value>" in said.out
    assert "cannot be shown without" not in said.out


# --- Bad input and other forms --------------------------------------------------------------------


def test_a_manifest_that_would_be_refused_is_an_error(diff: Diff) -> None:
    """The rest is compared all the same; the status is 2."""
    status, *lines = diff([prometheus()], [prometheus(), monitor("cart", interval="30x")])
    assert status == "2"
    assert any("spec.endpoints[0].interval" in line for line in lines)


def test_a_folder_without_manifests_is_an_error(tmp_path: Path, capsys: Output) -> None:
    """Nothing to compare is hardly meant."""
    assert main(["diff", "--from", str(tmp_path), str(tmp_path)]) == 2
    assert "no manifest" in capsys.readouterr().err


def test_no_cluster_is_a_sentence(
    tmp_path: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says what to do."""
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    missing = str(tmp_path / "none")
    assert main(["diff", str(tmp_path), "--kubeconfig", missing]) == 2
    assert "--from" in capsys.readouterr().err


def test_a_workload_that_cannot_be_built_says_so(diff: Diff) -> None:
    """Nothing would be written for it."""
    _, first, *_ = diff([prometheus()], [prometheus(version="three")])
    assert "; nothing is written: spec.version: " in first


def test_a_paused_workload_stays_as_it_is(diff: Diff) -> None:
    """What it selects changes, its objects do not."""
    old = [prometheus(paused=True)]
    _, first, *lines = diff(old, [*old, monitor("cart")])
    assert "paused: nothing is written" in first
    assert not any(line.startswith("  changed") for line in lines)


def test_json_has_a_summary_for_scripts(diff: Diff) -> None:
    """Workload, pods, objects with paths, and the diffs."""
    status, *lines = diff([prometheus()], [prometheus(version="v3.6.0")], "-o", "json")
    (change,) = json.loads("\n".join(lines))["changes"]
    assert (status, change["workload"], change["pods"]) == ("1", "Prometheus shop/main", "roll")
    sets = [each for each in change["objects"] if each["kind"] == "StatefulSet"]
    assert sets[0]["rolls"]
    assert "spec.template.spec.containers[0].image" in sets[0]["paths"]


# --- The parts ------------------------------------------------------------------------------------


def test_a_diff_of_long_texts_counts_lines_from_the_beginning() -> None:
    """What is the same at both ends is passed over, and counted."""
    old = "".join(f"line {number}\n" for number in range(1000))
    made = file_diff("file", old, old.replace("line 500\n", "other\n"))
    assert made is not None
    assert made.lines[0] == "@@ -498,7 +498,7 @@ line 499"
    assert "-line 500" in made.lines
    assert "+other" in made.lines


def test_of_a_live_object_the_part_that_is_wanted_is_seen() -> None:
    """Defaults, and what others added, are no difference; quantities are read."""
    wanted: Object = {
        "spec": {"containers": [{"name": "a", "image": "x", "limits": {"cpu": "1000m"}}], "t": []}
    }
    live = {
        "spec": {
            "containers": [{"name": "a", "image": "y", "limits": {"cpu": "1"}, "tty": False}],
            "dnsPolicy": "ClusterFirst",
        },
        "status": {},
    }
    container = {"name": "a", "image": "y", "limits": {"cpu": "1000m"}}
    assert as_far_as_wanted(wanted, live) == {"spec": {"containers": [container], "t": []}}


def choosy(**spec: Any) -> Object:
    """A Prometheus that takes ServiceMonitors of team a."""
    return prometheus(serviceMonitorSelector={"matchLabels": {"team": "a"}}, **spec)


TEAM = {"team": "a"}
KEEP = "--consolidate-monitors"


def test_scrape_configs_of_monitors_are_compared_if_the_operator_keeps_them(diff: Diff) -> None:
    """New, changed and removed, apart from workloads; without the flag there are none."""
    old = [prometheus(), monitor("cart", interval="20s"), monitor("till")]
    new = [prometheus(), monitor("cart", interval="10s"), monitor("desk")]
    status, *lines = diff(old, new, KEEP)
    assert status == "1"
    assert "ScrapeConfigs of monitors: 2 objects written; 1 object removed" in lines
    assert "  changed  ScrapeConfig shop/servicemonitor-cart-0" in lines
    assert "  new  ScrapeConfig shop/servicemonitor-desk-0" in lines
    assert "  removed  ScrapeConfig shop/servicemonitor-till-0" in lines
    assert "--- ScrapeConfig shop/servicemonitor-cart-0 (now)" in lines
    assert "+  scrapeInterval: 10s" in lines
    assert not any("ScrapeConfig" in line for line in diff(old, new))
    assert diff(old, old, KEEP) == ["0", "nothing would change"]


def test_a_label_of_a_monitor_changes_its_scrape_config_and_no_workload(diff: Diff) -> None:
    """That is a change, too; the summary says the same."""
    old, new = ([prometheus(), monitor("cart", {"tier": tier})] for tier in "12")
    status, *lines = diff(old, new, KEEP)
    assert (status, lines[-1]) == ("1", "no workload changes; no pods roll")
    assert '+    tier: "2"' in lines
    status, *lines = diff(old, new, KEEP, "-o", "json")
    said = json.loads("\n".join(lines))
    assert (status, said["changes"]) == ("1", [])
    (made,) = said["consolidated"]["objects"]
    assert (made["name"], made["action"]) == ("servicemonitor-cart-0", "changed")
    assert made["paths"] == ["metadata.labels.tier"]
    assert said["consolidated"]["diffs"]


def test_a_scrape_config_that_another_workload_wants_stays(diff: Diff) -> None:
    """It goes when nobody takes its monitor, and not while a workload is paused."""
    other = prometheus() | {"metadata": {"name": "other", "namespace": "shop"}}
    cart, unlabelled = monitor("cart", TEAM), monitor("cart")
    removed = "  removed  ScrapeConfig shop/servicemonitor-cart-0"
    nobody = prometheus(serviceMonitorSelector=None)
    assert removed not in diff([prometheus(), other, cart], [nobody, other, cart], KEEP)
    assert removed in diff([prometheus(), cart], [nobody, cart], KEEP)
    paused = choosy(paused=True)
    assert removed in diff([choosy(), cart], [choosy(), unlabelled], KEEP)
    assert removed not in diff([paused, cart], [paused, unlabelled], KEEP)


def stand_in(name: str, uid: str = "1", writer: str = "stoker", **spec: Any) -> ScrapeConfig:
    """A ScrapeConfig of the ServiceMonitor cart with this UID; it is nobody's without one."""
    owner = OwnerReference(
        api_version=f"{API}/v1", kind="ServiceMonitor", name="cart", uid=uid, controller=True
    )
    metadata = ObjectMeta(
        name=name,
        namespace="shop",
        labels={CONSOLIDATED_FROM: "ServiceMonitor"},
        owner_references=(owner,) if uid else None,
        annotations={CONSOLIDATED_BY: writer} if writer else None,
    )
    return ScrapeConfig(metadata=metadata, spec=ScrapeConfigSpec(**spec))


def in_cluster(there: list[ScrapeConfig], *wanted: ScrapeConfig) -> tuple[dict[str, str], str]:
    """What becomes of those that are in a cluster, and what is told."""
    workload = convert(Prometheus, prometheus())
    gathered = StandInChanges()
    gathered.gather(None, Planned(plan=Plan(workload=workload), stand_ins=wanted))
    changes = gathered.changes_in_cluster(there, "stoker")
    return {each.name: each.action for each in changes}, " ".join(gathered.foreign(there))


def test_scrape_configs_in_a_cluster_are_those_of_the_operator_or_left_alone() -> None:
    """What another operator wrote may be wanted there; what a user wrote is not touched."""
    one, two = stand_in("one"), stand_in("two")
    assert in_cluster([one], one) == ({}, "")
    assert in_cluster([one], one, two) == ({"two": "new"}, "")
    assert in_cluster([one, two], one) == ({"two": "gone"}, "")
    assert in_cluster([stand_in("one", job_name="x")], one) == ({"one": "changed"}, "")
    assert in_cluster([one, stand_in("two", writer="other")], one) == ({}, "")
    users = stand_in("one", uid="", writer="")
    assert in_cluster([users]) == ({}, "")
    told = "ScrapeConfig shop/one is not the operator's: its monitor keeps its own jobs"
    assert in_cluster([users], one) == ({}, told)
    # The monitor was deleted and made anew; the API server is about to delete this one.
    assert in_cluster([stand_in("one", uid="0", job_name="x")], one) == ({"one": "changed"}, "")


def worlds(tmp_path: Path, *objects: Object) -> World:
    """Objects as a world."""
    (tmp_path / "all.yaml").write_text(yaml.safe_dump_all(objects))
    return world_of(read([str(tmp_path)]))


def test_a_manifest_takes_the_place_of_an_object(tmp_path: Path) -> None:
    """With its identity in the cluster, and with labels that others gave it."""
    there = view_of(
        worlds(tmp_path, monitor("cart", {"old": "1", "argo": "2"}), secret("login", word="a")),
        OperatorSettings(),
    )
    world = worlds(tmp_path, monitor("cart", {"new": "3"}), secret("login", word="b"))
    manifests = Manifests(resources=tuple(world.resources), contents=world.assets)
    key = ref_of(world.resources[0])
    merged = overlaid(there, manifests, {key: ObjectMeta(labels={"argo": "2"})})
    (found,) = merged.resources
    assert found.metadata.labels == {"argo": "2", "new": "3"}
    assert merged.assets.value(Source("Secret", "shop", "login", "word")) == "b"
    assert there.assets.value(Source("Secret", "shop", "login", "word")) == "a"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("", "a\nb\n"),
        ("a\nb\n", ""),
        ("a\nb\nc\n", "a\nx\nc\n"),
        ("a\n" * 9 + "b\n" + "c\n" * 9, "a\n" * 9 + "c\n" * 9),
        ("".join(f"{n}\n" for n in range(40)), "".join(f"{n * (n % 17)}\n" for n in range(41))),
    ],
)
def test_a_diff_is_that_of_the_standard_library(old: str, new: str) -> None:
    """But for the section behind the place of a hunk."""
    made = file_diff("file", old, new)
    assert made is not None
    plain = [re.sub(r"^(@@ .* @@).*", r"\1", line) for line in made.lines]
    wanted = difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="")
    assert plain == list(wanted)[2:]
