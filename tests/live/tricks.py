"""What a tenant can try with monitors to have series under another namespace's label.

Every trick is a monitor of `mallory`, who wants `victim` to stand in the label `namespace`. Its one
target is at an address of its own, for which `HERE` stands, so that series can be told apart even
if nothing else of them is left. Some targets are found in Kubernetes: then `found` is what
Prometheus knows of them, as far as a tenant has a say in it (labels of pods, names, namespaces).
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

from msgspec import Struct

Json = dict[str, Any]
Steps = Sequence[Json]

LABEL: Final = "namespace"
TENANT: Final = "mallory"
VICTIM: Final = "victim"

# Where a trick shows, if nothing is enforced: on what Prometheus itself writes of a target, on any
# sample, or on one that claims it.
TARGET: Final = "scrape_duration_seconds"
SAMPLE: Final = "plain"
CLAIM: Final = "claims"
NOWHERE: Final = ""


class Trick(Struct, frozen=True):
    """A monitor, and the metric that carries the victim's label if nothing is enforced."""

    name: str
    kind: str
    spec: Json
    shows: str = NOWHERE
    found: Mapping[str, str] | None = None


# --- Monitors -------------------------------------------------------------------------------------

_APP: Final = {"matchLabels": {"app": "web"}}
_THEIRS: Final = {"__meta_kubernetes_namespace": VICTIM}
_OURS: Final = {"__meta_kubernetes_namespace": TENANT}


def _labels(kind: str, labels: Mapping[str, str]) -> dict[str, str]:
    """How Prometheus tells labels of an object; `_` stands for other characters already."""
    start = f"__meta_kubernetes_{kind}"
    return {
        name: value
        for label, text in labels.items()
        for name, value in (
            (f"{start}_label_{label}", text),
            (f"{start}_labelpresent_{label}", "true"),
        )
    }


def service(name: str, shows: str, found: Mapping[str, str] = _OURS, **endpoint: Any) -> Trick:
    """A ServiceMonitor; members that are not of an endpoint go to the monitor."""
    more = {key: endpoint.pop(key) for key in [*endpoint] if key in _OF_MONITORS}
    spec = {"selector": _APP, "endpoints": [{"port": "web", **endpoint}], **more}
    known = {"__meta_kubernetes_endpoint_port_name": "web", **_labels("service", {"app": "web"})}
    return Trick(name, "ServiceMonitor", spec, shows, {**known, **found})


def pod(name: str, shows: str, found: Mapping[str, str] = _OURS, **endpoint: Any) -> Trick:
    """A PodMonitor, in the same way."""
    more = {key: endpoint.pop(key) for key in [*endpoint] if key in _OF_MONITORS}
    spec = {"selector": _APP, "podMetricsEndpoints": [{"port": "web", **endpoint}], **more}
    known = {
        "__meta_kubernetes_pod_container_port_name": "web",
        "__meta_kubernetes_pod_phase": "Running",
        **_labels("pod", {"app": "web"}),
    }
    return Trick(name, "PodMonitor", spec, shows, {**known, **found})


_OF_MONITORS: Final = frozenset({
    "attachMetadata", "bodySizeLimit", "convertClassicHistogramsToNHCB", "fallbackScrapeProtocol",
    "jobLabel", "labelLimit", "podTargetLabels", "sampleLimit", "scrapeClass", "scrapeProtocols",
    "targetLabels",
})  # fmt: skip


def probe(
    name: str, shows: str, labels: Mapping[str, str] | None = None, steps: Steps = (), **spec: Any
) -> Trick:
    """A Probe of a list."""
    listed: Json = {"static": ["http://HERE"], "labels": dict(labels or {})}
    targets = {"staticConfig": listed | {"relabelingConfigs": list(steps)}}
    return Trick(name, "Probe", {"prober": _PROBER, "targets": targets, **spec}, shows)


