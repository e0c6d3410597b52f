"""What users do in a world, one action after the other, over all ten kinds.

An action has a name and says what is done, to the API server directly; what must come of it is told
by a run without faults. Some are about the operator itself, which is started with other flags.
`settling` is for how many seconds nothing may seem to happen before an action is over: a change of
an agent's mode waits that long for new pods.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tests.builders import (
    agent,
    alert,
    alertmanager,
    alertmanager_config,
    config_map,
    pod_monitor,
    prometheus,
    resource,
    secret,
    service_monitor,
    thanos_ruler,
)
from tests.faults.authority import CERTIFICATE
from tests.faults.world import PREFIX, World

Object = dict[str, Any]
Do = Callable[[World], None]

SETTLING_SECONDS = 14.0
_MAIN = "main"
_KUBELET = (f"--kubelet-service={PREFIX}-home/kubelet", "--kubelet-endpointslice")
_OTHER = "other"
_CONTROLLER = "operator.prometheus.io/controller-id"


class Action(NamedTuple):
    """Something that users do.

    `settling`: for how long all may be still before it is over. `passing`: some of it is taken back
    at once, and whether an operator follows that is for chance to say.
    """

    name: str
    do: Do
    settling: float = 0.0
    passing: bool = False


# --- Ways to do something -------------------------------------------------------------------------


def put(place: str, *objects: Object) -> Do:
    """Create or apply objects."""
    return lambda world: world.at(place).put(*world.own(list(objects)))


def patch(place: str, kind: str, name: str, change: Object) -> Do:
    """Change members of an object."""
    return lambda world: world.at(place).patch(kind, name, world.own(change))


def spec(place: str, kind: str, name: str, **members: Any) -> Do:
    """Change members of an object's spec."""
    return patch(place, kind, name, {"spec": members})


def delete(place: str, kind: str, name: str) -> Do:
    """Delete an object."""
    return lambda world: world.at(place).delete(kind, name)


def label(place: str, **labels: str | None) -> Do:
    """Change the labels of a namespace."""
    return lambda world: world.label(place, labels)


def operate(name: str, *flags: str) -> Do:
    """Start an operator of this name with other flags."""
    return lambda world: world.operate(name, *flags)


def retire(name: str) -> Do:
    """End an operator."""
    return lambda world: world.retire(name)


def all_of(*steps: Do) -> Do:
    """Do one thing right after the other."""

    def do(world: World) -> None:
        for step in steps:
            step(world)

    return do


# --- Objects --------------------------------------------------------------------------------------


def key(name: str, member: str) -> Object:
    """A reference to a key of a Secret or ConfigMap."""
    return {"name": name, "key": member}


def rule(name: str, expression: str, **metadata: Any) -> Object:
    """A PrometheusRule with one alert."""
    return resource("PrometheusRule", name, alert(name, expression), **metadata)


def probe(name: str, **more: Any) -> Object:
    """A Probe of one address."""
    targets = {"staticConfig": {"static": ["shop.example.org"]}}
    return resource("Probe", name, {"prober": {"url": "prober:9115"}, "targets": targets} | more)


def scrape_config(name: str, *targets: str, **more: Any) -> Object:
    """A ScrapeConfig of fixed targets."""
    return resource("ScrapeConfig", name, {"staticConfigs": [{"targets": list(targets)}]} | more)


def storage(size: str) -> Object:
    """Storage of the world's own class."""
    wanted = {"storageClassName": PREFIX, "resources": {"requests": {"storage": size}}}
    return {"volumeClaimTemplate": {"spec": wanted}}


def pod_agent(name: str, mode: str) -> Object:
    """An agent of PodMonitors, which runs in either mode."""
    return resource("PrometheusAgent", name, {"podMonitorSelector": {}, "mode": mode})


def _main_prometheus() -> Object:
    not_ignored = {"matchExpressions": [{"key": "ignored", "operator": "DoesNotExist"}]}
    return prometheus(
        _MAIN,
        serviceMonitorSelector=not_ignored,
        serviceMonitorNamespaceSelector={"matchLabels": {"watched": "yes"}},
        alerting={"alertmanagers": [{"name": "alertmanager-operated", "port": "web"}]},
        storage=storage("1Gi"),
        thanos={"image": "quay.io/thanos/thanos:v0.37.0"},
        version="v2.55.0",
        retention="10d",
    )


def _slack(name: str) -> Object:
    slack = {"apiURL": key("slack", "url"), "channel": "#shop"}
    receivers = [{"name": "team", "slackConfigs": [slack]}]
    return alertmanager_config(name, receivers=receivers)


