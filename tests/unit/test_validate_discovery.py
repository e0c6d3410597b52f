"""What each discovery documents as wrong is refused, with the path to the field."""

from typing import Any

import pytest

from stoker.api.decode import convert
from stoker.api.scrapeconfig.v1alpha1 import ScrapeConfig
from stoker.validate.discovery import DISCOVERIES
from stoker.validate.findings import Finding, Reason
from stoker.validate.reading import ScraperReading
from stoker.validate.scrapeconfig import scrape_config
from tests.unit.discovery_examples import EXAMPLES
from tests.unit.test_generate_scrapeconfig import SECRETS, discovery_fields, draft_for
from tests.unit.test_validate import found as found_in_shop
from tests.unit.test_validate import key


def found(field: str, entry: dict[str, Any], **settings: Any) -> dict[str, Reason]:
    """What is found in one entry of a discovery: the reason by path below it."""
    seen = found_in_shop("scrape", {field: [entry]}, **settings)
    return {path.removeprefix(f"{field}[0]").removeprefix("."): why for path, why in seen.items()}


def in_team(
    field: str, entry: dict[str, Any], version: str
) -> tuple[list[Finding], ScraperReading]:
    """What is found where the Secrets of the examples are, and what was used for it."""
    config = {"metadata": {"namespace": "team", "name": "it"}, "spec": {field: [entry]}}
    scope = ScraperReading(draft_for(version).scraper, SECRETS, "team")
    return list(scrape_config(convert(ScrapeConfig, config), scope)), scope


TRITON = {"account": "a", "dnsSuffix": "b", "endpoint": "c"}
UYUNI = {"server": "https://uyuni", "username": "me", "password": key("password")}
OUTSCALE = {"accessKey": key("user"), "secretKey": key("password")}
ZOOKEEPER = {"servers": ["zookeeper"], "paths": ["/"]}
OCI = {
    "region": "eu",
    "tenancy": "t",
    "user": "u",
    "fingerprint": "f",
    "privateKey": key("key", "tls"),
}
MARATHON = {"servers": ["http://marathon"], "authToken": key("token")}
SIGNED = {
    "clientId": {"secret": key("user")},
    "tokenUrl": "https://login",
    "grantType": "JWTBearer",
    "clientCertificateKey": key("key", "tls"),
}
STACKIT = {"project": "shop"}


def less(entry: dict[str, Any], name: str) -> dict[str, Any]:
    """The entry without one of its fields."""
    return {each: value for each, value in entry.items() if each != name}