def ingress(
    name: str, shows: str, found: Mapping[str, str] = _OURS, steps: Steps = (), **spec: Any
) -> Trick:
    """A Probe of Ingresses."""
    targets = {"ingress": {"selector": _APP, "relabelingConfigs": list(steps)}}
    known = {
        "__meta_kubernetes_ingress_scheme": "http",
        "__meta_kubernetes_ingress_path": "/",
        **_labels("ingress", {"app": "web"}),
    }
    spec = {"prober": _PROBER, "targets": targets, **spec}
    return Trick(name, "Probe", spec, shows, {**known, **found})


_PROBER: Final = {"url": "HERE", "path": "/probe"}


def listed(name: str, shows: str, labels: Mapping[str, str] | None = None, **spec: Any) -> Trick:
    """A ScrapeConfig with a list of its own."""
    targets = {"targets": ["HERE"], "labels": dict(labels or {})}
    return Trick(name, "ScrapeConfig", {"staticConfigs": [targets], **spec}, shows)


def served(name: str, shows: str, labels: Mapping[str, str] | None = None, **spec: Any) -> Trick:
    """A ScrapeConfig whose targets a server of the tenant's names."""
    url = f"http://HERE/sd?{quote(json.dumps(dict(labels or {})))}"
    return Trick(name, "ScrapeConfig", {"httpSDConfigs": [{"url": url}], **spec}, shows)


# --- Steps ----------------------------------------------------------------------------------------


def _set(label: str, value: str) -> Json:
    return {"targetLabel": label, "replacement": value}


_KEPT: Final = "__.*|job|instance|trick|le"
STEPS: Final[Mapping[str, tuple[Steps, bool]]] = {
    "replace": ([_set(LABEL, VICTIM)], True),
    "replace by a group": (
        [{"sourceLabels": ["job"], "regex": ".*()", "targetLabel": LABEL,
          "replacement": "victim$1"}],
        True,
    ),
    "a name made of a group": (
        [{"sourceLabels": ["job"], "regex": "().*", "targetLabel": "name${1}space",
          "replacement": VICTIM}],
        True,
    ),
    "labelmap": (
        [_set("their_namespace", VICTIM), {"action": "labelmap", "regex": "their_(.+)"}],
        True,
    ),
    "labelmap to a fixed name": (
        [_set("a", VICTIM), {"action": "labelmap", "regex": "a", "replacement": LABEL}],
        True,
    ),
    "labelmap with a group in the middle": (
        [_set("name_x_space", VICTIM),
         {"action": "labelmap", "regex": "(name)_x_(space)", "replacement": "$1$2"}],
        True,
    ),
    "labeldrop first": ([{"action": "labeldrop", "regex": LABEL}, _set(LABEL, VICTIM)], True),
    "lowercase": (
        [_set("a", "VICTIM"),
         {"action": "lowercase", "sourceLabels": ["a"], "targetLabel": LABEL}],
        True,
    ),
    "uppercase twice": (
        [_set("a", "victim"),
         {"action": "uppercase", "sourceLabels": ["a"], "targetLabel": "b"},
         {"action": "lowercase", "sourceLabels": ["b"], "targetLabel": LABEL}],
        True,
    ),
    "a temporary label": (
        [_set("__tmp_x", VICTIM), {"sourceLabels": ["__tmp_x"], "targetLabel": LABEL}],
        True,
    ),
    "two halves": (
        [_set("a", "vic"), _set("b", "tim"),
         {"sourceLabels": ["a", "b"], "separator": "", "targetLabel": LABEL}],
        True,
    ),
    "a name in UTF-8": (
        [_set("name.space", VICTIM), _set("ｎamespace", VICTIM),
         {"action": "labelmap", "regex": r"(name)\.(space)", "replacement": "${1}${2}"}],
        True,
    ),
    "twice": ([_set(LABEL, VICTIM)] * 2, True),
    "keepequal": (
        [_set(LABEL, VICTIM), _set("a", VICTIM),
         {"action": "keepequal", "sourceLabels": ["a"], "targetLabel": LABEL}],
        True,
    ),
    "keep": (
        [_set(LABEL, VICTIM), {"action": "keep", "sourceLabels": [LABEL], "regex": VICTIM}],
        True,
    ),
    "hashmod": (
        [{"action": "hashmod", "sourceLabels": ["job"], "targetLabel": LABEL, "modulus": 1}], False
    ),
    "labeldrop": ([{"action": "labeldrop", "regex": "name.*"}], False),
    "labelkeep": ([{"action": "labelkeep", "regex": _KEPT}], False),
    "an empty value": ([_set(LABEL, "")], False),
    "another job": ([_set("job", "serviceMonitor/victim/web/0")], False),
    "no job": ([_set("job", "")], False),
    "out of the shards": ([_set("__tmp_disable_sharding", "true"), _set(LABEL, VICTIM)], True),
    "another shard's hash": ([_set("__tmp_hash", "7"), _set(LABEL, VICTIM)], True),
    "exported": ([_set("exported_namespace", VICTIM)], False),
    "a variable": ([_set(LABEL, "$(POD_NAME)")], False),
}  # fmt: skip
"""Steps by name, and whether they put the victim's name into the label."""
EXPORTED: Final = [{"action": "labelmap", "regex": "exported_(.+)"}]
RENAMED: Final = [_set("__name__", "up"), _set(LABEL, VICTIM)]
SYNTHETIC: Final = [
    {"sourceLabels": ["__name__"], "regex": "up|scrape_.*", "action": "keep"},
    _set(LABEL, VICTIM),
]