_OWN_CONFIGURATION = secret("prometheus-own", {"prometheus.yaml": "global: {}\n"})
_ALERTS = "route:\n  receiver: own\nreceivers:\n- name: own\n"
_QUERY = "- static_configs: ['query:9090']\n"
_AUTHORIZED: Object = {"authorization": {"credentials": key("token", "token")}}
_TLS = {"tlsConfig": {"ca": {"configMap": key("authority", "ca.crt")}}, "scheme": "https"}
_JOBS = "- job_name: own\n  static_configs:\n  - targets: ['own:80']\n"
_RETAINED = {"whenScaled": "Retain", "retain": {"retentionPeriod": "1d"}}
_RESTARTED = "kubectl.kubernetes.io/restartedAt"


def _restarted(at: str) -> Object:
    """What `kubectl rollout restart` does."""
    return {"spec": {"template": {"metadata": {"annotations": {_RESTARTED: at}}}}}


# --- The script -----------------------------------------------------------------------------------

BEGINNING = (
    Action("the operator is started", operate(_MAIN, *_KUBELET)),
    Action("a namespace is chosen", label("home", watched="yes")),
    Action("a Prometheus", put("home", _main_prometheus())),
    Action("an Alertmanager", put("home", alertmanager(_MAIN))),
    Action("a ThanosRuler", put("home", thanos_ruler(_MAIN))),
    Action("an agent", put("home", pod_agent("light", "StatefulSet"))),
    Action("an agent on each node", put("team", pod_agent("nodes", "DaemonSet"))),
    Action(
        "a Prometheus whose Secret is missing",
        put("team", prometheus("team", additionalScrapeConfigs=key("jobs", "jobs.yaml"))),
    ),
    Action("its Secret comes late", put("team", secret("jobs", {"jobs.yaml": _JOBS}))),
    Action("a second Alertmanager", put("team", alertmanager("more", configSecret="alerts"))),
    Action(
        "its configuration comes late",
        put("team", secret("alerts", {"alertmanager.yaml": _ALERTS})),
    ),
    Action("a Prometheus without selectors", put("home", resource("Prometheus", "own", {}))),
    Action("its user's own configuration", put("home", _OWN_CONFIGURATION)),
    Action("a Prometheus apart", put("apart", prometheus("apart", replicas=2))),
    Action("a second agent", put("apart", agent("spare", replicas=0))),
)

RESOURCES = (
    Action("a ServiceMonitor", put("home", service_monitor("shop"))),
    Action("a PodMonitor", put("home", pod_monitor("cart"))),
    Action("a Probe", put("home", probe("front"))),
    Action("a ScrapeConfig", put("home", scrape_config("static", "shop:80"))),
    Action("a PrometheusRule", put("home", rule("down", "up == 0"))),
    Action("an AlertmanagerConfig", put("home", alertmanager_config("shop"))),
    Action("one of each elsewhere", put("team", service_monitor("bike"), rule("late", "up == 0"))),
    Action(
        "a monitor whose Secret is missing",
        put("home", service_monitor("pay", "web", **_AUTHORIZED)),
    ),
    Action("the monitor's Secret comes late", put("home", secret("token", {"token": "first"}))),
    Action("the Secret is rotated", put("home", secret("token", {"token": "second"}))),
    Action(
        "the Secret loses its key",
        patch("home", "secret", "token", {"data": {"token": None, "other": "b3RoZXI="}}),
    ),
    Action("the Secret is mended", put("home", secret("token", {"token": "third"}))),
    Action("the Secret is deleted", delete("home", "secret", "token")),
    Action("the Secret is made again", put("home", secret("token", {"token": "fourth"}))),
    Action("a monitor whose ConfigMap is missing", put("home", pod_monitor("tls", **_TLS))),
    Action(
        "the ConfigMap is no certificate",
        put("home", config_map("authority", {"ca.crt": "nothing"})),
    ),
    Action(
        "the ConfigMap is mended", put("home", config_map("authority", {"ca.crt": CERTIFICATE}))
    ),
    Action("the ConfigMap is deleted", delete("home", "configmap", "authority")),
    Action("a rule is broken", put("home", rule("down", "up ==="))),
    Action("the rule is mended", put("home", rule("down", "up == 1"))),
    Action("a receiver whose Secret is missing", put("home", _slack("chat"))),
    Action(
        "the receiver's Secret comes", put("home", secret("slack", {"url": "https://slack/hook"}))
    ),
    Action(
        "a ScrapeConfig is broken",
        put("home", scrape_config("static", "shop:80", scrapeInterval="1s", scrapeTimeout="9s")),
    ),
    Action("the ScrapeConfig is mended", put("home", scrape_config("static", "shop:81"))),
    Action("a Probe is broken", put("home", probe("front", prober={"url": "http://prober:9115"}))),
    Action("the Probe is mended", put("home", probe("front", module="http_2xx"))),
    Action(
        "a monitor is deselected",
        patch("home", "servicemonitor", "shop", {"metadata": {"labels": {"ignored": "yes"}}}),
    ),
    Action(
        "the monitor is selected again",
        patch("home", "servicemonitor", "shop", {"metadata": {"labels": {"ignored": None}}}),
    ),
    Action("another namespace is chosen", label("team", watched="yes")),
    Action("that namespace is left", label("team", watched=None)),
    Action("a monitor is changed", put("home", service_monitor("shop", interval="15s"))),
    Action("a monitor is deleted", delete("home", "servicemonitor", "shop")),
    Action("the monitor is made again", put("home", service_monitor("shop", path="/again"))),
    Action(
        "a monitor is deleted and made again at once",
        all_of(
            delete("home", "podmonitor", "cart"),
            put("home", pod_monitor("cart", path="/again")),
        ),
        passing=True,
    ),
    Action(
        "an Alertmanager's configuration is broken",
        put("team", secret("alerts", {"alertmanager.yaml": "route: [\n"})),
    ),
    Action(
        "the Alertmanager's configuration is mended",
        put("team", secret("alerts", {"alertmanager.yaml": _ALERTS})),
    ),
    Action(
        "a ThanosRuler whose Secret is missing",
        spec("home", "thanosruler", _MAIN, queryConfig=key("query", "query.yaml")),
    ),
    Action("the ThanosRuler's Secret comes", put("home", secret("query", {"query.yaml": _QUERY}))),
)

