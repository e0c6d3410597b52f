"""Service discovery for a ScrapeConfig: each class asks one kind of system which targets exist.

Lists and files come first, then Kubernetes, registries, containers, and cloud providers. All
versions of ScrapeConfig use these classes.
"""

from typing import Annotated, TypeAlias

from stoker.api.common import (
    AttachMetadata,
    Duration,
    Port,
    Proxy,
    SafeAuthorization,
    SafeTlsConfig,
    Scheme,
    Text,
    WebUrl,
)
from stoker.api.core import SecretKeySelector
from stoker.api.declare import NO_ITEMS, NO_TEXT, Doc, Model, doc, names, rule
from stoker.api.scrape import (
    AuthorizationHeader,
    BasicCredentials,
    EnableHttp2,
    FollowRedirects,
    OAuth2Client,
)

TargetPort: TypeAlias = Annotated[
    Port | None,
    doc("Port to scrape on each target. Unset: 80. Relabeling `__address__` can choose another."),
]
DiscoveryTls: TypeAlias = Annotated[
    SafeTlsConfig | None, doc("TLS settings for the discovery's requests, not for the scrapes.")
]
TagSeparator: TypeAlias = Annotated[
    Text | None, doc("Put between the tags in the meta label that lists them. Unset: `,`.")
]
AllowStale: TypeAlias = Annotated[
    bool | None,
    doc("Accept answers from any server, which may be a little old. Unset: accepted."),
]


def refreshed(every: str) -> Doc:
    """Describe the refresh interval of a discovery whose default is `every`."""
    return doc(f"Time between two looks at the targets. Unset: {every}.")


class HttpDiscovery(Proxy, rename=names(enable_http2="enableHTTP2")):
    """Targets that an HTTP API tells."""

    tls_config: DiscoveryTls = None
    follow_redirects: FollowRedirects = None
    enable_http2: EnableHttp2 = None


class TokenDiscovery(HttpDiscovery):
    """Targets that an HTTP API tells to whom has a token."""

    authorization: AuthorizationHeader = None
    oauth2: OAuth2Client = None


class AuthenticatedDiscovery(TokenDiscovery):
    """Targets that an HTTP API tells to whom has a token or a password."""

    basic_auth: BasicCredentials = None


class StaticTargets(Model):
    """Targets listed by hand."""

    targets: Annotated[
        tuple[Text, ...], doc("Addresses as `host:port`.", minItems=1, listType="set")
    ] = NO_ITEMS
    labels: Annotated[
        dict[str, str] | None, doc("Labels to add to the metrics of these.", mapType="atomic")
    ] = None


class FileDiscovery(Model):
    """Targets listed in files of the Prometheus container, which are watched for changes.

    Mount the files with `volumes` and `volumeMounts`, or `configMaps`, of the Prometheus.
    """

    files: Annotated[
        tuple[
            Annotated[str, rule(pattern=r"^[^*]*(\*[^/]*)?\.(json|yml|yaml|JSON|YML|YAML)$")],
            ...,
        ],
        doc(
            "Paths in the container, JSON or YAML. The last part may hold one `*`.",
            minItems=1,
            listType="set",
        ),
    ] = NO_ITEMS
    refresh_interval: Annotated[
        Duration | None, doc("Time after which files are read even if unchanged. Unset: 5m.")
    ] = None


class UrlDiscovery(AuthenticatedDiscovery):
    """Targets listed by a URL, in Prometheus' HTTP discovery format."""

    url: Annotated[WebUrl, doc("URL that answers with the list of targets as JSON.")] = NO_TEXT
    refresh_interval: Annotated[Duration | None, refreshed("1m")] = None


class DnsDiscovery(Model):
    """Targets found as DNS records."""

    names: Annotated[tuple[Text, ...], doc("Domain names to look up.", minItems=1)] = NO_ITEMS
    type: Annotated[
        str | None,
        doc("Type of record to ask for. Unset: `SRV`.", enum=("A", "AAAA", "MX", "NS", "SRV")),
    ] = None
    port: Annotated[
        Port | None, doc("Port to scrape. Needed unless `type` is `SRV`, which brings its own.")
    ] = None
    refresh_interval: Annotated[Duration | None, refreshed("30s")] = None


KubernetesRole: TypeAlias = Annotated[
    str, rule(enum=("Pod", "Endpoints", "Ingress", "Service", "Node", "EndpointSlice"))
]


class KubernetesNamespaces(Model):
    """The namespaces in which Kubernetes discovery looks."""

    own_namespace: Annotated[
        bool | None, doc("Look in the namespace of the Prometheus. Not with `apiServer`.")
    ] = None
    names: Annotated[tuple[Text, ...] | None, doc("Look in these namespaces.", listType="set")] = (
        None
    )


class KubernetesSelector(Model):
    """Narrows what the API server returns for one role."""

    role: Annotated[KubernetesRole, doc("Kind of object that the selectors are for.")] = NO_TEXT
    label: Annotated[Text | None, doc("Label selector, e.g. `app=web,tier!=cache`.")] = None
    field: Annotated[Text | None, doc("Field selector, e.g. `spec.nodeName=node-1`.")] = None


