"""What a real API server takes and refuses by our definitions, and the field that it names.

The conformance suite `crd-validation` shows the same for everything that was recorded of
prometheus-operator; these are examples of each sort for those who have no recorded cases.
"""

from __future__ import annotations

import json
from typing import Any, Final

import pytest

from stoker.kube.resources import resource_of
from tests.builders import resource
from tests.live.operating import Object
from tests.unit.discovery_examples import EXAMPLES
from tools.api import ApiError
from tools.cluster import Cluster

Row = tuple[Object, str]
"""A specification, and the field at fault; none where it is taken."""

TAKEN: Final = ""


def refused(cluster: Cluster, made: Object) -> Object:
    """What the server says of a new object, which it does not keep; empty if it takes it."""
    path = resource_of(made).path("default")
    try:
        cluster.api.request("POST", f"{path}?dryRun=All&fieldValidation=Strict", made)
    except ApiError as error:
        status: Object = json.loads(str(error).partition(": ")[2])
        return status
    return {}


def check(cluster: Cluster, kind: str, rows: list[Row]) -> None:
    """Show all rows to the server: it takes them, or names the field."""
    for spec, field in rows:
        said = refused(cluster, resource(kind, "shown", spec))
        at_fault = {each.get("field") for each in said.get("details", {}).get("causes", [])}
        assert (field in at_fault) if field else not said, (spec, said)


def in_route(**route: Any) -> Object:
    """An AlertmanagerConfig with such a route."""
    return {"route": {"receiver": "team"} | route, "receivers": [{"name": "team"}]}


def test_alertmanagerconfigs_have_durations_that_alertmanager_reads(crds: Cluster) -> None:
    """And receivers with names, and matchers that say which label.

    (peer scenario: Alertmanager Config CRD Validation)
    """
    rows: list[Row] = [
        (in_route(), TAKEN),
        (in_route(groupInterval="8m", repeatInterval="2d12h30m"), TAKEN),
        (in_route(groupInterval="1y2w3d4h5m6s7ms"), TAKEN),
        (in_route(groupInterval="soon"), "spec.route.groupInterval"),
        (in_route(groupInterval="500"), "spec.route.groupInterval"),
        (in_route(groupWait="5 m"), "spec.route.groupWait"),
        (in_route(repeatInterval="4hrs"), "spec.route.repeatInterval"),
        (in_route(matchers=[{"name": "", "value": "a"}]), "spec.route.matchers[0].name"),
        ({"receivers": [{"name": ""}]}, "spec.receivers[0].name"),
    ]
    check(crds, "AlertmanagerConfig", rows)


def test_a_prometheus_says_nothing_that_its_pods_would_choke_on(crds: Cluster) -> None:
    """Durations, sizes, counts, URLs and names of other things.

    (peer scenario: Prometheus CRD Validation)
    """
    written: list[Object] = [{"url": "http://example.org"}, {"url": "/example.org/write"}]
    alertmanagers: list[Object] = [{"name": "main", "port": 9093}, {"name": "", "port": 9093}]
    update = {"type": "OnDelete", "rollingUpdate": {}}
    rows: list[Row] = [
        ({}, TAKEN),
        ({"scrapeInterval": "1h30m15s", "evaluationInterval": "0"}, TAKEN),
        ({"scrapeInterval": "600"}, "spec.scrapeInterval"),
        ({"scrapeInterval": "60ss"}, "spec.scrapeInterval"),
        ({"retentionSize": "0", "retention": "7d"}, TAKEN),
        ({"retentionSize": "10M"}, "spec.retentionSize"),
        ({"query": {"maxConcurrency": 1}, "web": {"maxConnections": 0}}, TAKEN),
        ({"query": {"maxConcurrency": 0}}, "spec.query.maxConcurrency"),
        ({"web": {"maxConnections": -1}}, "spec.web.maxConnections"),
        ({"remoteWrite": written[:1]}, TAKEN),
        ({"remoteWrite": written}, "spec.remoteWrite[1].url"),
        ({"alerting": {"alertmanagers": alertmanagers[:1]}}, TAKEN),
        ({"alerting": {"alertmanagers": alertmanagers}}, "spec.alerting.alertmanagers[1].name"),
        ({"terminationGracePeriodSeconds": -1}, "spec.terminationGracePeriodSeconds"),
        ({"updateStrategy": update | {"type": "RollingUpdate"}}, TAKEN),
        ({"updateStrategy": update}, "spec.updateStrategy"),
        ({"dnsPolicy": "None", "dnsConfig": {"nameservers": ["192.0.2.1"]}}, TAKEN),
        ({"dnsPolicy": "Sometimes"}, "spec.dnsPolicy"),
        ({"shardRetentionPolicy": {"whenScaled": "Keep"}}, "spec.shardRetentionPolicy.whenScaled"),
    ]
    check(crds, "Prometheus", rows)