@pytest.mark.parametrize(
    ("field", "entry", "findings"),
    [
        ("awsSDConfigs", {"role": "EC2"}, {}),
        ("awsSDConfigs", {}, {"role": Reason.REQUIRED}),
        ("awsSDConfigs", {"role": "ECS", "filters": [{"name": "a", "values": ["b"]}]},
         {"filters": Reason.CONFLICT}),
        ("awsSDConfigs", {"role": "EC2", "clusters": ["a"]}, {"clusters": Reason.CONFLICT}),
        ("awsSDConfigs", {"role": "RDS", "clusters": ["a"]}, {}),
        ("awsSDConfigs", {"role": "EC2", "secretKey": key("no")},
         {"secretKey": Reason.KEY_NOT_FOUND}),
        ("ecsSDConfigs", {"clusters": ["a", ""]}, {"clusters[1]": Reason.REQUIRED}),
        ("ecsSDConfigs", {"requestConcurrency": 0}, {"requestConcurrency": Reason.INVALID_VALUE}),
        ("mskSDConfigs", {"requestConcurrency": -1}, {"requestConcurrency": Reason.INVALID_VALUE}),
        ("elastiCacheSDConfigs", {"accessKey": {"key": "a", "name": "gone"}},
         {"accessKey": Reason.SECRET_NOT_FOUND}),
        ("marathonSDConfigs", MARATHON, {}),
        ("marathonSDConfigs", {}, {"servers": Reason.REQUIRED}),
        ("marathonSDConfigs", {"servers": ["marathon:8080"]},
         {"servers[0]": Reason.INVALID_VALUE}),
        ("marathonSDConfigs", MARATHON | {"authorization": {"credentials": key("token")}},
         {"authToken": Reason.CONFLICT}),
        ("marathonSDConfigs",
         MARATHON | {"basicAuth": {"username": key("user"), "password": key("password")}},
         {"authToken": Reason.CONFLICT}),
        ("marathonSDConfigs", MARATHON | {"authToken": key("no")},
         {"authToken": Reason.KEY_NOT_FOUND}),
        ("nerveSDConfigs", ZOOKEEPER, {}),
        ("nerveSDConfigs", less(ZOOKEEPER, "servers"), {"servers": Reason.REQUIRED}),
        ("nerveSDConfigs", less(ZOOKEEPER, "paths"), {"paths": Reason.REQUIRED}),
        ("nerveSDConfigs", ZOOKEEPER | {"timeout": "soon"}, {"timeout": Reason.INVALID_VALUE}),
        ("serversetSDConfigs", ZOOKEEPER | {"paths": ["/a", "b"]},
         {"paths[1]": Reason.INVALID_VALUE}),
        ("ociSDConfigs", OCI, {}),
        ("ociSDConfigs", less(OCI, "region"), {"region": Reason.REQUIRED}),
        ("ociSDConfigs", less(OCI, "tenancy"), {"tenancy": Reason.REQUIRED}),
        ("ociSDConfigs", less(OCI, "user"), {"user": Reason.REQUIRED}),
        ("ociSDConfigs", less(OCI, "fingerprint"), {"fingerprint": Reason.REQUIRED}),
        ("ociSDConfigs", less(OCI, "privateKey"), {"privateKey": Reason.REQUIRED}),
        ("ociSDConfigs", OCI | {"privateKey": key("no")}, {"privateKey": Reason.KEY_NOT_FOUND}),
        ("ociSDConfigs", OCI | {"compartments": [""]}, {"compartments[0]": Reason.REQUIRED}),
        ("ociSDConfigs", OCI | {"refreshInterval": "0s"},
         {"refreshInterval": Reason.INVALID_VALUE}),
        ("ociSDConfigs", {"region": "eu", "authenticationMethod": "InstancePrincipal"}, {}),
        ("ociSDConfigs",
         {"region": "eu", "authenticationMethod": "InstancePrincipal", "user": "u"},
         {"user": Reason.CONFLICT}),
        ("outscaleSDConfigs", OUTSCALE, {}),
        ("outscaleSDConfigs", less(OUTSCALE, "accessKey"), {"accessKey": Reason.REQUIRED}),
        ("outscaleSDConfigs", OUTSCALE | {"secretKey": key("empty")},
         {"secretKey": Reason.INVALID_VALUE}),
        ("outscaleSDConfigs", OUTSCALE | {"endpoint": "api"}, {"endpoint": Reason.INVALID_VALUE}),
        ("stackitSDConfigs", STACKIT, {}),
        ("stackitSDConfigs", {}, {"project": Reason.REQUIRED}),
        ("stackitSDConfigs", STACKIT | {"endpoint": "http://%zz"},
         {"endpoint": Reason.INVALID_VALUE}),
        ("stackitSDConfigs", STACKIT | {"serviceAccountKey": key("no")},
         {"serviceAccountKey": Reason.KEY_NOT_FOUND}),
        ("tritonSDConfigs", TRITON, {}),
        ("tritonSDConfigs", less(TRITON, "account"), {"account": Reason.REQUIRED}),
        ("tritonSDConfigs", less(TRITON, "dnsSuffix"), {"dnsSuffix": Reason.REQUIRED}),
        ("tritonSDConfigs", less(TRITON, "endpoint"), {"endpoint": Reason.REQUIRED}),
        ("tritonSDConfigs", TRITON | {"refreshInterval": "0"},
         {"refreshInterval": Reason.INVALID_VALUE}),
        ("tritonSDConfigs", TRITON | {"groups": ["a"]}, {}),
        ("tritonSDConfigs", TRITON | {"role": "CN", "groups": ["a"]}, {"groups": Reason.CONFLICT}),
        ("uyuniSDConfigs", UYUNI, {}),
        ("uyuniSDConfigs", less(UYUNI, "server"), {"server": Reason.INVALID_VALUE}),
        ("uyuniSDConfigs", less(UYUNI, "username"), {"username": Reason.REQUIRED}),
        ("uyuniSDConfigs", less(UYUNI, "password"), {"password": Reason.REQUIRED}),
        ("uyuniSDConfigs", UYUNI | {"password": key("empty")}, {"password": Reason.INVALID_VALUE}),
        ("vultrSDConfigs", {}, {}),
        ("vultrSDConfigs", {"authorization": {"type": "Basic"}},
         {"authorization.type": Reason.INVALID_VALUE}),
    ],
)  # fmt: skip
def test_each_documented_constraint_has_its_path(
    field: str, entry: dict[str, Any], findings: dict[str, Reason]
) -> None:
    """One mistake, one finding; and none where there is no mistake."""
    assert found(field, entry) == findings


