"""ScrapeConfig, version v1alpha1."""

from typing import Annotated, ClassVar

from stoker.api.common import (
    ConfigResource,
    NameEscapingScheme,
    NameValidationScheme,
    RelabelConfig,
    ScrapeProtocol,
    Text,
)
from stoker.api.core import SecretKeySelector
from stoker.api.declare import Cel, doc, names
from stoker.api.scrape import (
    AuthorizationHeader,
    BasicCredentials,
    BodySizeLimit,
    EnableHttp2,
    FollowRedirects,
    HonorLabels,
    HonorTimestamps,
    ScrapeInterval,
    ScrapeSettings,
    ScrapeTimeout,
    TargetScheme,
    TargetTls,
    TrackTimestampsStaleness,
)
from stoker.api.scrapeconfig.client import HttpHeaders, OAuth2GrantClient
from stoker.api.scrapeconfig.discovery.aws import (
    AwsRoleDiscovery,
    Ec2Discovery,
    EcsDiscovery,
    ElastiCacheDiscovery,
    LightsailDiscovery,
    MskDiscovery,
    RdsDiscovery,
)
from stoker.api.scrapeconfig.discovery.clouds import (
    AzureDiscovery,
    GceDiscovery,
    OciDiscovery,
    OpenStackDiscovery,
    OutscaleDiscovery,
    OvhCloudDiscovery,
    StackitDiscovery,
)
from stoker.api.scrapeconfig.discovery.containers import DockerDiscovery, DockerSwarmDiscovery
from stoker.api.scrapeconfig.discovery.hosters import (
    DigitalOceanDiscovery,
    HetznerDiscovery,
    IonosDiscovery,
    LinodeDiscovery,
    ScalewayDiscovery,
    TritonDiscovery,
    VultrDiscovery,
)
from stoker.api.scrapeconfig.discovery.kubernetes import KubernetesDiscovery
from stoker.api.scrapeconfig.discovery.lists import (
    DnsDiscovery,
    FileDiscovery,
    StaticTargets,
    UrlDiscovery,
)
from stoker.api.scrapeconfig.discovery.registries import (
    ConsulDiscovery,
    EurekaDiscovery,
    KumaDiscovery,
    MarathonDiscovery,
    NerveDiscovery,
    NomadDiscovery,
    PuppetDbDiscovery,
    ServersetDiscovery,
    UyuniDiscovery,
)


