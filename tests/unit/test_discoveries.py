"""What Prometheus itself can read, held against what we write: nothing missing, nothing too early.

`tests/data/discoveries.json` comes from Prometheus' source (`python -m tools.discoveries`). Full
examples are written for the versions around the beginning of each member: the first that was seen
with it must have it, the last without it must not. What we leave out is named with the reason, and
so is what we hold back longer than Prometheus would.
"""

import json
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

from stoker.api.common import ScrapeProtocol
from stoker.api.decode import convert
from stoker.api.schema import schema_of
from stoker.api.scrapeconfig.v1alpha1 import ScrapeConfig
from stoker.errors import ResourceError
from stoker.generate.block import Block
from stoker.generate.discovery import DISCOVERIES
from stoker.validate.findings import Reason
from stoker.validate.reading import ScraperReading
from stoker.validate.scrapeconfig import scrape_config
from tests.unit.discovery_examples import CREDENTIALS, EXAMPLES, HTTP, LOGINS, OAUTH2, key
from tests.unit.test_generate_scrapeconfig import (
    SECRETS,
    discovery_fields,
    draft_for,
    entry_type,
    job_of,
)

FACTS = json.loads((Path(__file__).parent.parent / "data" / "discoveries.json").read_text())
KNOWN: dict[str, dict[str, Any]] = FACTS["configurations"]
JOB, CLIENT, SINCE = "<job>", "<http>", "<since>"
FIELDS = {row.name: row.field or row.name for row in DISCOVERIES}

# {member: why we do not have it}, for every configuration
NOWHERE = {
    "*_file": "a Secret reference takes the place of a file with credentials",
    "*_path": "a Secret reference takes the place of a file with credentials",
    "*_ref": "Prometheus has no secret manager that could be named",
    "*bearer_token": "deprecated: `authorization` says the same",
    "*tls_config.ca": "certificates and keys become files",
    "*tls_config.cert": "certificates and keys become files",
    "*tls_config.key": "certificates and keys become files",
}
SIGNED_REQUESTS = dict.fromkeys(("basic_auth", "authorization", "oauth2"), "requests are signed")
NO_PASSWORDS = {"basic_auth": "the API takes tokens only"}
# {configuration: {member: why we do not have it}}
OMITTED: dict[str, dict[str, str]] = {
    JOB: {
        "scrape_failure_log_file": "a tenant must not choose a file that Prometheus writes",
        "*=OpenMetricsText2.0.0": "behind a feature flag; the words are shared by all kinds",
    },
    "consul_sd_configs": {
        "username": "`basicAuth` says the same",
        "password": "`basicAuth` says the same",
    },
    "scaleway_sd_configs": SIGNED_REQUESTS,
    "outscale_sd_configs": SIGNED_REQUESTS,
    "oci_sd_configs": SIGNED_REQUESTS,
    "digitalocean_sd_configs": NO_PASSWORDS,
    "ionos_sd_configs": NO_PASSWORDS,
    "linode_sd_configs": NO_PASSWORDS,
    "vultr_sd_configs": NO_PASSWORDS,
    **{f"{name}_sd_configs": SIGNED_REQUESTS for name in ("aws", "ec2", "ecs", "msk", "rds")},
    "elasticache_sd_configs": SIGNED_REQUESTS,
}
# {configuration: {member: why we write it later than Prometheus could read it}}
LATER: dict[str, dict[str, str]] = {
    JOB: {"metric_name_validation_scheme": "a feature flag guards it until 3.0"},
    CLIENT: {
        "http_headers": "released with 2.55, which is the first to document and test it",
        "proxy_connect_header": "from 2.43 on, with the other settings of a proxy, as the peer",
        "oauth2.proxy_url": "from 2.43 on, as the peer",
        "oauth2.tls_config*": "from 2.43 on, as the peer",
    },
    "docker_sd_configs": {"match_first_network": "2.54.0 can crash with it, 2.54.1 cannot"},
}