@pytest.mark.parametrize(
    ("field", "entry", "where", "before", "since"),
    [
        ("awsSDConfigs", {"role": "MSK"}, "role", "3.9.1", "3.10.0"),
        ("awsSDConfigs", {"role": "ElastiCache"}, "role", "3.10.0", "3.11.0"),
        ("awsSDConfigs", {"role": "RDS"}, "role", "3.10.0", "3.11.0"),
        ("awsSDConfigs", {"role": "RDS", "filters": [{"name": "a", "values": ["b"]}]},
         "filters", "3.12.0", "3.13.0"),
        ("rdsSDConfigs", {"filters": [{"name": "a", "values": ["b"]}]},
         "filters", "3.12.0", "3.13.0"),
        ("digitalOceanSDConfigs", {"role": "Databases"}, "role", "3.11.3", "3.12.0"),
        ("tritonSDConfigs", TRITON | {"role": "CN"}, "role", "2.18.0", "2.19.0"),
        ("stackitSDConfigs", STACKIT | {"oauth2": SIGNED}, "oauth2.grantType", "3.7.3", "3.8.0"),
    ],
)  # fmt: skip
def test_what_would_find_other_targets_is_refused_before_its_version(
    field: str, entry: dict[str, Any], where: str, before: str, since: str
) -> None:
    """Leaving it out would not do."""
    assert found(field, entry, version=f"v{before}") == {where: Reason.UNSUPPORTED_VERSION}
    assert found(field, entry, version=f"v{since}") == {}


NEWEST = "v3.15.0"


NEW = [row for row in DISCOVERIES if row.since]


@pytest.mark.parametrize("row", NEW, ids=lambda row: row.field)
def test_a_discovery_newer_than_the_prometheus_is_refused_with_its_version(row: Any) -> None:
    """As a whole, and the message names the version that it takes."""
    major, minor, _ = map(int, row.since.split("."))
    before = f"v{major}.{minor - 1}.0" if minor else "v2.55.1"
    name = discovery_fields()[row.field].encode_name
    refused, _ = in_team(name, EXAMPLES[name][0], before)
    (whole,) = (one for one in refused if one.path == f"spec.{name}")
    assert whole.reason is Reason.UNSUPPORTED_VERSION
    assert row.since in whole.message


@pytest.mark.parametrize("field", EXAMPLES)
def test_the_full_examples_are_accepted_by_the_newest_version(field: str) -> None:
    """They would be no examples otherwise; certificates aside, which are not real ones."""
    refused, _ = in_team(field, EXAMPLES[field][0], NEWEST)
    assert [one for one in refused if ".tlsConfig" not in one.path] == []