def test_shards_of_zones_need_zones_and_enough_shards(crds: Cluster) -> None:
    """Rules over several fields, which the API server checks itself.

    (peer scenario: Sharding Strategy CEL Validations)
    """

    def zones(count: int, mode: str = "Topology") -> Object:
        values = [f"zone-{number}" for number in range(count)]
        return {"mode": mode, "topology": {"values": values}}

    rows: list[Row] = [
        ({"shardingStrategy": {"mode": "Address"}}, TAKEN),
        ({"shardingStrategy": zones(2), "shards": 4}, TAKEN),
        ({"shardingStrategy": zones(3), "shards": 2}, "spec"),
        ({"shardingStrategy": zones(2)}, "spec"),
        ({"shardingStrategy": zones(2, "Address"), "shards": 2}, "spec.shardingStrategy"),
        ({"shardingStrategy": {"topology": {}}}, "spec.shardingStrategy"),
        ({"shardingStrategy": {"mode": "Random"}}, "spec.shardingStrategy.mode"),
    ]
    check(crds, "Prometheus", rows)


@pytest.mark.parametrize("field", ["relabelings", "metricRelabelings"])
def test_relabelings_have_actions_that_prometheus_knows(crds: Cluster, field: str) -> None:
    """In lower case, as Prometheus has them, and as names of the API; without one it is replace.

    (peer scenario: Relabel Config CRD Validation)
    """
    steps: list[tuple[Object, str]] = [
        ({"sourceLabels": ["a", "b"], "separator": ",", "targetLabel": "c"}, TAKEN),
        ({"action": "replace", "regex": "(.*)", "replacement": "$1", "targetLabel": "c"}, TAKEN),
        ({"action": "LabelDrop", "regex": "a"}, TAKEN),
        ({"action": "replacee"}, "action"),
        ({"action": ""}, "action"),
        ({"sourceLabels": "a"}, "sourceLabels"),
    ]
    at_fault = f"spec.endpoints[0].{field}[0]"
    rows: list[Row] = [
        (
            {"selector": {}, "endpoints": [{"port": "web", field: [step]}]},
            member and f"{at_fault}.{member}",
        )
        for step, member in steps
    ]
    check(crds, "ServiceMonitor", rows)