_Make = Callable[..., Trick]
_IN_KUBERNETES: Final[dict[str, _Make]] = {"service": service, "pod": pod}
_BY_ITSELF: Final[dict[str, _Make]] = {"listed": listed, "served": served}
_PROBES: Final[dict[str, _Make]] = {"probe": probe, "ingress": ingress}


def _stepped() -> Iterator[Trick]:
    """Every list of steps, on targets and on samples, by every kind of monitor."""
    for what, (steps, shown) in STEPS.items():
        targets, samples = (TARGET if shown else NOWHERE), (SAMPLE if shown else NOWHERE)
        for word, make in (_IN_KUBERNETES | _BY_ITSELF | _PROBES).items():
            member = "steps" if word in _PROBES else "relabelings"
            yield make(f"{word}: {what}", targets, **{member: steps})
            yield make(f"{word}: {what} on samples", samples, metricRelabelings=steps)


# --- Labels that come with targets ----------------------------------------------------------------

_BROUGHT: Final[Mapping[str, tuple[str, Mapping[str, str]]]] = {
    "a label": (TARGET, {LABEL: VICTIM}),
    "no label": (CLAIM, {}),
    "a label of Kubernetes": (CLAIM, _THEIRS),
    "one that is exported": (CLAIM, {"exported_namespace": VICTIM}),
    "in UTF-8": (CLAIM, {"name.space": VICTIM, "ｎamespace": VICTIM}),
    "temporary": (CLAIM, {"__tmp_prometheus_job_name": VICTIM}),
    "parameters": (CLAIM, {"__param_namespace": VICTIM}),
    "another path": (TARGET, {"__metrics_path__": "/openmetrics", LABEL: VICTIM}),
    "another interval": (
        TARGET, {"__scrape_interval__": "2s", "__scrape_timeout__": "1s", LABEL: VICTIM}
    ),
}  # fmt: skip


def _labelled() -> Iterator[Trick]:
    """What lists and servers say of their targets, without a step to be seen."""
    mapped = {"action": "labelmap", "regex": "__meta_kubernetes_(namespace)"}
    for word, make in _BY_ITSELF.items():
        for what, (shows, labels) in _BROUGHT.items():
            yield make(f"{word}: {what}", shows, labels)
        yield make(f"{word}: a label and a name", TARGET, {LABEL: VICTIM}, jobName="victim/web")
        yield make(f"{word}: one mapped", TARGET, _THEIRS, relabelings=[mapped])
    file = {"fileSDConfigs": [{"files": ["FOLDER/targets-HERE.json"]}]}
    yield Trick("a file", "ScrapeConfig", file, TARGET)
    for word, make in (_IN_KUBERNETES | {"ingress": ingress}).items():
        yield make(f"{word}: in their namespace", TARGET, _THEIRS)
    yield probe("probe: a label", TARGET, {LABEL: VICTIM})
    yield probe("probe: its name", NOWHERE, {"instance": VICTIM}, jobName=VICTIM)