REFRESHED = [field for field, (entry, _) in EXAMPLES.items() if "refreshInterval" in entry]


@pytest.mark.parametrize("field", REFRESHED)
def test_no_discovery_may_look_without_a_pause(field: str) -> None:
    """Prometheus would stop with a panic, and all its targets with it."""
    entry = EXAMPLES[field][0] | {"refreshInterval": "0s"}
    refused, _ = in_team(field, entry, NEWEST)
    assert f"spec.{field}[0].refreshInterval" in [one.path for one in refused]


def test_denied_files_are_denied_to_every_discovery_that_could_name_one() -> None:
    """One policy: lists of targets and the socket of a Docker daemon; by default they may."""
    deny = {"arbitraryFSAccessThroughSMs": {"deny": True}}
    targets = {"files": ["/etc/targets.json"]}
    socket = {"host": "unix:///var/run/docker.sock"}
    swarm = socket | {"role": "Nodes"}
    forbidden = Reason.FILE_ACCESS_FORBIDDEN
    assert found("fileSDConfigs", targets, **deny) == {"files": forbidden}
    assert found("dockerSDConfigs", socket, **deny) == {"host": forbidden}
    assert found("dockerSwarmSDConfigs", swarm, **deny) == {"host": forbidden}
    assert found("dockerSDConfigs", {"host": "tcp://docker:2375"}, **deny) == {}
    for field, entry in (("fileSDConfigs", targets), ("dockerSDConfigs", socket)):
        assert found(field, entry) == {}


def test_a_private_key_that_prometheus_wants_as_a_file_is_mounted() -> None:
    """It is kept with the certificates, under the name that the configuration has."""
    refused, scope = in_team("ociSDConfigs", EXAMPLES["ociSDConfigs"][0], NEWEST)
    assert refused == []
    assert scope.files == {"0_team_cloud_token": "t0ken"}


@pytest.mark.parametrize("where", ["", "httpSDConfigs"])
@pytest.mark.parametrize(
    ("name", "header", "path", "reason"),
    [
        ("authorization", {"values": ["x"]}, "[authorization]", Reason.INVALID_VALUE),
        ("X-Prometheus-Scrape-Timeout-Seconds", {"values": ["1"]},
         "[X-Prometheus-Scrape-Timeout-Seconds]", Reason.INVALID_VALUE),
        ("X Team", {"values": ["x"]}, "[X Team]", Reason.INVALID_VALUE),
        ("X-Team", {"secrets": [key("user"), key("no")]}, "[X-Team].secrets[1]",
         Reason.KEY_NOT_FOUND),
    ],
)  # fmt: skip
def test_headers_that_cannot_be_sent_are_refused(
    where: str, name: str, header: dict[str, Any], path: str, reason: Reason
) -> None:
    """In the job and in a discovery."""
    headers = {"httpHeaders": {name: header}}
    spec = {where: [{"url": "http://a", **headers}]} if where else headers
    above = f"{where}[0]." if where else ""
    assert found_in_shop("scrape", spec) == {f"{above}httpHeaders{path}": reason}


def test_a_client_that_signs_its_tokens_needs_its_key_and_no_secret() -> None:
    """And the key must be there."""
    assert found("stackitSDConfigs", STACKIT | {"oauth2": SIGNED}) == {}
    without = less(SIGNED, "clientCertificateKey")
    assert found("stackitSDConfigs", STACKIT | {"oauth2": without}) == {
        "oauth2.clientCertificateKey": Reason.REQUIRED
    }


def test_headers_for_kubernetes_need_an_api_server() -> None:
    """Like every other setting of the HTTP client."""
    headers = {"role": "Pod", "httpHeaders": {"X-Team": {"values": ["shop"]}}}
    assert found("kubernetesSDConfigs", headers) == {"": Reason.CONFLICT}
    assert found("kubernetesSDConfigs", headers | {"apiServer": "https://other"}) == {}
