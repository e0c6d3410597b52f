"""Each way to find targets as a row: the first version that has it, and what is checked.

A discovery that the workload's version does not know is refused, and so are the fields in the table
without which other targets would be found, or none. All other fields that a version does not know
are left out by the generator and reported.
"""

from typing import Any, Final

from stoker.validate.discovery.checks import (
    DiscoveryCheck,
    address,
    at_least_one,
    key,
    more_than_zero,
    needs,
    no_blanks,
    only_with,
    refresh,
    required,
    too_old,
)
from stoker.validate.discovery.clouds import (
    FILTERED_RDS,
    aws_filters,
    azure_login,
    oci_key_file,
    oci_login,
    openstack_role,
)
from stoker.validate.discovery.kubernetes import (
    kubernetes_namespace,
    kubernetes_selectors,
    kubernetes_server,
)
from stoker.validate.discovery.lists import dns_port, docker_host, file_access, static_labels
from stoker.validate.discovery.registries import (
    consul_credentials,
    marathon_credentials,
    marathon_servers,
    zookeeper_paths,
)
from stoker.validate.findings import Findings
from stoker.validate.http import http_client
from stoker.validate.monitors import durations
from stoker.validate.reading import ScraperReading
from stoker.version import Versioned


class Discovery(Versioned, frozen=True):
    """A way to find targets: the field, and what is checked."""

    field: str
    checks: tuple[DiscoveryCheck, ...] = ()


def discoveries(
    row: Discovery, items: tuple[Any, ...], reading: ScraperReading, path: str
) -> Findings:
    """Everything about the discoveries of one sort."""
    if not row.known_to(reading.version):
        yield too_old(path, row.since)
    for index, item in enumerate(items):
        where = f"{path}[{index}]"
        yield from http_client(item, reading, where)
        yield from durations(item, where, "refresh_interval", "fetch_timeout", "timeout")
        yield from refresh(item, reading, where)
        for check in row.checks:
            yield from check(item, reading, where)


_AWS_KEYS: Final = (key("access_key"), key("secret_key"))
_CLUSTERS: Final = (
    *_AWS_KEYS,
    no_blanks("clusters"),
    more_than_zero("request_concurrency"),
)
_ZOOKEEPER: Final = (at_least_one("servers"), at_least_one("paths"), zookeeper_paths)


DISCOVERIES: Final = (
    Discovery("static_configs", checks=(static_labels,)),
    Discovery("file_sd_configs", checks=(file_access,)),
    Discovery("http_sd_configs", (address("url"),), since="2.28.0"),
    Discovery(
        "dns_sd_configs",
        checks=(dns_port, needs("type", "2.38.0", "MX"), needs("type", "2.49.0", "NS")),
    ),
    Discovery(
        "kubernetes_sd_configs",
        checks=(
            needs("role", "2.21.0", "EndpointSlice"),
            kubernetes_namespace,
            kubernetes_selectors,
            kubernetes_server,
        ),
    ),
    Discovery(
        "consul_sd_configs",
        checks=(
            required("server"),
            key("token_ref"),
            consul_credentials,
            needs("namespace", "2.28.0"),
            needs("partition", "2.40.0"),
            needs("path_prefix", "2.45.0"),
            needs("filter", "3.0.0"),
            needs("health_filter", "3.11.2"),
        ),
    ),
    Discovery("nomad_sd_configs", (address("server"),), since="2.37.0"),
    Discovery("eureka_sd_configs", (address("server", optional=True),), since="2.21.0"),
    Discovery("kuma_sd_configs", (address("server"), needs("client_id", "2.50.0")), since="2.29.0"),
    Discovery("puppetdb_sd_configs", (address("url"),), since="2.31.0"),
    Discovery(
        "docker_sd_configs", (docker_host, needs("match_first_network", "2.54.1")), since="2.27.0"
    ),
    Discovery("docker_swarm_sd_configs", (docker_host,), since="2.20.0"),
    Discovery("ec2_sd_configs", checks=_AWS_KEYS),
    Discovery("lightsail_sd_configs", _AWS_KEYS, since="2.27.0"),
    Discovery(
        "azure_sd_configs",
        checks=(
            azure_login,
            key("client_secret", filled=True),
            needs("resource_group", "2.35.0"),
            needs("authentication_method", "2.52.0", "SDK"),
            needs("authentication_method", "3.11.0", "WorkloadIdentity"),
        ),
    ),
    Discovery("gce_sd_configs"),
    Discovery("digital_ocean_sd_configs", (needs("role", "3.12.0", "Databases"),), since="2.20.0"),
    Discovery("hetzner_sd_configs", (needs("label_selector", "3.5.0"),), since="2.21.0"),
    Discovery("ionos_sd_configs", since="2.36.0"),
    Discovery("linode_sd_configs", (needs("region", "2.52.0"),), since="2.28.0"),
    Discovery(
        "openstack_sd_configs",
        checks=(openstack_role, key("password"), key("application_credential_secret")),
    ),
    Discovery(
        "ovhcloud_sd_configs",
        (key("application_secret", filled=True), key("consumer_key", filled=True)),
        since="2.40.0",
    ),
    Discovery(
        "scaleway_sd_configs",
        (key("secret_key"), address("api_url", optional=True)),
        since="2.26.0",
    ),
    Discovery(
        "aws_sd_configs",
        (
            required("role"),
            *_AWS_KEYS,
            needs("role", "3.10.0", "MSK"),
            needs("role", "3.11.0", "ElastiCache", "RDS"),
            only_with("filters", "role", "EC2", "RDS"),
            only_with("clusters", "role", "ECS", "ElastiCache", "MSK", "RDS"),
            aws_filters,
        ),
        since="3.8.0",
    ),
    Discovery("ecs_sd_configs", _CLUSTERS, since="3.8.0"),
    Discovery("elasticache_sd_configs", _CLUSTERS, since="3.11.0"),
    Discovery("msk_sd_configs", _CLUSTERS, since="3.10.0"),
    Discovery("rds_sd_configs", (*_CLUSTERS, needs("filters", FILTERED_RDS)), since="3.11.0"),
    Discovery(
        "marathon_sd_configs",
        checks=(
            at_least_one("servers"),
            marathon_servers,
            marathon_credentials,
            key("auth_token"),
        ),
    ),
    Discovery("nerve_sd_configs", checks=_ZOOKEEPER),
    Discovery("serverset_sd_configs", checks=_ZOOKEEPER),
    Discovery(
        "oci_sd_configs",
        (
            required("region"),
            no_blanks("compartments"),
            oci_login,
            oci_key_file,
            key("private_key_passphrase"),
        ),
        since="3.14.0",
    ),
    Discovery(
        "outscale_sd_configs",
        (
            key("access_key", filled=True),
            key("secret_key", filled=True),
            address("endpoint", optional=True),
        ),
        since="3.12.0",
    ),
    Discovery(
        "stackit_sd_configs",
        (
            required("project"),
            address("endpoint", optional=True),
            key("service_account_key"),
            key("private_key"),
        ),
        since="3.5.0",
    ),
    Discovery(
        "triton_sd_configs",
        checks=(
            required("account"),
            required("dns_suffix"),
            required("endpoint"),
            needs("role", "2.19.0", "CN"),
            only_with("groups", "role", "Container"),
        ),
    ),
    Discovery(
        "uyuni_sd_configs",
        (address("server"), required("username"), key("password", filled=True)),
        since="2.31.0",
    ),
    Discovery("vultr_sd_configs", since="2.36.0"),
)
