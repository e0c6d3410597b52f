"""Targets that are machines of a public or private cloud."""

from typing import Annotated

from stoker.api.common import Duration, Text, WebUrl
from stoker.api.core import SecretKeySelector
from stoker.api.declare import NO_TEXT, Model, doc, names
from stoker.api.scrapeconfig.discovery.shared import (
    AuthenticatedDiscovery,
    DiscoveryTls,
    HttpDiscovery,
    TagSeparator,
    TargetPort,
    refreshed,
)


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


class OciDiscovery(HttpDiscovery):
    """Targets that are compute instances of Oracle Cloud Infrastructure, by private address.

    The account must be allowed to read instances, compartments, VNIC attachments and VNICs.
    """

    region: Annotated[Text, doc("Region in which to look, e.g. `eu-frankfurt-1`.")] = NO_TEXT
    authentication_method: Annotated[
        str | None,
        doc(
            "How to log in. Unset: `APIKey`. `InstancePrincipal` takes the identity of the "
            "instance that Prometheus runs on.",
            enum=("APIKey", "InstancePrincipal"),
        ),
    ] = None
    tenancy: Annotated[Text | None, doc("OCID of the tenancy. Needed for `APIKey`.")] = None
    user: Annotated[Text | None, doc("OCID of the user. Needed for `APIKey`.")] = None
    fingerprint: Annotated[
        Text | None, doc("Fingerprint of the user's public key. Needed for `APIKey`.")
    ] = None
    private_key: Annotated[
        SecretKeySelector | None,
        doc("Secret key with the user's private key as PEM. Needed for `APIKey`."),
    ] = None
    private_key_passphrase: Annotated[
        SecretKeySelector | None,
        doc("Secret key with the passphrase of the private key. `APIKey` only."),
    ] = None
    compartments: Annotated[
        tuple[Text, ...] | None,
        doc("OCIDs of the compartments in which to look. Unset: all.", listType="set"),
    ] = None
    port: TargetPort = None
    refresh_interval: Annotated[Duration | None, refreshed("1m")] = None


class OutscaleDiscovery(HttpDiscovery):
    """Targets that are virtual machines of Outscale, by private address."""

    access_key: Annotated[SecretKeySelector, doc("Secret key with the access key id.")] = (
        SecretKeySelector()
    )
    secret_key: Annotated[SecretKeySelector, doc("Secret key with the secret access key.")] = (
        SecretKeySelector()
    )
    region: Annotated[Text | None, doc("Region in which to look. Unset: `eu-west-2`.")] = None
    endpoint: Annotated[WebUrl | None, doc("URL of the API. Unset: that of the region.")] = None
    port: TargetPort = None
    refresh_interval: Annotated[Duration | None, refreshed("1m")] = None


class StackitDiscovery(AuthenticatedDiscovery):
    """Targets that are servers in STACKIT.

    Log in with the key of a service account, or with `oauth2` or `authorization`.
    """

    project: Annotated[Text, doc("Id of the project in which to look.")] = NO_TEXT
    region: Annotated[Text | None, doc("Region in which to look. Unset: `eu01`.")] = None
    endpoint: Annotated[WebUrl | None, doc("URL of the API. Unset: that of the region.")] = None
    service_account_key: Annotated[
        SecretKeySelector | None, doc("Secret key with the service account's key as JSON.")
    ] = None
    private_key: Annotated[
        SecretKeySelector | None,
        doc("Secret key with the service account's private key, where its JSON lacks it."),
    ] = None
    port: TargetPort = None
    refresh_interval: Annotated[Duration | None, refreshed("1m")] = None
