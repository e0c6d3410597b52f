"""Targets that are registered somewhere: in a catalog, an inventory, a scheduler."""

from typing import Annotated, TypeAlias

from stoker.api.common import Duration, Scheme, Text, WebUrl
from stoker.api.core import SecretKeySelector
from stoker.api.declare import NO_ITEMS, NO_TEXT, Model, doc, names, rule
from stoker.api.scrapeconfig.discovery.shared import (
    AllowStale,
    AuthenticatedDiscovery,
    TagSeparator,
    TargetPort,
    refreshed,
)


class ConsulDiscovery(AuthenticatedDiscovery):
    """Targets that are services in the catalog of Consul."""

    server: Annotated[Text, doc("Host and port of Consul, e.g. `consul:8500`.")] = NO_TEXT
    scheme: Annotated[Scheme | None, doc("Protocol to ask with. Unset: `http`.")] = None
    path_prefix: Annotated[
        Text | None, doc("Prefix of the API's path, where a gateway adds one.")
    ] = None
    token_ref: Annotated[
        SecretKeySelector | None,
        doc("Secret key with the ACL token. Excludes `authorization` and `oauth2`."),
    ] = None
    datacenter: Annotated[
        Text | None, doc("Datacenter to ask. Unset: that of the agent that answers.")
    ] = None
    namespace: Annotated[Text | None, doc("Namespace to ask. Consul Enterprise only.")] = None
    partition: Annotated[Text | None, doc("Admin partition to ask. Consul Enterprise only.")] = None
    services: Annotated[
        tuple[Text, ...] | None, doc("Services to scrape. Unset: all.", listType="set")
    ] = None
    tags: Annotated[
        tuple[Text, ...] | None,
        doc("Tags that a service must have, all of them.", listType="set"),
    ] = None
    node_meta: Annotated[
        dict[str, str] | None,
        doc("Metadata that the node of a service must have.", mapType="atomic"),
    ] = None
    filter: Annotated[
        Text | None,
        doc("Filter expression for Consul's Catalog API. Needs Prometheus 3.0 or newer."),
    ] = None
    health_filter: Annotated[
        Text | None,
        doc("Filter expression for Consul's Health API. Needs Prometheus 3.11.2 or newer."),
    ] = None
    tag_separator: TagSeparator = None
    allow_stale: AllowStale = None
    refresh_interval: Annotated[Duration | None, refreshed("30s")] = None


class NomadDiscovery(AuthenticatedDiscovery):
    """Targets that are services registered in Nomad itself."""

    server: Annotated[WebUrl, doc("URL of Nomad's API, e.g. `http://nomad:4646`.")] = NO_TEXT
    namespace: Annotated[Text | None, doc("Namespace to ask. Unset: `default`.")] = None
    region: Annotated[Text | None, doc("Region to ask. Unset: `global`.")] = None
    tag_separator: TagSeparator = None
    allow_stale: AllowStale = None
    refresh_interval: Annotated[Duration | None, refreshed("1m")] = None


class EurekaDiscovery(AuthenticatedDiscovery):
    """Targets that are instances registered in Eureka."""

    server: Annotated[WebUrl, doc("URL of Eureka's API, e.g. `http://eureka:8761/eureka`.")] = (
        NO_TEXT
    )
    refresh_interval: Annotated[Duration | None, refreshed("30s")] = None


class KumaDiscovery(AuthenticatedDiscovery, rename=names(client_id="clientID")):
    """Targets that the control plane of a Kuma mesh assigns (monitoring assignments, MADS)."""

    server: Annotated[
        WebUrl, doc("URL of the control plane's MADS server, e.g. `http://kuma-cp:5676`.")
    ] = NO_TEXT
    client_id: Annotated[
        Text | None,
        doc(
            "Name under which Prometheus asks; decides which backend's targets it gets. Unset: "
            "the host name. Needs Prometheus 2.50 or newer."
        ),
    ] = None
    fetch_timeout: Annotated[
        Duration | None, doc("Time after which a request has failed. Unset: 2m.")
    ] = None
    refresh_interval: Annotated[Duration | None, refreshed("15s")] = None


class PuppetDbDiscovery(AuthenticatedDiscovery):
    """Targets that are resources in PuppetDB."""

    url: Annotated[WebUrl, doc("URL of PuppetDB, e.g. `https://puppetdb:8081`.")] = NO_TEXT
    query: Annotated[
        Text, doc('PQL query for the resources, e.g. `resources { type = "Package" }`.')
    ] = NO_TEXT
    include_parameters: Annotated[
        bool | None,
        doc("Make meta labels of the resources' parameters, secret ones included. Unset: no."),
    ] = None
    port: TargetPort = None
    refresh_interval: Annotated[Duration | None, refreshed("1m")] = None


class MarathonDiscovery(AuthenticatedDiscovery):
    """Targets that are healthy tasks of Marathon, one for each of their ports."""

    servers: Annotated[
        tuple[WebUrl, ...],
        doc("URLs of Marathon's servers, any of which is asked.", minItems=1, listType="set"),
    ] = NO_ITEMS
    auth_token: Annotated[
        SecretKeySelector | None,
        doc("Secret key with a token of DC/OS. Excludes `authorization` and `basicAuth`."),
    ] = None
    refresh_interval: Annotated[Duration | None, refreshed("30s")] = None


NodePath: TypeAlias = Annotated[str, rule(pattern="^/.*$")]


class ZookeeperDiscovery(Model):
    """What the two discoveries in ZooKeeper share: the servers, and where to look in the tree."""

    servers: Annotated[
        tuple[Text, ...], doc("ZooKeeper servers as `host:port`.", minItems=1, listType="set")
    ] = NO_ITEMS
    paths: Annotated[
        tuple[NodePath, ...],
        doc(
            "Paths in ZooKeeper, of one service or of a tree of services.",
            minItems=1,
            listType="set",
        ),
    ] = NO_ITEMS
    timeout: Annotated[
        Duration | None, doc("Time after which a session without an answer ends. Unset: 10s.")
    ] = None


class NerveDiscovery(ZookeeperDiscovery):
    """Targets that Nerve has registered in ZooKeeper."""


class ServersetDiscovery(ZookeeperDiscovery):
    """Targets that are members of serversets in ZooKeeper, written as JSON."""


class UyuniDiscovery(AuthenticatedDiscovery):
    """Targets that are systems managed by Uyuni."""

    server: Annotated[WebUrl, doc("URL of the Uyuni server, e.g. `https://uyuni`.")] = NO_TEXT
    username: Annotated[Text, doc("Name of the user of Uyuni's API.")] = NO_TEXT
    password: Annotated[SecretKeySelector, doc("Secret key with the user's password.")] = (
        SecretKeySelector()
    )
    entitlement: Annotated[
        Text | None,
        doc("Entitlement that a system must have. Unset: `monitoring_entitled`."),
    ] = None
    separator: Annotated[
        Text | None,
        doc("Put between the groups in the meta label that lists them. Unset: `,`."),
    ] = None
    refresh_interval: Annotated[Duration | None, refreshed("1m")] = None
