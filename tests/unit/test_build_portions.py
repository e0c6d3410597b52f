"""Pods that get the portion of their node from the operator."""

from typing import Any

import pytest

from stoker.api.core import Object
from stoker.api.prometheus import PrometheusAgent
from stoker.build.objects import Contents, objects_of
from stoker.build.site import Site
from stoker.cli.operator_settings import operator_settings
from stoker.errors import FieldError, WorkloadError
from stoker.generate.split import MAIN_FILE
from stoker.operator.checks import AwaitedError, check_authority
from stoker.select.assets import AssetsAtHand
from stoker.select.workload import scraper_of
from stoker.settings import Capabilities, NodeServer, ObjectSettings, Reloader
from stoker.validate.findings import Finding
from stoker.validate.reading import ScraperReading
from stoker.validate.workload import workload as workload_findings
from tests.builders import typed

URL = "https://stoker.monitoring.svc:8443"
OURS = Reloader(image="registry.example/stoker:1.0")
CONTENTS = Contents(config_files={MAIN_FILE: b"text"}, asset_files={"0_shop_sink_ca": "pem"})
CA = "-----BEGIN CERTIFICATE-----\n"
SETTINGS = ObjectSettings(node_server=NodeServer(url=URL, ca=CA), reloader=OURS)
RELOADERS = ("init-config-reloader", "config-reloader")
TOKEN = "portion-token"  # noqa: S105 (a name)


def agent(discovery: str | None = "Operator", **spec: Any) -> PrometheusAgent:
    """An agent on nodes."""
    settings = {"daemonSet": {"discovery": discovery}} if discovery else {}
    return typed(PrometheusAgent, "main", {"mode": "DaemonSet"} | settings | spec)


def objects(workload: PrometheusAgent, settings: ObjectSettings = SETTINGS) -> dict[str, Object]:
    """All its objects by name."""
    site = Site(workload, scraper_of(workload, Capabilities()), settings)
    made = objects_of(site, CONTENTS)
    return {f"{each['kind']}/{each['metadata']['name']}": each for each in made}


def pod(workload: PrometheusAgent, settings: ObjectSettings = SETTINGS) -> Object:
    """The specification of its pods."""
    made = objects(workload, settings)["DaemonSet/prom-agent-main"]
    found: Object = made["spec"]["template"]["spec"]
    return found


def containers(found: Object) -> dict[str, Object]:
    """The containers of a pod by name."""
    return {each["name"]: each for each in [*found["initContainers"], *found["containers"]]}


def findings(workload: PrometheusAgent) -> list[Finding]:
    """What is wrong with an agent."""
    reading = ScraperReading(
        scraper_of(workload, Capabilities()), AssetsAtHand(), workload.metadata.namespace or ""
    )
    return list(workload_findings(workload.spec, reading))


def test_reloaders_are_told_where_to_ask() -> None:
    """Both of them, with a token that is for the operator alone; Prometheus does not have it."""
    made = pod(agent())
    wanted = [
        f"--portion-url={URL}",
        "--portion-ca=/etc/prometheus/config/portion-ca.pem",
        "--portion-token=/var/run/secrets/stoker/token",
        "--portion-dir=/etc/prometheus/config_out/portion",
    ]
    token = {"name": TOKEN, "readOnly": True, "mountPath": "/var/run/secrets/stoker"}
    for name, container in containers(made).items():
        told = [each for each in container["args"] if each.startswith("--portion")]
        mounted = [each for each in container["volumeMounts"] if each["name"] == TOKEN]
        assert told == (wanted if name in RELOADERS else [])
        assert mounted == ([token] if name in RELOADERS else [])
    [volume] = [each for each in made["volumes"] if each["name"] == TOKEN]
    asked = {"audience": "stoker-portions", "expirationSeconds": 3600, "path": "token"}
    assert volume["projected"]["sources"] == [{"serviceAccountToken": asked}]


def test_agents_that_get_portions_have_no_token_for_the_api_server() -> None:
    """They ask nothing of it, unless a user says that they do."""
    assert pod(agent())["automountServiceAccountToken"] is False
    assert pod(agent(automountServiceAccountToken=True))["automountServiceAccountToken"] is True
    assert pod(agent("Kubernetes"))["automountServiceAccountToken"] is True