FULL_JOB = {
    "jobName": "shop",
    "metricsPath": "/federate",
    "scheme": "HTTPS",
    "params": {"match[]": ["up"]},
    "scrapeInterval": "15s",
    "scrapeTimeout": "10s",
    "relabelings": [{"targetLabel": "a", "replacement": "b"}],
    "metricRelabelings": [{"targetLabel": "a", "replacement": "b"}],
    "honorLabels": True,
    "honorTimestamps": False,
    "trackTimestampsStaleness": True,
    "enableCompression": False,
    "extraScrapeMetrics": True,
    "bodySizeLimit": "1MB",
    "sampleLimit": 1,
    "targetLimit": 1,
    "labelLimit": 1,
    "labelNameLengthLimit": 1,
    "labelValueLengthLimit": 1,
    "keepDroppedTargets": 1,
    "nativeHistogramBucketLimit": 1,
    "nativeHistogramMinBucketFactor": "1.1",
    "scrapeNativeHistograms": True,
    "scrapeClassicHistograms": True,
    "convertClassicHistogramsToNHCB": True,
    "scrapeProtocols": ["PrometheusProto"],
    "fallbackScrapeProtocol": "PrometheusProto",
    "nameValidationScheme": "UTF8",
    "nameEscapingScheme": "AllowUTF8",
}
FULL_TLS = {
    "insecureSkipVerify": True,
    "ca": {"secret": key("ca")},
    "cert": {"secret": key("cert")},
    "keySecret": key("key"),
    "serverName": "x",
    "minVersion": "TLS12",
    "maxVersion": "TLS13",
}
PROXIES = {name: HTTP[name] for name in ("proxyUrl", "noProxy", "proxyConnectHeader")}
FULL_HTTP = HTTP | {"tlsConfig": FULL_TLS, "proxyFromEnvironment": True}


def ways_to_log_in() -> list[dict[str, Any]]:
    """All credentials, each with every setting."""
    more = PROXIES | {"proxyFromEnvironment": True, "tlsConfig": FULL_TLS}
    return [
        {name: value | more if name == "oauth2" else value for name, value in way.items()}
        for way in CREDENTIALS
    ]


def full_entries(field: str) -> Iterator[dict[str, Any]]:
    """Examples of a discovery that together have every setting, each role among them."""
    model = entry_type(field)
    example = EXAMPLES[discovery_fields()[field].encode_name][0]
    names = set(model.__struct_encode_fields__)
    without = {name: value for name, value in example.items() if name not in LOGINS}
    http = FULL_HTTP if HTTP.keys() <= names else {}
    yield example
    for choice in choices(model):
        for way in [{}, *(way for way in ways_to_log_in() if way.keys() <= names)]:
            yield without | http | way | choice


def choices(model: Any) -> Iterator[dict[str, Any]]:
    """Each word of the fields that decide what sort of target is found."""
    properties = schema_of(model)["properties"]
    yield {}
    for name in {"role", "type"} & properties.keys():
        for word in properties[name].get("enum", ()):
            yield {name: word}
            if "selectors" in properties:
                yield {name: word, "selectors": [{name: word}]}


def full_jobs() -> Iterator[dict[str, Any]]:
    """Examples of a job, with each protocol."""
    for protocol in get_args(ScrapeProtocol)[1].constraints["enum"]:
        protocols = {"scrapeProtocols": [protocol], "fallbackScrapeProtocol": protocol}
        yield FULL_JOB | FULL_HTTP | protocols


@cache
def written(configuration: str, version: str) -> frozenset[str]:
    """The members, and the words of a choice, that the full examples become in a version."""
    if configuration == JOB:
        jobs = (job_of(job, draft_for(f"v{version}")) for job in full_jobs())
        return frozenset(name for job in jobs for name in members_of(job))
    field = FIELDS["http_sd_configs" if configuration == CLIENT else configuration]
    entries = full_entries(field)
    return frozenset(name for each in entries for name in entry_members(field, each, version))


def taken(field: str, entry: dict[str, Any], version: str) -> dict[str, Any]:
    """The spec with one entry, less what is refused because the version does not know it."""
    name = discovery_fields()[field].encode_name
    config = {"metadata": {"namespace": "team", "name": "it"}, "spec": {name: [entry]}}
    scope = ScraperReading(draft_for(f"v{version}").scraper, SECRETS, "team")
    findings = scrape_config(convert(ScrapeConfig, config), scope)
    refused = {one.path for one in findings if one.reason is Reason.UNSUPPORTED_VERSION}
    if f"spec.{name}" in refused:
        return {}
    left = {key: value for key, value in entry.items() if f"spec.{name}[0].{key}" not in refused}
    return {name: [left]}


def entry_members(field: str, entry: dict[str, Any], version: str) -> Iterator[str]:
    """The members of one entry; none where the version cannot have it."""
    try:
        job = job_of(taken(field, entry, version), draft_for(f"v{version}"))
    except ResourceError:
        return
    names = {member for member, its_field in FIELDS.items() if its_field == field}
    for each in (job[name] for name in names if name in job):
        yield from members_of(each[0])


def members_of(block: Block, above: str = "") -> Iterator[str]:
    """The names of a block's members, those of inner blocks with the outer name before them."""
    for name, value in block.items():
        yield above + name
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, dict):
                yield from members_of(each, f"{above}{name}.")
            else:
                yield f"{above}{name}={each}"