class KubernetesDiscovery(AuthenticatedDiscovery):
    """Targets that are objects of a Kubernetes cluster.

    The account used must be allowed to get, list and watch the objects of the role.
    """

    role: Annotated[KubernetesRole, doc("Kind of object that becomes a target.")] = NO_TEXT
    namespaces: Annotated[
        KubernetesNamespaces | None, doc("Namespaces in which to look. Unset: all.")
    ] = None
    selectors: Annotated[
        tuple[KubernetesSelector, ...] | None,
        doc(
            "Selectors for the role and the roles it builds on, e.g. `Service` and `Pod` for "
            "`Endpoints`. Unset: all objects.",
            listType="map",
            listMapKeys=("role",),
        ),
    ] = None
    attach_metadata: Annotated[
        AttachMetadata | None,
        doc("Metadata to add. For the roles `Pod`, `Endpoints` and `EndpointSlice`."),
    ] = None
    api_server: Annotated[
        Text | None,
        doc(
            "URL of the API server. Unset: the cluster of the Prometheus, with its service account."
        ),
    ] = None


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


class Filter(Model):
    """A condition of an API on what it lists: the named property has one of the values."""

    name: Annotated[Text, doc("Name of the filter, as the API defines it.")] = NO_TEXT
    values: Annotated[
        tuple[Text, ...], doc("Values, of which one must match.", minItems=1, listType="set")
    ] = NO_ITEMS


Filters: TypeAlias = Annotated[
    tuple[Filter, ...] | None,
    doc(
        "Conditions that must all hold, checked by the API. Unset: everything.",
        listType="map",
        listMapKeys=("name",),
    ),
]


class DockerHostDiscovery(AuthenticatedDiscovery):
    """What the two Docker discoveries share: the daemon to ask."""

    host: Annotated[
        str,
        doc(
            "Address of the Docker daemon, e.g. `tcp://docker:2375`. A socket must be mounted into "
            "the Prometheus container.",
            pattern="^[a-zA-Z][a-zA-Z0-9+.-]*://.+$",
        ),
    ] = NO_TEXT
    filters: Filters = None
    refresh_interval: Annotated[Duration | None, refreshed("1m")] = None


class DockerDiscovery(DockerHostDiscovery):
    """Targets that are containers of a Docker daemon."""

    port: Annotated[
        Port | None, doc("Port to scrape on containers that expose none. Unset: 80.")
    ] = None
    host_networking_host: Annotated[
        Text | None, doc("Host to scrape for containers on the host's network. Unset: `localhost`.")
    ] = None
    match_first_network: Annotated[
        bool | None,
        doc(
            "Of a container in several networks, scrape only the first by name. Unset: only the "
            "first. Needs Prometheus 2.54.1 or newer."
        ),
    ] = None


class DockerSwarmDiscovery(DockerHostDiscovery):
    """Targets that are services, tasks or nodes of a Docker swarm; ask one of its managers."""

    role: Annotated[str, doc("What becomes a target.", enum=("Services", "Tasks", "Nodes"))] = (
        NO_TEXT
    )
    port: Annotated[
        Port | None,
        doc("Port to scrape on nodes, and on services and tasks that publish none. Unset: 80."),
    ] = None


class AwsDiscovery(HttpDiscovery, rename=names(role_arn="roleARN")):
    """What the AWS discoveries share: whom to be, and where to look."""

    region: Annotated[
        Text | None, doc("AWS region. Unset: that of the instance that Prometheus runs on.")
    ] = None
    access_key: Annotated[
        SecretKeySelector | None,
        doc("Secret key with the access key id. Unset: the default credentials chain."),
    ] = None
    secret_key: Annotated[
        SecretKeySelector | None, doc("Secret key with the secret access key.")
    ] = None
    role_arn: Annotated[Text | None, doc("AWS role to assume before asking.")] = None
    port: TargetPort = None
    refresh_interval: Annotated[Duration | None, refreshed("1m")] = None


class Ec2Discovery(AwsDiscovery):
    """Targets that are AWS EC2 instances, by private address. Needs `ec2:DescribeInstances`.

    With `ec2:DescribeAvailabilityZones` the zone's id is told too.
    """

    filters: Filters = None


class LightsailDiscovery(AwsDiscovery):
    """Targets that are AWS Lightsail instances, by private address.

    Needs `lightsail:GetInstances`.
    """

    endpoint: Annotated[
        Text | None, doc("Endpoint of the API to ask instead of the region's own.")
    ] = None
    authorization: AuthorizationHeader = None
    basic_auth: BasicCredentials = None
    oauth2: OAuth2Client = None