BY_HAND = (
    Action("a StatefulSet is deleted", delete("home", "statefulset", "prometheus-main")),
    Action("a configuration is deleted", delete("home", "secret", "prometheus-main")),
    Action(
        "a configuration is damaged",
        patch("home", "secret", "prometheus-main", {"data": {"prometheus.yaml.gz": "AAAA"}}),
    ),
    Action("rules are deleted", delete("home", "configmap", "prometheus-main-rulefiles-0")),
    Action(
        "rules are damaged",
        patch("home", "configmap", "prometheus-main-rulefiles-0", {"data": {"more.yaml": "x"}}),
    ),
    Action("a Service is deleted", delete("home", "service", "prometheus-operated")),
    Action(
        "a Service is damaged",
        patch("home", "service", "alertmanager-operated", {"spec": {"selector": {"no": "body"}}}),
    ),
    Action("a DaemonSet is deleted", delete("team", "daemonset", "prom-agent-nodes")),
    Action(
        "a DaemonSet is damaged",
        patch(
            "team",
            "daemonset",
            "prom-agent-nodes",
            {"spec": {"template": {"spec": {"serviceAccountName": "nobody"}}}},
        ),
        # How many of its pods are replaced before it is mended depends on who is sooner.
        passing=True,
    ),
    Action(
        "a StatefulSet is scaled by hand",
        patch("home", "statefulset", "alertmanager-main", {"spec": {"replicas": 3}}),
    ),
    Action(
        "users label what is ours",
        all_of(
            patch(
                "home",
                "statefulset",
                "prometheus-main",
                {"metadata": {"labels": {"of": "a-user"}, "annotations": {"example.org/a": "b"}}},
            ),
            patch("home", "secret", "prometheus-main", {"metadata": {"labels": {"of": "a-user"}}}),
            patch("home", "service", "prometheus-operated", {"metadata": {"labels": {"of": "a"}}}),
        ),
    ),
    Action(
        "kubectl rollout restart",
        patch("home", "statefulset", "prometheus-main", _restarted("2026-01-01T00:00:00Z")),
    ),
)

SIZES = (
    Action("storage grows", spec("home", "prometheus", _MAIN, storage=storage("2Gi"))),
    Action(
        "pods are managed in another way",
        spec("home", "prometheus", _MAIN, podManagementPolicy="OrderedReady"),
    ),
    Action(
        "storage that must not grow",
        all_of(
            lambda world: world.grow_allowed(False),
            spec("home", "prometheus", _MAIN, storage=storage("3Gi")),
        ),
    ),
    Action("storage may grow", lambda world: world.grow_allowed(True), settling=4.0),
    Action(
        "two shards", spec("home", "prometheus", _MAIN, shards=2, shardRetentionPolicy=_RETAINED)
    ),
    Action("one shard, the other is retained", spec("home", "prometheus", _MAIN, shards=1)),
    Action("the retained shard comes back", spec("home", "prometheus", _MAIN, shards=2)),
    Action(
        "one shard, the other is deleted",
        spec("home", "prometheus", _MAIN, shards=1, shardRetentionPolicy=None),
    ),
    Action("a new version", spec("home", "prometheus", _MAIN, version="v3.1.0")),
    Action("two Alertmanagers", spec("home", "alertmanager", _MAIN, replicas=2)),
    Action(
        "remote write with a Secret", put("home", secret("remote", {"user": "me", "password": "a"}))
    ),
    Action(
        "samples go elsewhere",
        spec(
            "home",
            "prometheusagent",
            "light",
            remoteWrite=[
                {
                    "url": "http://store/write",
                    "basicAuth": {
                        "username": key("remote", "user"),
                        "password": key("remote", "password"),
                    },
                }
            ],
        ),
    ),
    Action(
        "its password is rotated", put("home", secret("remote", {"user": "me", "password": "b"}))
    ),
)

