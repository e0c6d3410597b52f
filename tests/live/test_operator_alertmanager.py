"""Alertmanagers on a real control plane: their objects, their configuration, and who says what."""

import gzip
from base64 import b64decode
from collections.abc import Callable
from functools import partial

import yaml

from tests.builders import alertmanager, alertmanager_config, resource
from tests.live.alerting import Kind, keeps_what_it_has, lives, needs, pods, put_right
from tests.live.operating import Object, Running, World
from tests.live.test_operator import failed, found, reconciled, secret
from tests.live.test_operator_bindings import until_bound, verdict

KIND = Kind("alertmanager", alertmanager, "alertmanager", "alertmanager")
GENERATED = "alertmanager-main-generated"
CONFIGS = "alertmanagerconfigs"
MAIN = "alertmanagers/main"
OWN = "route:\n  receiver: own\nreceivers:\n- name: own\ntemplates: ['*.tmpl']\n"


def text(world: World, name: str = "main") -> str:
    """The configuration in an Alertmanager's Secret."""
    there = found(world, "secret", f"alertmanager-{name}-generated")
    return gzip.decompress(b64decode(there["data"]["alertmanager.yaml.gz"])).decode()


def routes(world: World) -> list[Object]:
    """The routes below the first."""
    tree: list[Object] = yaml.safe_load(text(world))["route"].get("routes") or []
    return tree


def receivers(world: World) -> list[str]:
    """The names of all receivers."""
    return [each["name"] for each in yaml.safe_load(text(world))["receivers"]]


def called(world: World, name: str) -> str:
    """The name of the receiver of an AlertmanagerConfig."""
    return f"{world.namespace}/{name}/team"


def matcher(**labels: str) -> Object:
    """A matcher of one label."""
    ((name, value),) = labels.items()
    return {"name": name, "value": value, "matchType": "="}


def test_an_alertmanager_lives(world: World, operator: Running) -> None:
    """From one pod to a cluster and back, by hand and by its subresource.

    (peer scenarios: AM Create Delete Cluster, AM Scaling Replicas, AM Scale Up Without Labels, AM
    Min Ready Seconds, AM Status Scale, AM Version Migration)
    """
    lives(world, operator, KIND, ("secret", "service"))
    world.cluster.kubectl("scale", "alertmanager", "main", "-n", world.namespace, "--replicas=2")
    status = pods(world, KIND, 2)
    assert "app.kubernetes.io/instance=main" in status["selector"]
    known = world.cluster.api.get(f"{world.path('alertmanager', 'main')}/scale")["status"]
    assert known == {"replicas": 2, "selector": status["selector"]}
    peers = [each for each in KIND.arguments(world) if each.startswith("--cluster.peer=")]
    assert len(peers) == 2

    for version in ("v0.28.1", "v0.34.0"):
        world.patch("alertmanager", "main", {"spec": {"version": version}})
        world.settled("alertmanager", "main")
        made = found(world, "statefulset", "alertmanager-main")["spec"]["template"]["spec"]
        assert made["containers"][0]["image"].endswith(f":{version}")


def test_what_others_do_to_its_objects_is_put_right(world: World, operator: Running) -> None:
    """(peer scenarios: AM Rollback Manual Changes, AM Preserve User Added Metadata)."""
    ours = {
        "statefulset": "alertmanager-main",
        "service": "alertmanager-operated",
        "secret": GENERATED,
    }
    put_right(world, KIND, ours)


def test_what_it_needs_must_be_there(world: World, operator: Running) -> None:
    """(peer scenarios: AM Service Name, AM Storage Update)."""
    needs(world, KIND)


def test_an_alertmanager_that_cannot_be_keeps_what_it_has(world: World, operator: Running) -> None:
    """(peer scenario: AM With Statefulset Creation Failure)."""
    wrong: dict[str, Object] = {
        "version": {"version": "latest-and-greatest"},
        "image": {"containers": [{"name": "no-image"}]},
        "maxPerSilenceBytes": {"limits": {"maxPerSilenceBytes": "100EB"}},
    }
    keeps_what_it_has(world, KIND, wrong)


def test_two_share_the_service_with_all_its_ports(world: World, operator: Running) -> None:
    """TCP and UDP of one number are two ports."""
    world.put(alertmanager("main"), alertmanager("other"))
    for name in ("main", "other"):
        world.settled("alertmanager", name)

    def owners() -> set[str]:
        metadata = found(world, "service", "alertmanager-operated")["metadata"]
        return {each["name"] for each in metadata["ownerReferences"]}

    world.until("both owners", lambda: owners() == {"main", "other"})
    there = found(world, "service", "alertmanager-operated")
    ports = {(each["port"], each["protocol"]) for each in there["spec"]["ports"]}
    assert ports == {(9093, "TCP"), (9094, "TCP"), (9094, "UDP")}


# --- Configuration --------------------------------------------------------------------------------