class AzureDiscovery(
    AuthenticatedDiscovery,
    rename=names(subscription_id="subscriptionID", tenant_id="tenantID", client_id="clientID"),
):
    """Targets that are virtual machines in an Azure subscription, by private address."""

    subscription_id: Annotated[Text, doc("Subscription in which to look.")] = NO_TEXT
    resource_group: Annotated[Text | None, doc("Resource group in which to look. Unset: all.")] = (
        None
    )
    environment: Annotated[Text | None, doc("Azure cloud to ask. Unset: `AzurePublicCloud`.")] = (
        None
    )
    authentication_method: Annotated[
        str | None,
        doc(
            "How to log in. Unset: `OAuth`. `SDK` needs Prometheus 2.52, `WorkloadIdentity` 3.11.",
            enum=("OAuth", "ManagedIdentity", "SDK", "WorkloadIdentity"),
        ),
    ] = None
    tenant_id: Annotated[Text | None, doc("Tenant. Needed for `OAuth`.")] = None
    client_id: Annotated[
        Text | None, doc("Id of the application or managed identity. Needed for `OAuth`.")
    ] = None
    client_secret: Annotated[
        SecretKeySelector | None,
        doc("Secret key with the application's secret. Needed for `OAuth`."),
    ] = None
    port: TargetPort = None
    refresh_interval: Annotated[Duration | None, refreshed("5m")] = None


class GceDiscovery(Model):
    """Targets that are Google Compute Engine instances, by private address.

    Credentials are Google's application default ones: the service account of the instance or the
    file that GOOGLE_APPLICATION_CREDENTIALS names in the Prometheus container.
    """

    project: Annotated[Text, doc("Id of the Google Cloud project.")] = NO_TEXT
    zone: Annotated[
        Text, doc("Zone in which to look. For several zones write several discoveries.")
    ] = NO_TEXT
    filter: Annotated[
        Text | None, doc("Filter of the instances, in the syntax of the Compute API. Unset: all.")
    ] = None
    tag_separator: TagSeparator = None
    port: TargetPort = None
    refresh_interval: Annotated[Duration | None, refreshed("1m")] = None


class DigitalOceanDiscovery(TokenDiscovery):
    """Targets that are DigitalOcean droplets, by public address.

    Needs an API token with read access, in `authorization` or from `oauth2`.
    """

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


class OpenStackDiscovery(Model, rename=names(domain_id="domainID", project_id="projectID")):
    """Targets that are instances, hypervisors or load balancers of OpenStack.

    Log in with a user and password or with an application credential.
    """

    role: Annotated[
        str,
        doc(
            "What becomes a target. `LoadBalancer` needs Prometheus 3.2 or newer.",
            enum=("Instance", "Hypervisor", "LoadBalancer"),
        ),
    ] = NO_TEXT
    region: Annotated[Text, doc("OpenStack region.")] = NO_TEXT
    identity_endpoint: Annotated[
        WebUrl | None,
        doc(
            "URL of the Identity API (Keystone). Unset: it and the login come from the OS_… "
            "variables of the Prometheus container."
        ),
    ] = None
    username: Annotated[
        Text | None,
        doc("Name of the user. Identity v3 also needs `domainID` or `domainName`."),
    ] = None
    userid: Annotated[Text | None, doc("Id of the user, in place of the name.")] = None
    password: Annotated[SecretKeySelector | None, doc("Secret key with the user's password.")] = (
        None
    )
    domain_name: Annotated[Text | None, doc("Name of the user's domain. Excludes `domainID`.")] = (
        None
    )
    domain_id: Annotated[Text | None, doc("Id of the user's domain. Excludes `domainName`.")] = None
    project_name: Annotated[Text | None, doc("Name of the project to log in to.")] = None
    project_id: Annotated[Text | None, doc("Id of the project to log in to.")] = None
    application_credential_name: Annotated[
        Text | None, doc("Name of the application credential. Needs the user as well.")
    ] = None
    application_credential_id: Annotated[
        Text | None, doc("Id of the application credential, in place of the name.")
    ] = None
    application_credential_secret: Annotated[
        SecretKeySelector | None, doc("Secret key with the application credential's secret.")
    ] = None
    all_tenants: Annotated[
        bool | None,
        doc(
            "List the instances of all projects, which usually takes an administrator. "
            "Role `Instance` only."
        ),
    ] = None
    availability: Annotated[
        str | None,
        doc(
            "Which of OpenStack's endpoints to ask. Unset: `Public`.",
            enum=("Public", "Admin", "Internal"),
        ),
    ] = None
    tls_config: DiscoveryTls = None
    port: TargetPort = None
    refresh_interval: Annotated[Duration | None, refreshed("1m")] = None


class OvhCloudDiscovery(Model):
    """Targets that are OVHcloud servers. Use OpenStack's for its public cloud instances."""

    service: Annotated[
        str, doc("Product whose servers to list.", enum=("VPS", "DedicatedServer"))
    ] = NO_TEXT
    application_key: Annotated[Text, doc("Key of the API application.")] = NO_TEXT
    application_secret: Annotated[
        SecretKeySelector, doc("Secret key with the API application's secret.")
    ] = SecretKeySelector()
    consumer_key: Annotated[
        SecretKeySelector, doc("Secret key with the consumer key that the account granted.")
    ] = SecretKeySelector()
    endpoint: Annotated[Text | None, doc("API to ask, by name or URL. Unset: `ovh-eu`.")] = None
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