def test_pods_of_either_discovery_read_secrets_of_their_own() -> None:
    """So those that are not replaced yet keep what they have."""
    with_portions, without = objects(agent()), objects(agent("Kubernetes"))
    shared = {"Secret/prom-agent-main-web-config", "DaemonSet/prom-agent-main"}
    assert set(with_portions) & set(without) == shared
    data = with_portions["Secret/prom-agent-main-portions"]["data"]
    assert set(data) == {MAIN_FILE, "portion-ca.pem"}
    assert set(without["Secret/prom-agent-main"]["data"]) == {MAIN_FILE}
    volumes = {each["name"]: each for each in pod(agent())["volumes"]}
    assert volumes["config"]["secret"]["secretName"] == "prom-agent-main-portions"
    [assets] = volumes["tls-assets"]["projected"]["sources"]
    assert assets["secret"]["name"] == "prom-agent-main-portions-tls-assets-0"


def test_without_a_word_on_discovery_nothing_is_new() -> None:
    """The default is what it was before there was a choice."""
    assert objects(agent(None), ObjectSettings()) == objects(agent("Kubernetes"), ObjectSettings())


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (ObjectSettings(reloader=OURS), "--node-discovery-url"),
        (ObjectSettings(node_server=NodeServer(url=URL)), "--prometheus-config-reloader"),
    ],
)
def test_an_agent_is_held_where_nobody_gives_portions(settings: ObjectSettings, said: str) -> None:
    """The reason names the flag that is missing."""
    with pytest.raises(WorkloadError, match=said) as error:
        objects(agent(), settings)
    assert error.value.path == "spec.daemonSet.discovery"


def test_the_image_that_a_user_gives_a_reloader_counts() -> None:
    """Whichever way it comes there."""
    peer = {
        "name": "config-reloader",
        "image": "mirror.example/prometheus-config-reloader@sha256:0",
    }
    with pytest.raises(WorkloadError, match="`config-reloader`"):
        pod(agent(containers=[peer]))
    own = [{"name": name, "image": "registry.example/stoker"} for name in RELOADERS]
    default = ObjectSettings(node_server=NodeServer(url=URL))
    pod(agent(containers=own[1:], initContainers=own[:1]), default)


def test_an_agent_waits_for_the_certificate_of_the_operator() -> None:
    """It is looked at again; and nobody else waits."""
    waiting = ObjectSettings(node_server=NodeServer(url=URL))
    with pytest.raises(AwaitedError):
        check_authority(agent(), Capabilities(), waiting)
    check_authority(agent(), Capabilities(), SETTINGS)
    check_authority(agent("Kubernetes"), Capabilities(), waiting)


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"version": "v2.42.0"}, "needs Prometheus 2.43.0 or newer"),
        ({"apiserverConfig": {"host": "https://other"}}, "apiserverConfig cannot be set"),
        ({"daemonSet": {"discovery": "Nobody"}}, "discovery"),
        (
            {"daemonSet": {"targetsWithoutAgent": "Spread"}},
            "only be Spread if discovery is Operator",
        ),
        ({"daemonSet": {"targetsWithoutAgent": "All"}}, "targetsWithoutAgent"),
    ],
)
def test_what_cannot_go_with_portions_is_refused(spec: dict[str, Any], said: str) -> None:
    """By whoever decides, also where no API server did."""
    [found] = findings(agent(**spec))
    assert said in str(found)


@pytest.mark.parametrize("version", ["v2.43.0", "v3.14.0"])
def test_what_can_go_with_portions_is_not(version: str) -> None:
    """From the first version on that looks for further files with jobs."""
    assert findings(agent(version=version)) == []
    assert findings(agent("Kubernetes", version="v2.42.0")) == []
    for discovery, who in (("Operator", "Spread"), ("Kubernetes", "Nobody")):
        settings = {"discovery": discovery, "targetsWithoutAgent": who}
        assert findings(agent(None, daemonSet=settings)) == []


@pytest.mark.parametrize("value", ["https://a.b:8443", "https://a.b:8443/", "https://[::1]:1"])
def test_the_url_for_agents_is_one_of_a_server(value: str) -> None:
    """With or without a slash at its end."""
    server = operator_settings([f"--node-discovery-url={value}"]).objects.node_server
    assert server == NodeServer(url=value.removesuffix("/"))


@pytest.mark.parametrize("value", ["http://a.b", "a.b:8443", "https://a.b/path", "https://a b"])
def test_any_other_url_for_agents_is_refused(value: str) -> None:
    """Portions hold credentials, and nothing else is served there."""
    with pytest.raises(FieldError, match="node-discovery-url"):
        operator_settings([f"--node-discovery-url={value}"])


def test_without_the_url_nobody_gives_portions() -> None:
    """That is the default."""
    assert operator_settings([]).objects.node_server is None
