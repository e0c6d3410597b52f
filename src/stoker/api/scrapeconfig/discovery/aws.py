"""Targets that are resources of Amazon Web Services.

Prometheus has a discovery for each service and, since 3.8, one for all of them with a role. The
requests are signed, so there is no other way to log in than AWS' own.
"""

from typing import Annotated, TypeAlias

from stoker.api.common import Duration, Text
from stoker.api.core import SecretKeySelector
from stoker.api.declare import NO_TEXT, doc, names
from stoker.api.scrape import AuthorizationHeader, BasicCredentials
from stoker.api.scrapeconfig.client import OAuth2GrantClient
from stoker.api.scrapeconfig.discovery.shared import Filters, HttpDiscovery, TargetPort, refreshed

Clusters: TypeAlias = Annotated[
    tuple[Text, ...] | None,
    doc("Clusters in which to look. Unset: all of the region.", listType="set"),
]


class AwsDiscovery(HttpDiscovery, rename=names(role_arn="roleARN", external_id="externalID")):
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
    profile: Annotated[
        Text | None, doc("Profile in the AWS configuration of the Prometheus container to use.")
    ] = None
    role_arn: Annotated[Text | None, doc("AWS role to assume before asking.")] = None
    external_id: Annotated[
        Text | None,
        doc("External id to assume the role with. Needs Prometheus 3.12 or newer."),
    ] = None
    endpoint: Annotated[
        Text | None, doc("Endpoint of the API to ask instead of the region's own.")
    ] = None
    port: TargetPort = None
    refresh_interval: Annotated[Duration | None, refreshed("1m")] = None


class Ec2Discovery(AwsDiscovery):
    """Targets that are AWS EC2 instances, by private address. Needs `ec2:DescribeInstances`.

    With `ec2:DescribeAvailabilityZones` the zone's id is known too.
    """

    filters: Filters = None


class LightsailDiscovery(AwsDiscovery):
    """Targets that are AWS Lightsail instances, by private address.

    Needs `lightsail:GetInstances`.
    """

    authorization: AuthorizationHeader = None
    basic_auth: BasicCredentials = None
    oauth2: OAuth2GrantClient = None


class AwsRoleDiscovery(AwsDiscovery):
    """Targets that are resources of the AWS service that the role names.

    The account needs the permissions that the service's own discovery needs.
    """

    role: Annotated[
        str,
        doc(
            "AWS service to ask. `MSK` needs Prometheus 3.10, `ElastiCache` and `RDS` 3.11.",
            enum=("EC2", "ECS", "ElastiCache", "Lightsail", "MSK", "RDS"),
        ),
    ] = NO_TEXT
    filters: Annotated[
        Filters, doc("Conditions that must all hold. For the roles `EC2` and `RDS` (3.13).")
    ] = None
    clusters: Annotated[
        Clusters, doc("Clusters in which to look. For `ECS`, `ElastiCache`, `MSK`, `RDS`.")
    ] = None


class ClusterDiscovery(AwsDiscovery):
    """What the discoveries of AWS' clusters share."""

    clusters: Clusters = None
    request_concurrency: Annotated[
        int | None,
        doc(
            "Number of requests that may be under way at once. Unset: 20 for ECS, 10 otherwise.",
            format="int32",
            minimum=1,
        ),
    ] = None


class EcsDiscovery(ClusterDiscovery):
    """Targets that are tasks of AWS ECS, by private address.

    Needs `ecs:List…` and `ecs:Describe…` of clusters, services and tasks; for tasks on EC2 also
    `ecs:DescribeContainerInstances` and `ec2:DescribeInstances`.
    """


class ElastiCacheDiscovery(ClusterDiscovery):
    """Targets that are nodes and serverless caches of AWS ElastiCache.

    Needs `elasticache:DescribeServerlessCaches`, `elasticache:DescribeCacheClusters` and
    `elasticache:ListTagsForResource`.
    """


class MskDiscovery(ClusterDiscovery):
    """Targets that are brokers and controllers of provisioned AWS MSK clusters.

    Needs `kafka:DescribeClusterV2`, `kafka:ListClustersV2` and `kafka:ListNodes`.
    """


class RdsDiscovery(ClusterDiscovery):
    """Targets that are database instances in clusters of AWS RDS.

    Needs `rds:DescribeDBClusters` and `rds:DescribeDBInstances`.
    """

    filters: Annotated[
        Filters,
        doc("Conditions that must all hold for an instance. Needs Prometheus 3.13 or newer."),
    ] = None