class ScrapeConfigSpec(
    ScrapeSettings,
    rename=names(
        enable_http2="enableHTTP2",
        kubernetes_sd_configs="kubernetesSDConfigs",
        http_sd_configs="httpSDConfigs",
        file_sd_configs="fileSDConfigs",
        dns_sd_configs="dnsSDConfigs",
        consul_sd_configs="consulSDConfigs",
        nomad_sd_configs="nomadSDConfigs",
        eureka_sd_configs="eurekaSDConfigs",
        kuma_sd_configs="kumaSDConfigs",
        puppetdb_sd_configs="puppetDBSDConfigs",
        docker_sd_configs="dockerSDConfigs",
        docker_swarm_sd_configs="dockerSwarmSDConfigs",
        ec2_sd_configs="ec2SDConfigs",
        lightsail_sd_configs="lightSailSDConfigs",
        azure_sd_configs="azureSDConfigs",
        gce_sd_configs="gceSDConfigs",
        digital_ocean_sd_configs="digitalOceanSDConfigs",
        hetzner_sd_configs="hetznerSDConfigs",
        ionos_sd_configs="ionosSDConfigs",
        linode_sd_configs="linodeSDConfigs",
        openstack_sd_configs="openstackSDConfigs",
        ovhcloud_sd_configs="ovhcloudSDConfigs",
        scaleway_sd_configs="scalewaySDConfigs",
        marathon_sd_configs="marathonSDConfigs",
        nerve_sd_configs="nerveSDConfigs",
        serverset_sd_configs="serversetSDConfigs",
        uyuni_sd_configs="uyuniSDConfigs",
        aws_sd_configs="awsSDConfigs",
        ecs_sd_configs="ecsSDConfigs",
        elasticache_sd_configs="elastiCacheSDConfigs",
        msk_sd_configs="mskSDConfigs",
        rds_sd_configs="rdsSDConfigs",
        oci_sd_configs="ociSDConfigs",
        outscale_sd_configs="outscaleSDConfigs",
        stackit_sd_configs="stackitSDConfigs",
        triton_sd_configs="tritonSDConfigs",
        vultr_sd_configs="vultrSDConfigs",
    ),
):
    """Where to find the targets, and how to scrape them."""

    CEL: ClassVar[Cel] = {
        "at most one of basicAuth, authorization, or oauth2 can be configured": (
            "[has(self.basicAuth), has(self.authorization), has(self.oauth2)]"
            ".filter(x, x).size() <= 1"
        ),
    }

    job_name: Annotated[
        Text | None, doc("Value of the `job` label. Unset: `scrapeConfig/<namespace>/<name>`.")
    ] = None

    static_configs: Annotated[tuple[StaticTargets, ...] | None, doc("Targets listed by hand.")] = (
        None
    )
    file_sd_configs: Annotated[
        tuple[FileDiscovery, ...] | None, doc("Targets listed in files of the container.")
    ] = None
    http_sd_configs: Annotated[tuple[UrlDiscovery, ...] | None, doc("Targets listed by a URL.")] = (
        None
    )
    dns_sd_configs: Annotated[
        tuple[DnsDiscovery, ...] | None, doc("Targets found as DNS records.")
    ] = None
    kubernetes_sd_configs: Annotated[
        tuple[KubernetesDiscovery, ...] | None,
        doc("Targets that are objects of a Kubernetes cluster."),
    ] = None
    consul_sd_configs: Annotated[
        tuple[ConsulDiscovery, ...] | None, doc("Targets that are services in Consul.")
    ] = None
    nomad_sd_configs: Annotated[
        tuple[NomadDiscovery, ...] | None, doc("Targets that are services in Nomad.")
    ] = None
    eureka_sd_configs: Annotated[
        tuple[EurekaDiscovery, ...] | None, doc("Targets that are instances in Eureka.")
    ] = None
    kuma_sd_configs: Annotated[tuple[KumaDiscovery, ...] | None, doc("Targets in a Kuma mesh.")] = (
        None
    )
    puppetdb_sd_configs: Annotated[
        tuple[PuppetDbDiscovery, ...] | None, doc("Targets that are resources in PuppetDB.")
    ] = None
    docker_sd_configs: Annotated[
        tuple[DockerDiscovery, ...] | None, doc("Targets that are Docker containers.")
    ] = None
    docker_swarm_sd_configs: Annotated[
        tuple[DockerSwarmDiscovery, ...] | None,
        doc("Targets that are services, tasks or nodes of a Docker swarm."),
    ] = None
    ec2_sd_configs: Annotated[
        tuple[Ec2Discovery, ...] | None, doc("Targets that are AWS EC2 instances.")
    ] = None
    lightsail_sd_configs: Annotated[
        tuple[LightsailDiscovery, ...] | None, doc("Targets that are AWS Lightsail instances.")
    ] = None
    azure_sd_configs: Annotated[
        tuple[AzureDiscovery, ...] | None, doc("Targets that are Azure virtual machines.")
    ] = None
    gce_sd_configs: Annotated[
        tuple[GceDiscovery, ...] | None,
        doc("Targets that are Google Compute Engine instances."),
    ] = None
    digital_ocean_sd_configs: Annotated[
        tuple[DigitalOceanDiscovery, ...] | None, doc("Targets that are DigitalOcean droplets.")
    ] = None
    hetzner_sd_configs: Annotated[
        tuple[HetznerDiscovery, ...] | None, doc("Targets that are Hetzner servers.")
    ] = None
    ionos_sd_configs: Annotated[
        tuple[IonosDiscovery, ...] | None, doc("Targets that are IONOS Cloud servers.")
    ] = None
    linode_sd_configs: Annotated[
        tuple[LinodeDiscovery, ...] | None, doc("Targets that are Linode instances.")
    ] = None
    openstack_sd_configs: Annotated[
        tuple[OpenStackDiscovery, ...] | None,
        doc("Targets that are OpenStack instances, hypervisors or load balancers."),
    ] = None
    ovhcloud_sd_configs: Annotated[
        tuple[OvhCloudDiscovery, ...] | None,
        doc("Targets that are OVHcloud dedicated or virtual private servers."),
    ] = None
    scaleway_sd_configs: Annotated[
        tuple[ScalewayDiscovery, ...] | None,
        doc("Targets that are Scaleway instances or bare metal servers."),
    ] = None
    marathon_sd_configs: Annotated[
        tuple[MarathonDiscovery, ...] | None, doc("Targets that are tasks of Marathon.")
    ] = None
    nerve_sd_configs: Annotated[
        tuple[NerveDiscovery, ...] | None, doc("Targets that Nerve has registered in ZooKeeper.")
    ] = None
    serverset_sd_configs: Annotated[
        tuple[ServersetDiscovery, ...] | None,
        doc("Targets that are members of serversets in ZooKeeper."),
    ] = None
    uyuni_sd_configs: Annotated[
        tuple[UyuniDiscovery, ...] | None,
        doc("Targets that are systems managed by Uyuni. Needs Prometheus 2.31 or newer."),
    ] = None
    aws_sd_configs: Annotated[
        tuple[AwsRoleDiscovery, ...] | None,
        doc("Targets that are resources of an AWS service. Needs Prometheus 3.8 or newer."),
    ] = None
    ecs_sd_configs: Annotated[
        tuple[EcsDiscovery, ...] | None,
        doc("Targets that are tasks of AWS ECS. Needs Prometheus 3.8 or newer."),
    ] = None
    elasticache_sd_configs: Annotated[
        tuple[ElastiCacheDiscovery, ...] | None,
        doc("Targets that are caches of AWS ElastiCache. Needs Prometheus 3.11 or newer."),
    ] = None
    msk_sd_configs: Annotated[
        tuple[MskDiscovery, ...] | None,
        doc("Targets that are brokers of AWS MSK clusters. Needs Prometheus 3.10 or newer."),
    ] = None
    rds_sd_configs: Annotated[
        tuple[RdsDiscovery, ...] | None,
        doc("Targets that are databases of AWS RDS. Needs Prometheus 3.11 or newer."),
    ] = None
    oci_sd_configs: Annotated[
        tuple[OciDiscovery, ...] | None,
        doc("Targets that are Oracle Cloud instances. Needs Prometheus 3.14 or newer."),
    ] = None
    outscale_sd_configs: Annotated[
        tuple[OutscaleDiscovery, ...] | None,
        doc("Targets that are Outscale virtual machines. Needs Prometheus 3.12 or newer."),
    ] = None
    stackit_sd_configs: Annotated[
        tuple[StackitDiscovery, ...] | None,
        doc("Targets that are STACKIT servers. Needs Prometheus 3.5 or newer."),
    ] = None
    triton_sd_configs: Annotated[
        tuple[TritonDiscovery, ...] | None, doc("Targets that are machines or nodes of Triton.")
    ] = None
    vultr_sd_configs: Annotated[
        tuple[VultrDiscovery, ...] | None,
        doc("Targets that are Vultr instances. Needs Prometheus 2.36 or newer."),
    ] = None

    metrics_path: Annotated[Text | None, doc("HTTP path of the metrics. Unset: `/metrics`.")] = None
    scheme: TargetScheme = None
    params: Annotated[
        dict[str, tuple[str, ...]] | None,
        doc("Query parameters of the request.", mapType="atomic"),
    ] = None
    scrape_interval: ScrapeInterval = None
    scrape_timeout: ScrapeTimeout = None
    relabelings: Annotated[
        tuple[RelabelConfig, ...] | None,
        doc(
            "Steps that rewrite or drop targets before they are scraped. A discovery's findings "
            "are in labels that begin with `__meta_`.",
            minItems=1,
        ),
    ] = None
    metric_relabelings: Annotated[
        tuple[RelabelConfig, ...] | None,
        doc("Steps that rewrite or drop samples before they are stored.", minItems=1),
    ] = None
    honor_labels: HonorLabels = None
    honor_timestamps: HonorTimestamps = None
    track_timestamps_staleness: TrackTimestampsStaleness = None

    authorization: AuthorizationHeader = None
    basic_auth: BasicCredentials = None
    oauth2: OAuth2GrantClient = None
    tls_config: TargetTls = None
    follow_redirects: FollowRedirects = None
    enable_http2: EnableHttp2 = None
    http_headers: HttpHeaders = None
    enable_compression: Annotated[
        bool | None,
        doc(
            "Ask for compressed responses. Unset: they are asked for. "
            "Needs Prometheus 2.49 or newer."
        ),
    ] = None
    proxy_url: Annotated[
        str | None,
        doc("Address of the proxy to go through.", pattern="^(http|https|socks5)://.+$"),
    ] = None
    no_proxy: Annotated[
        str | None,
        doc("Comma-separated hosts, domains, addresses and CIDR blocks to reach without it."),
    ] = None
    proxy_from_environment: Annotated[
        bool | None,
        doc("Take the proxy from the container's environment. Excludes `proxyUrl`, `noProxy`."),
    ] = None
    proxy_connect_header: Annotated[
        dict[str, tuple[SecretKeySelector, ...]] | None,
        doc("Headers sent to the proxy with CONNECT, from Secrets.", mapType="atomic"),
    ] = None

    extra_scrape_metrics: Annotated[
        bool | None,
        doc(
            "Store the timeout, the sample limit and the size of each scrape as metrics too. "
            "Unset: as the Prometheus is set. Needs Prometheus 3.10 or newer."
        ),
    ] = None
    body_size_limit: BodySizeLimit = None
    scrape_protocols: Annotated[
        tuple[ScrapeProtocol, ...] | None,
        doc(
            "Formats to ask the target for, the preferred one first. Unset: `scrapeProtocols` of "
            "the Prometheus. Needs Prometheus 2.49 or newer.",
            minItems=1,
            listType="set",
        ),
    ] = None
    name_validation_scheme: Annotated[
        NameValidationScheme | None,
        doc(
            "Whether metric and label names may hold any UTF-8 or only the legacy characters. "
            "Needs Prometheus 3.0 or newer."
        ),
    ] = None
    name_escaping_scheme: Annotated[
        NameEscapingScheme | None,
        doc(
            "How the target shall escape names that are not legacy ones. "
            "Needs Prometheus 3.4 or newer."
        ),
    ] = None


class ScrapeConfig(ConfigResource):
    """Says how to find and scrape targets anywhere, in the cluster or outside of it."""

    spec: Annotated[ScrapeConfigSpec, doc("What to scrape, and how.")] = ScrapeConfigSpec()
