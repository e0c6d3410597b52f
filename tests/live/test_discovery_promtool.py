"""Prometheus itself reads what every discovery is turned into."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from stoker.generate.block import text_of
from tests.unit.discovery_examples import CREDENTIALS, EXAMPLES, HTTP, LOGINS, key
from tests.unit.test_generate_scrapeconfig import discovery_fields, entry_type, job_of
from tools.build import binaries

# The least that Prometheus takes, for each discovery that needs anything at all.
LEAST: dict[str, dict[str, Any]] = {
    "fileSDConfigs": {"files": ["/targets.yaml"]},
    "httpSDConfigs": {"url": "http://inventory"},
    "dnsSDConfigs": {"names": ["example.com"]},
    "kubernetesSDConfigs": {"role": "Node"},
    "consulSDConfigs": {"server": "consul:8500"},
    "nomadSDConfigs": {"server": "http://nomad:4646"},
    "eurekaSDConfigs": {"server": "http://eureka:8761/eureka"},
    "kumaSDConfigs": {"server": "http://kuma:5676"},
    "puppetDBSDConfigs": {"url": "https://puppetdb", "query": "nodes { }"},
    "dockerSDConfigs": {"host": "unix:///var/run/docker.sock"},
    "dockerSwarmSDConfigs": {"host": "tcp://manager:2375", "role": "Nodes"},
    "ec2SDConfigs": {"region": "eu-west-1"},
    "lightSailSDConfigs": {"region": "eu-west-1"},
    "azureSDConfigs": {"subscriptionID": "x", "authenticationMethod": "ManagedIdentity"},
    "gceSDConfigs": {"project": "shop", "zone": "europe-west1-b"},
    "digitalOceanSDConfigs": {},
    "hetznerSDConfigs": {
        "role": "Robot",
        "basicAuth": {"username": key("id"), "password": key("password")},
    },
    "ionosSDConfigs": {"datacenterID": "dc", "authorization": {"credentials": key("token")}},
    "linodeSDConfigs": {},
    "openstackSDConfigs": {"role": "Instance", "region": "eu"},
    "ovhcloudSDConfigs": {
        "service": "VPS",
        "applicationKey": "app",
        "applicationSecret": key("password"),
        "consumerKey": key("token"),
    },
    "scalewaySDConfigs": {
        "role": "Instance",
        "projectID": "11111111-1111-1111-1111-111111111111",
        "accessKey": "SCWXXXXXXXXXXXXXXXXX",
        "secretKey": key("uuid"),
    },
    "awsSDConfigs": {"role": "EC2"},
    "ecsSDConfigs": {},
    "elastiCacheSDConfigs": {},
    "mskSDConfigs": {},
    "rdsSDConfigs": {},
    "marathonSDConfigs": {"servers": ["http://marathon"]},
    "nerveSDConfigs": {"servers": ["zookeeper"], "paths": ["/nerve"]},
    "serversetSDConfigs": {"servers": ["zookeeper"], "paths": ["/"]},
    "ociSDConfigs": {"region": "eu-frankfurt-1", "authenticationMethod": "InstancePrincipal"},
    "outscaleSDConfigs": {"accessKey": key("id"), "secretKey": key("password")},
    "stackitSDConfigs": {"project": "shop"},
    "tritonSDConfigs": {"account": "shop", "dnsSuffix": "triton", "endpoint": "cmon"},
    "uyuniSDConfigs": {
        "server": "https://uyuni",
        "username": "prometheus",
        "password": key("password"),
    },
    "vultrSDConfigs": {},
}


def refusal(spec: dict[str, Any], folder: Path) -> str:
    """Say why promtool refuses the job of a ScrapeConfig; nothing where it does not."""
    file = folder / "prometheus.yaml"
    file.write_text(text_of({"scrape_configs": [job_of(spec)]}))
    promtool = binaries("promtool")["promtool"]
    command = [str(promtool), "check", "config", "--syntax-only", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else f"{done.stdout}{done.stderr}\n{file.read_text()}"


@pytest.mark.parametrize("field", LEAST)
def test_prometheus_takes_the_least_that_a_discovery_needs(field: str, tmp_path: Path) -> None:
    """What is required in the declared type is enough for Prometheus."""
    assert refusal({field: [LEAST[field]]}, tmp_path) == ""


@pytest.mark.parametrize("field", EXAMPLES)
def test_prometheus_takes_every_setting_of_a_discovery(field: str, tmp_path: Path) -> None:
    """Each member has the name and the type that Prometheus expects."""
    assert refusal({field: [EXAMPLES[field][0]]}, tmp_path) == ""


def http_entries() -> list[Any]:
    """List the discoveries over HTTP, once for each way in which they can log in."""
    entries = []
    for attribute, declared in discovery_fields().items():
        names = set(entry_type(attribute).__struct_encode_fields__)
        if HTTP.keys() <= names:
            ways = [way for way in CREDENTIALS if way.keys() <= names] or [{}]
            entries += [
                pytest.param(declared.encode_name, way, id="-".join((attribute, *way, str(number))))
                for number, way in enumerate(ways)
            ]
    return entries


@pytest.mark.parametrize(("field", "way"), http_entries())
def test_prometheus_takes_the_settings_of_http_everywhere(
    field: str, way: dict[str, Any], tmp_path: Path
) -> None:
    """A discovery that the type lets log in can do so in Prometheus."""
    least = {name: value for name, value in LEAST[field].items() if name not in LOGINS}
    entry = {**least, **HTTP, **way}
    if field == "kubernetesSDConfigs":
        entry["apiServer"] = "https://other-cluster"
    assert refusal({field: [entry]}, tmp_path) == ""