def reason_in(rows: dict[str, str], member: str) -> str:
    """Why a table excuses a member; nothing where it does not."""
    return next((why for name, why in rows.items() if fnmatchcase(member, name)), "")


def omission(configuration: str, member: str) -> str:
    """Why a member is left out; nothing where it is not meant to be."""
    return reason_in(NOWHERE | OMITTED.get(configuration, {}), member)


def known_members() -> list[tuple[str, str]]:
    """Every member of every configuration that the newest Prometheus reads."""
    return [
        (configuration, member)
        for configuration, its_members in KNOWN.items()
        for member in its_members
        if member not in (SINCE, CLIENT)
    ]


def test_every_registered_discovery_is_ours() -> None:
    """And nothing that Prometheus does not register."""
    assert {name for name in KNOWN if name not in (JOB, CLIENT)} == set(FIELDS)


@pytest.mark.parametrize(("configuration", "member"), known_members())
def test_every_member_is_written_or_named_as_left_out(configuration: str, member: str) -> None:
    """For the newest version; what is named as left out is indeed not written."""
    there = member in written(configuration, FACTS["prometheus"])
    assert there or omission(configuration, member)
    assert not (there and reason_in(OMITTED.get(configuration, {}), member))


@pytest.mark.parametrize(("configuration", "member"), known_members())
def test_a_member_is_written_from_the_version_that_has_it(configuration: str, member: str) -> None:
    """Not before: an older Prometheus would refuse the whole file."""
    facts = KNOWN[configuration][member]
    if member not in written(configuration, FACTS["prometheus"]):
        return
    if "absent" in facts:
        assert member not in written(configuration, facts["absent"])
    there = member in written(configuration, facts["present"])
    assert there != bool(reason_in(LATER.get(configuration, {}), member))


def http_configurations() -> list[str]:
    """Configurations that have the settings of an HTTP client."""
    return [name for name, its_members in KNOWN.items() if CLIENT in its_members]


@pytest.mark.parametrize("configuration", [name for name in http_configurations() if name != JOB])
def test_settings_of_the_http_client_are_complete_or_named_as_left_out(configuration: str) -> None:
    """Every discovery over HTTP has them, from the version on that has them."""
    facts = KNOWN[configuration][CLIENT]
    client = [member for member in KNOWN[CLIENT] if "." not in member and member != SINCE]
    ours = written(configuration, FACTS["prometheus"])
    missing = [member for member in client if member not in ours]
    assert [one for one in missing if not omission(configuration, one)] == []
    assert "tls_config" in written(configuration, facts["present"])
    if "absent" in facts:
        assert not {"tls_config", "proxy_url"} & written(configuration, facts["absent"])


def test_the_scrape_job_has_all_settings_of_the_http_client() -> None:
    """It can log in and be sent through a proxy as discoveries can."""
    specs = [FULL_HTTP | way for way in ways_to_log_in()]
    found = {name for spec in specs for name in members_of(job_of(spec))}
    missing = [one for one in KNOWN[CLIENT] if one != SINCE and one not in found]
    assert [one for one in missing if not omission(CLIENT, one)] == []


@pytest.mark.parametrize("row", DISCOVERIES, ids=lambda row: row.name)
def test_what_must_be_set_for_prometheus_must_be_set_in_ours(row: Any) -> None:
    """Unless it has a default, which we leave to Prometheus."""
    model = entry_type(row.field or row.name)
    json_names = {field.name: field.encode_name for field in msgspec.structs.fields(model)}
    fields = {one.name: json_names[one.field or one.name] for one in row.write.table}
    needed = {
        fields[member]
        for member, facts in KNOWN[row.name].items()
        if facts.get("required") and "default" not in facts
    }
    assert needed <= set(schema_of(model).get("required", ()))


@pytest.mark.parametrize("table", [OMITTED, LATER], ids=["omitted", "later"])
def test_excuses_are_for_members_that_exist(table: dict[str, dict[str, str]]) -> None:
    """A name that is no longer there has been forgotten."""
    idle = [
        (configuration, pattern)
        for configuration, rows in table.items()
        for pattern in rows
        if not any(
            fnmatchcase(member, pattern) for member in {**KNOWN[configuration], **KNOWN[CLIENT]}
        )
    ]
    assert idle == []


def test_the_signing_of_tokens_is_among_the_examples() -> None:
    """Otherwise the members of that grant would not be compared."""
    assert any("grantType" in way.get("oauth2", {}) for way in ways_to_log_in())
    assert "grantType" not in OAUTH2