# For each discovery a setting that makes its full example wrong, its name, and more of the path if
# the fault is inside.
WRONG: Final[dict[str, tuple[Any, ...]]] = {
    "fileSDConfigs": (["/targets.txt"], "files", "[0]"),
    "httpSDConfigs": ("list.example.org", "url"),
    "dnsSDConfigs": ("TXT", "type"),
    "kubernetesSDConfigs": ("Deployment", "role"),
    "consulSDConfigs": (["a", "a"], "services", "[1]"),
    "nomadSDConfigs": ("localhost", "server"),
    "eurekaSDConfigs": ("eureka:8761", "server"),
    "kumaSDConfigs": ("60g", "fetchTimeout"),
    "puppetDBSDConfigs": ("", "query"),
    "dockerSDConfigs": ([{"name": "health", "values": []}], "filters", "[0].values"),
    "dockerSwarmSDConfigs": ("swarm", "host"),
    "ec2SDConfigs": ([{"name": "", "values": ["a"]}], "filters", "[0].name"),
    "lightSailSDConfigs": ("", "region"),
    "azureSDConfigs": ("", "subscriptionID"),
    "gceSDConfigs": ("", "zone"),
    "digitalOceanSDConfigs": (65536, "port"),
    "hetznerSDConfigs": ("vps", "role"),
    "ionosSDConfigs": ("", "datacenterID"),
    "linodeSDConfigs": ("", "region"),
    "openstackSDConfigs": ("private", "availability"),
    "ovhcloudSDConfigs": ("Cloud", "service"),
    "scalewaySDConfigs": ([], "tagsFilter"),
    "awsSDConfigs": ("s3", "role"),
    "ecsSDConfigs": (-1, "port"),
    "elastiCacheSDConfigs": ("", "roleARN"),
    "mskSDConfigs": ("2 m", "refreshInterval"),
    "rdsSDConfigs": ("", "region"),
    "marathonSDConfigs": ([], "servers"),
    "nerveSDConfigs": (["here"], "paths", "[0]"),
    "serversetSDConfigs": ("10", "timeout"),
    "ociSDConfigs": ("password", "authenticationMethod"),
    "outscaleSDConfigs": ("", "region"),
    "stackitSDConfigs": ("", "project"),
    "tritonSDConfigs": (0, "version"),
    "uyuniSDConfigs": ("uyuni", "server"),
    "vultrSDConfigs": ("monthly", "refreshInterval"),
}


def test_scrapeconfigs_have_what_each_discovery_needs(crds: Cluster) -> None:
    """A full example of each is taken; something wrong in it is refused, by its path.

    (peer scenario: Scrape Config CRD Validations)
    """
    full: list[Row] = [({name: [entry]}, TAKEN) for name, (entry, _) in EXAMPLES.items()]
    wrong: list[Row] = [
        ({name: [EXAMPLES[name][0] | {field: value}]}, f"spec.{name}[0].{field}{''.join(inside)}")
        for name, (value, field, *inside) in WRONG.items()
    ]
    check(crds, "ScrapeConfig", [*full, *wrong])
    assert WRONG.keys() == EXAMPLES.keys()


def test_scrapeconfigs_have_what_a_job_needs(crds: Cluster) -> None:
    """One way to log in, targets, and words that Prometheus knows.

    (peer scenario: Scrape Config CRD Validations)
    """
    key = {"name": "keys", "key": "id"}
    login: Object = {"basicAuth": {"username": key}}
    token: Object = {"authorization": {"credentials": key}}
    text = "OpenMetricsText1.0.0"
    rows: list[Row] = [
        ({}, TAKEN),
        (login, TAKEN),
        (login | token, "spec"),
        ({"staticConfigs": [{"targets": ["shop:80"], "labels": {"team": "a"}}]}, TAKEN),
        ({"staticConfigs": [{"targets": []}]}, "spec.staticConfigs[0].targets"),
        ({"staticConfigs": [{"labels": {"team": "a"}}]}, "spec.staticConfigs[0].targets"),
        ({"scheme": "HTTPS", "scrapeProtocols": [text]}, TAKEN),
        ({"scheme": "FTP"}, "spec.scheme"),
        ({"scrapeProtocols": [text, text]}, "spec.scrapeProtocols[1]"),
        ({"scrapeProtocols": ["Text"]}, "spec.scrapeProtocols[0]"),
        ({"scrapeInterval": "often"}, "spec.scrapeInterval"),
        ({"scrapeClass": ""}, "spec.scrapeClass"),
        ({"jobName": ""}, "spec.jobName"),
    ]
    check(crds, "ScrapeConfig", rows)