MODES = (
    Action(
        "an agent goes to the nodes",
        spec("home", "prometheusagent", "light", mode="DaemonSet"),
        SETTLING_SECONDS,
    ),
    Action(
        "and takes it back at once",
        all_of(
            spec("home", "prometheusagent", "light", mode="StatefulSet"),
            spec("home", "prometheusagent", "light", mode="DaemonSet"),
        ),
        SETTLING_SECONDS,
        passing=True,
    ),
    Action(
        "and comes back",
        spec("home", "prometheusagent", "light", mode="StatefulSet"),
        SETTLING_SECONDS,
    ),
    Action(
        "the agent on nodes becomes one pod",
        spec("team", "prometheusagent", "nodes", mode="StatefulSet"),
        SETTLING_SECONDS,
    ),
)

CARE = (
    Action("a workload is paused", spec("home", "prometheus", _MAIN, paused=True)),
    Action(
        "it changes while it is paused",
        all_of(
            spec("home", "prometheus", _MAIN, retention="20d"),
            put("home", service_monitor("paused")),
        ),
    ),
    Action("it goes on", spec("home", "prometheus", _MAIN, paused=False)),
    Action("an unmanaged one gets a selector", spec("home", "prometheus", "own", probeSelector={})),
    Action("and loses it", spec("home", "prometheus", "own", probeSelector=None)),
    Action("a workload is deleted", delete("team", "alertmanager", "more")),
    Action("the workload is made again", put("team", alertmanager("more", configSecret="alerts"))),
    Action(
        "a workload is deleted and made again at once",
        all_of(delete("team", "prometheus", "team"), put("team", prometheus("team", replicas=1))),
    ),
    Action("a ThanosRuler is deleted", delete("home", "thanosruler", _MAIN)),
    Action("an agent is deleted", delete("home", "prometheusagent", "light")),
)

FLAGS = (
    Action(
        "statuses are turned off",
        operate(_MAIN, "--feature-gates=StatusForConfigurationResources=false"),
    ),
    Action("a rule without a status", put("home", rule("quiet", "up == 0"))),
    Action("statuses are turned on", operate(_MAIN, *_KUBELET)),
    Action("the kubelets' addresses are deleted", delete("home", "endpoints", "kubelet")),
    Action("monitors are consolidated", operate(_MAIN, *_KUBELET, "--consolidate-monitors")),
    Action("a consolidated monitor", put("home", service_monitor("joined"))),
    Action(
        "the consolidated monitor is changed", put("home", service_monitor("joined", path="/a"))
    ),
    Action("the consolidated monitor is deleted", delete("home", "servicemonitor", "joined")),
    Action("monitors are themselves again", operate(_MAIN, *_KUBELET), settling=4.0),
    Action("a second controller", operate(_OTHER, f"--controller-id={_OTHER}")),
    Action(
        "a workload goes to the other controller",
        patch("apart", "prometheus", "apart", {"metadata": {"annotations": {_CONTROLLER: _OTHER}}}),
    ),
    Action("the other controller has work", put("apart", service_monitor("apart"))),
    Action(
        "the workload comes back",
        patch("apart", "prometheus", "apart", {"metadata": {"annotations": {_CONTROLLER: None}}}),
    ),
    Action("the second controller ends", retire(_OTHER)),
    Action("targets are asked for", operate(_MAIN, "--target-status-interval=2s")),
    Action("nobody asks for targets", operate(_MAIN, *_KUBELET)),
)

SCRIPT: tuple[Action, ...] = (*BEGINNING, *RESOURCES, *BY_HAND, *SIZES, *MODES, *CARE, *FLAGS)

NAMES = tuple(each.name for each in SCRIPT)


def numbered(name: str) -> int:
    """The place of an action in the script."""
    return NAMES.index(name)
