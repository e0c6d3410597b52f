"""Service discovery: from the lists of a ScrapeConfig to the `…_sd_configs` of its job.

Each discovery is a table of members: which member of the configuration a field becomes, and
since which version. The registry below is such a table too, one row for each kind of discovery:
the field of ScrapeConfigSpec, the member of the job, the table for each entry of the list, and the
first version that knows the discovery at all. The modules hold the tables by subject.
"""

from typing import Final

from stoker.generate.discovery import aws, clouds, containers, hosters, lists, registries
from stoker.generate.discovery.kubernetes import KUBERNETES, attach_metadata
from stoker.generate.discovery.rows import Each
from stoker.generate.grammar import Member, Table
from stoker.generate.http import drop_half_a_pair
from stoker.validate.discovery import DISCOVERIES as CHECKED

_SINCE: Final = {discovery.field: discovery.since for discovery in CHECKED}


def _found(member: str, field: str = "", *, write: Each) -> Member:
    """A row of the registry; since when there is such a discovery, its checks know."""
    return Member(member, field, since=_SINCE[field or member], write=write)


def _of_aws(table: Table) -> Each:
    return Each(table, tidy=drop_half_a_pair)


DISCOVERIES: Final[Table] = (
    _found("file_sd_configs", write=Each(lists.FILE)),
    _found("http_sd_configs", write=Each(lists.URL)),
    _found("kubernetes_sd_configs", write=Each(KUBERNETES, more=attach_metadata)),
    _found("consul_sd_configs", write=Each(registries.CONSUL)),
    _found("dns_sd_configs", write=Each(lists.DNS)),
    _found("ec2_sd_configs", write=_of_aws(aws.EC2)),
    _found("azure_sd_configs", write=Each(clouds.AZURE)),
    _found("gce_sd_configs", write=Each(clouds.GCE)),
    _found("openstack_sd_configs", write=Each(clouds.OPENSTACK)),
    _found(
        "digitalocean_sd_configs", "digital_ocean_sd_configs", write=Each(hosters.DIGITAL_OCEAN)
    ),
    _found("kuma_sd_configs", write=Each(registries.KUMA)),
    _found("eureka_sd_configs", write=Each(registries.EUREKA)),
    _found("docker_sd_configs", write=Each(containers.DOCKER)),
    _found("linode_sd_configs", write=Each(hosters.LINODE)),
    _found("hetzner_sd_configs", write=Each(hosters.HETZNER)),
    _found("nomad_sd_configs", write=Each(registries.NOMAD)),
    _found(
        "dockerswarm_sd_configs", "docker_swarm_sd_configs", write=Each(containers.DOCKER_SWARM)
    ),
    _found("puppetdb_sd_configs", write=Each(registries.PUPPETDB)),
    _found("lightsail_sd_configs", write=_of_aws(aws.LIGHTSAIL)),
    _found("ovhcloud_sd_configs", write=Each(clouds.OVHCLOUD)),
    _found("scaleway_sd_configs", write=Each(hosters.SCALEWAY)),
    _found("ionos_sd_configs", write=Each(hosters.IONOS, tidy=hosters.oauth2_alone)),
    _found("aws_sd_configs", write=_of_aws(aws.ROLES)),
    _found("ecs_sd_configs", write=_of_aws(aws.CLUSTERS)),
    _found("elasticache_sd_configs", write=_of_aws(aws.CLUSTERS)),
    _found("marathon_sd_configs", write=Each(registries.MARATHON)),
    _found("msk_sd_configs", write=_of_aws(aws.CLUSTERS)),
    _found("nerve_sd_configs", write=Each(registries.ZOOKEEPER)),
    _found("oci_sd_configs", write=Each(clouds.OCI)),
    _found("outscale_sd_configs", write=Each(clouds.OUTSCALE)),
    _found("rds_sd_configs", write=_of_aws(aws.RDS)),
    _found("serverset_sd_configs", write=Each(registries.ZOOKEEPER)),
    _found("stackit_sd_configs", write=Each(clouds.STACKIT)),
    _found("triton_sd_configs", write=Each(hosters.TRITON)),
    _found("uyuni_sd_configs", write=Each(registries.UYUNI)),
    _found("vultr_sd_configs", write=Each(hosters.VULTR)),
)