def _copied() -> Iterator[Trick]:
    """Labels of Kubernetes' objects that are called like the enforced one."""
    ours = {**_OURS, **_labels("pod", {LABEL: VICTIM}), **_labels("service", {LABEL: VICTIM})}
    node = {**_OURS, "__meta_kubernetes_node_label_namespace": VICTIM}
    step = {"action": "labelmap", "regex": "__meta_kubernetes_(?:node|pod)_label_(.+)"}
    attached = {"attachMetadata": {"node": True}, "relabelings": [step]}
    for word, make in _IN_KUBERNETES.items():
        yield make(f"{word}: podTargetLabels", TARGET, ours, podTargetLabels=[LABEL])
        yield make(f"{word}: jobLabel", NOWHERE, ours, jobLabel=LABEL)
        yield make(f"{word}: attachMetadata", TARGET, node, **attached)
    yield service("service: targetLabels", TARGET, ours, targetLabels=[LABEL])


# --- What targets say -----------------------------------------------------------------------------

_HONORED: Final[Json] = {"honorLabels": True}
_SAID: Final[Mapping[str, tuple[str, Json]]] = {
    "honorLabels": (CLAIM, _HONORED),
    "not honorLabels": (NOWHERE, {"honorLabels": False}),
    "honorTimestamps": (CLAIM, _HONORED | {"honorTimestamps": True}),
    "exported and honored": (CLAIM, _HONORED | {"metricRelabelings": EXPORTED}),
    "renamed": (NOWHERE, {"metricRelabelings": RENAMED}),
    "only synthetic ones": (NOWHERE, {"metricRelabelings": SYNTHETIC}),
    "native histograms": (CLAIM, _HONORED | {"convertClassicHistogramsToNHCB": True}),
    "too many samples": (NOWHERE, {"sampleLimit": 1}),
    "too large": (NOWHERE, {"bodySizeLimit": "1B"}),
    "too many labels": (NOWHERE, {"labelLimit": 1}),
    "a class that lends labels": (TARGET, {"scrapeClass": "lends"}),
    "a class that marks samples": (SAMPLE, {"scrapeClass": "marks"}),
    "another protocol": (
        CLAIM,
        _HONORED
        | {"scrapeProtocols": ["OpenMetricsText1.0.0"]}
        | {"fallbackScrapeProtocol": "PrometheusText0.0.4"},
    ),
}


def _claimed() -> Iterator[Trick]:
    """Samples that name the victim themselves, in every format, and what is done with them."""
    for word, make in (_IN_KUBERNETES | _BY_ITSELF).items():
        for what, (shows, members) in _SAID.items():
            yield make(f"{word}: {what}", shows, **members)
        # A target with a namespace of its own, so that a sample's becomes an exported one.
        own = _OURS if word in _IN_KUBERNETES else {LABEL: TENANT}
        yield make(f"{word}: no longer exported", CLAIM, own, metricRelabelings=EXPORTED)
        path = "path" if word in _IN_KUBERNETES else "metricsPath"
        for page in ("openmetrics", "utf8"):
            yield make(f"{word}: {page}", CLAIM, **_HONORED, **{path: f"/{page}"})
    yield listed("listed: escaped", CLAIM, **_HONORED, nameEscapingScheme="Underscores")
    yield listed("listed: legacy", TARGET, {LABEL: VICTIM}, nameValidationScheme="Legacy")
    yield listed("listed: more of its own", TARGET, {LABEL: VICTIM}, extraScrapeMetrics=True)
    yield probe("probe: a class that lends labels", TARGET, scrapeClass="lends")
    yield probe("probe: a class that marks samples", SAMPLE, scrapeClass="marks")


CLASSES: Final = [
    {"name": "lends", "relabelings": [_set(LABEL, VICTIM)]},
    {"name": "marks", "metricRelabelings": [_set(LABEL, VICTIM)]},
]
"""Scrape classes of a careless owner; a tenant may choose any."""
TRICKS: Final = (*_stepped(), *_labelled(), *_copied(), *_claimed())