def test_a_file_of_the_users_own_is_handed_on(world: World, operator: Running) -> None:
    """Without a selector as it is, with all that lies beside it, whenever one of them changes.

    (peer scenarios: AM User Defined AM Config From Secret, AM Reload Config, AM Template Reload
    Config)
    """
    world.put(resource("Alertmanager", "main", {}))
    world.settled("alertmanager", "main")
    assert receivers(world) == ["null"]
    world.put(secret("alertmanager-main", **{"alertmanager.yaml": OWN, "a.tmpl": "first"}))
    world.until("the file", lambda: text(world) == OWN)

    def templates() -> dict[str, str]:
        data = found(world, "secret", GENERATED)["data"]
        return {name: b64decode(data[name]).decode() for name in data if ".tmpl" in name}

    assert templates() == {"a.tmpl": "first"}
    world.put(secret("alertmanager-main", **{"alertmanager.yaml": OWN, "b.tmpl": "second"}))
    world.until("the template", lambda: templates() == {"b.tmpl": "second"})
    other = OWN.replace("own", "other")
    world.put(secret("another", **{"alertmanager.yaml": other}))
    world.patch("alertmanager", "main", {"spec": {"configSecret": "another"}})
    world.until("the other file", lambda: text(world) == other and templates() == {})

    # One that pieces are to be added to must be read.
    world.put(secret("another", **{"alertmanager.yaml": "nonsense: true"}))
    world.until("the nonsense", lambda: "nonsense" in text(world))
    world.patch("alertmanager", "main", {"spec": {"alertmanagerConfigSelector": {}}})
    assert "nonsense" in failed(world, "alertmanager", "main")
    world.put(alertmanager_config("shop"), secret("another", **{"alertmanager.yaml": other}))
    world.until("both", lambda: receivers(world) == ["other", called(world, "shop")])
    world.delete("secret", "another")
    world.until("the default", lambda: receivers(world) == ["null", called(world, "shop")])


def test_a_bad_config_is_left_out_and_says_so_itself(world: World, operator: Running) -> None:
    """The others stay; it comes in when it, or the Secret that it waits for, is right.

    (peer scenarios: AM Alertmanager Config CRD, AM User Defined AM Config From Custom Resource)
    """
    url = {"name": "team", "webhookConfigs": [{"urlSecret": {"name": "late", "key": "url"}}]}
    world.put(
        alertmanager("main"),
        alertmanager_config("good", matcher(severity="page")),
        alertmanager_config("regex", {"name": "a", "value": "(", "matchType": "=~"}),
        alertmanager_config("receiver", route={"receiver": "none-such"}),
        alertmanager_config("waiting", receivers=[url]),
    )
    wanted = {
        "regex": ("spec.route.matchers[0]",),
        "receiver": ("spec.route", "none-such"),
        "waiting": ("spec.receivers[0].webhookConfigs[0].urlSecret", "late"),
    }
    for name, words in wanted.items():
        condition = verdict(world, CONFIGS, name, MAIN)
        assert (condition["status"], condition["reason"]) == ("False", "InvalidConfiguration")
        assert all(word in condition["message"] for word in words), condition["message"]
    assert verdict(world, CONFIGS, "good", MAIN)["status"] == "True"
    world.settled("alertmanager", "main")
    assert receivers(world) == ["null", called(world, "good")]
    counted = {"controller": "alertmanager", "resource": "AlertmanagerConfig"}
    name = "prometheus_operator_managed_resources"
    assert operator.metric(name, **counted, state="rejected") == len(wanted)

    world.put(
        alertmanager_config("regex", matcher(severity="page")),
        secret("late", url="http://example.org/first"),
    )
    every = ["null", *(called(world, each) for each in ("good", "regex", "waiting"))]
    world.until("both to come in", lambda: receivers(world) == every)
    assert "http://example.org/first" in text(world)
    world.put(secret("late", url="http://example.org/second"))
    world.until("another address", lambda: "http://example.org/second" in text(world))


def test_the_strategy_says_whose_alerts_are_seen(world: World, operator: Running) -> None:
    """By namespace, of all for those beside the Alertmanager, or of all.

    (peer scenario: Alertmanager Config Matcher Strategy)
    """
    world.put(alertmanager("main"), alertmanager_config("shop", matcher(severity="page")))
    own, page = f'namespace="{world.namespace}"', 'severity="page"'
    world.until("the route", lambda: set(routes(world)[0]["matchers"]) == {own, page})
    for strategy in ("OnNamespaceExceptForAlertmanagerNamespace", "None"):
        spec = {"alertmanagerConfigMatcherStrategy": {"type": strategy}}
        world.patch("alertmanager", "main", {"spec": spec})
        world.until("no namespace", lambda: routes(world)[0]["matchers"] == [page])
        spec = {"alertmanagerConfigMatcherStrategy": {"type": "OnNamespace"}}
        world.patch("alertmanager", "main", {"spec": spec})
        world.until("the namespace", lambda: set(routes(world)[0]["matchers"]) == {own, page})


