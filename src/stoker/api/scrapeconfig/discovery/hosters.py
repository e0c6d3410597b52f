"""Targets that are rented machines: virtual, dedicated, or a database that somebody runs."""

from typing import Annotated

from stoker.api.common import Duration, Port, SafeAuthorization, Text, WebUrl
from stoker.api.core import SecretKeySelector
from stoker.api.declare import NO_TEXT, Model, doc, names
from stoker.api.scrapeconfig.discovery.shared import (
    AuthenticatedDiscovery,
    DiscoveryTls,
    HttpDiscovery,
    TagSeparator,
    TargetPort,
    TokenDiscovery,
    refreshed,
)


class DigitalOceanDiscovery(TokenDiscovery):
    """Targets that are DigitalOcean droplets, by public address, or its managed databases.

    Needs an API token with read access, in `authorization` or from `oauth2`.
    """

    role: Annotated[
        str | None,
        doc(
            "What becomes a target. Unset: `Droplets`. Needs Prometheus 3.12 or newer.",
            enum=("Droplets", "Databases"),
        ),
    ] = None
    port: TargetPort = None
    refresh_interval: Annotated[Duration | None, refreshed("1m")] = None


class HetznerDiscovery(AuthenticatedDiscovery):
    """Targets that are Hetzner servers, by public address.

    The role `Hcloud` needs an API token in `authorization`, the role `Robot` needs `basicAuth`.
    """

    role: Annotated[
        str,
        doc("`Hcloud` for cloud servers, `Robot` for dedicated ones.", enum=("Hcloud", "Robot")),
    ] = NO_TEXT
    label_selector: Annotated[
        Text | None,
        doc(
            "Label selector for the servers. Role `Hcloud` only. Unset: all. "
            "Needs Prometheus 3.5 or newer."
        ),
    ] = None
    port: TargetPort = None
    refresh_interval: Annotated[Duration | None, refreshed("1m")] = None


class IonosDiscovery(TokenDiscovery, rename=names(datacenter_id="datacenterID")):
    """Targets that are servers in an IONOS Cloud data center, by their first address."""

    datacenter_id: Annotated[Text, doc("Id of the data center in which to look.")] = NO_TEXT
    authorization: Annotated[
        SafeAuthorization, doc("`Authorization` header to send, with an IONOS API token.")
    ] = SafeAuthorization()
    port: TargetPort = None
    refresh_interval: Annotated[Duration | None, refreshed("1m")] = None


class LinodeDiscovery(TokenDiscovery):
    """Targets that are Linode instances, by public address.

    Needs a token that may read Linodes, IPs and events, in `authorization` or from `oauth2`.
    """

    region: Annotated[
        Text | None,
        doc("Region in which to look. Unset: all. Needs Prometheus 2.52 or newer."),
    ] = None
    tag_separator: TagSeparator = None
    port: TargetPort = None
    refresh_interval: Annotated[Duration | None, refreshed("1m")] = None


class ScalewayDiscovery(HttpDiscovery, rename=names(project_id="projectID", api_url="apiURL")):
    """Targets that are Scaleway instances or bare metal servers."""

    role: Annotated[str, doc("What becomes a target.", enum=("Instance", "Baremetal"))] = NO_TEXT
    project_id: Annotated[Text, doc("Id of the project in which to look.")] = NO_TEXT
    access_key: Annotated[Text, doc("Access key of the API key.")] = NO_TEXT
    secret_key: Annotated[
        SecretKeySelector, doc("Secret key with the secret part of the API key.")
    ] = SecretKeySelector()
    zone: Annotated[Text | None, doc("Zone in which to look. Unset: `fr-par-1`.")] = None
    name_filter: Annotated[Text | None, doc("Name to filter the servers by. Unset: all.")] = None
    tags_filter: Annotated[
        tuple[Text, ...] | None,
        doc("Tags to filter the servers by. Unset: all.", minItems=1, listType="set"),
    ] = None
    api_url: Annotated[WebUrl | None, doc("URL of the API. Unset: `https://api.scaleway.com`.")] = (
        None
    )
    port: TargetPort = None
    refresh_interval: Annotated[Duration | None, refreshed("1m")] = None


class TritonDiscovery(Model):
    """Targets that Triton's Container Monitor tells of: virtual machines or compute nodes."""

    account: Annotated[Text, doc("Account whose targets to list.")] = NO_TEXT
    dns_suffix: Annotated[Text, doc("DNS suffix of the targets' names.")] = NO_TEXT
    endpoint: Annotated[Text, doc("Host of the discovery, e.g. `cmon.us-east-3b.triton.zone`.")] = (
        NO_TEXT
    )
    role: Annotated[
        str | None,
        doc(
            "`Container` for virtual machines, `CN` for compute nodes, which takes an operator's "
            "account. Unset: `Container`. `CN` needs Prometheus 2.19 or newer.",
            enum=("Container", "CN"),
        ),
    ] = None
    groups: Annotated[
        tuple[Text, ...] | None,
        doc("Groups in which to look. Role `Container` only. Unset: all.", listType="set"),
    ] = None
    version: Annotated[
        int | None, doc("Version of the discovery's API. Unset: 1.", format="int32", minimum=1)
    ] = None
    tls_config: DiscoveryTls = None
    port: Annotated[Port | None, doc("Port of the discovery and of the targets. Unset: 9163.")] = (
        None
    )
    refresh_interval: Annotated[Duration | None, refreshed("1m")] = None


class VultrDiscovery(TokenDiscovery):
    """Targets that are Vultr instances, by public address. Needs an API key in `authorization`."""

    port: TargetPort = None
    refresh_interval: Annotated[Duration | None, refreshed("1m")] = None