def test_a_global_config_is_the_base_whatever_its_labels(world: World, operator: Running) -> None:
    """It wakes its Alertmanager when it comes, changes or goes, and says what became of it."""
    selector = {"matchLabels": {"team": "a"}}
    world.put(
        alertmanager(
            "main",
            alertmanagerConfigSelector=selector,
            alertmanagerConfiguration={"name": "root", "global": {"resolveTimeout": "7m"}},
        )
    )
    why = failed(world, "alertmanager", "main")
    assert f"there is no AlertmanagerConfig {world.namespace}/root" in why
    tenant = alertmanager_config("shop")
    tenant["metadata"]["labels"] = {"team": "a"}
    world.put(alertmanager_config("root"), tenant)
    world.settled("alertmanager", "main")
    both = [called(world, "root"), called(world, "shop")]
    world.until("both", lambda: receivers(world) == both)
    assert yaml.safe_load(text(world))["global"]["resolve_timeout"] == "7m"
    assert verdict(world, CONFIGS, "root", MAIN)["status"] == "True"

    world.put(alertmanager_config("root", route={"receiver": "team", "groupWait": "11s"}))
    world.until("the change", lambda: "group_wait: 11s" in text(world))
    before = text(world)
    world.delete("alertmanagerconfig", "root")
    world.until("it to be missed", lambda: "there is no" in failed(world, "alertmanager", "main"))
    assert text(world) == before

    # Another one becomes the base, which was a piece before.
    world.patch("alertmanager", "main", {"spec": {"alertmanagerConfiguration": {"name": "shop"}}})
    world.until("the other base", lambda: receivers(world) == [called(world, "shop")])
    world.patch("alertmanager", "main", {"spec": {"alertmanagerConfiguration": None}})
    world.until("a piece again", lambda: receivers(world) == ["null", called(world, "shop")])


def test_durations_of_zero_are_left_out_and_told(world: World, operator: Running) -> None:
    """(peer scenario: AM Zero Duration)."""
    world.put(alertmanager("main", retention="0s", clusterGossipInterval="0s", replicas=2))
    world.settled("alertmanager", "main")
    world.put(alertmanager_config("shop"))
    told = partial(reconciled, world, "alertmanager", "main")
    world.until("a remark", lambda: told()["reason"] == "IgnoredFields")
    for field in ("spec.retention", "spec.clusterGossipInterval"):
        assert field in told()["message"]
    arguments = KIND.arguments(world)
    assert "--data.retention=120h" in arguments
    assert not [each for each in arguments if "gossip-interval" in each]


def test_flags_say_where_configs_are_looked_for(
    world: World, new_namespace: Callable[[], str]
) -> None:
    """Those beside the Alertmanager need not be among them, but for the one that it names."""
    tenant = World(world.cluster, new_namespace())
    flags = (
        f"--alertmanager-instance-namespaces={world.namespace}",
        f"--alertmanager-config-namespaces={tenant.namespace}",
        f"--namespaces={world.namespace}",
    )
    every: Object = {"alertmanagerConfigNamespaceSelector": {}}
    root, more = alertmanager_config("root"), alertmanager_config("more")
    with Running.start(world.cluster, *flags):
        world.put(root, more)
        world.put(alertmanager("main", alertmanagerConfiguration={"name": "root"}, **every))
        tenant.put(more)
        both = [called(world, "root"), called(tenant, "more")]
        world.until("the tenant's", lambda: receivers(world) == both)
        until_bound(tenant, CONFIGS, MAIN, name="more")
        assert world.bindings(CONFIGS, "more") == {}


# --- Bindings -------------------------------------------------------------------------------------


def test_configs_tell_what_each_alertmanager_made_of_them(
    world: World, new_namespace: Callable[[], str]
) -> None:
    """By labels of their own and of their namespace; what left is gone, also if nobody watched."""
    beside = World(world.cluster, new_namespace())
    flag = f"--namespaces={world.namespace},{beside.namespace}"
    labelled = {"matchLabels": {"team": "a"}}
    wide = alertmanager("wide", alertmanagerConfigNamespaceSelector=labelled)
    shop = alertmanager_config("shop")
    path = f"/api/v1/namespaces/{beside.namespace}"
    with Running.start(world.cluster, flag):
        world.put(alertmanager("main"), wide, shop)
        beside.put(shop)
        until_bound(world, CONFIGS, MAIN)
        until_bound(beside, CONFIGS)
        label(world, path, team="a")
        until_bound(beside, CONFIGS, "alertmanagers/wide")
        label(world, path, team=None)
        until_bound(beside, CONFIGS)

        some = {"alertmanagerConfigSelector": labelled}
        world.patch("alertmanager", "main", {"spec": some})
        until_bound(world, CONFIGS)
        world.patch("alertmanagerconfig", "shop", {"metadata": {"labels": {"team": "a"}}})
        until_bound(world, CONFIGS, MAIN)
        label(world, path, team="a")
        until_bound(beside, CONFIGS, "alertmanagers/wide")
        world.delete("alertmanager", "main")
        until_bound(world, CONFIGS)
    world.delete("alertmanager", "wide")
    with Running.start(world.cluster, flag):
        until_bound(beside, CONFIGS)


def label(world: World, path: str, **labels: str | None) -> None:
    """Set or, with None, take off labels of what is at a path."""
    patch = {"metadata": {"labels": labels}}
    world.cluster.api.request("PATCH", path, patch, content_type="application/merge-patch+json")
