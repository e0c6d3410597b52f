"""Remote write and remote read: samples that go to, or come from, other storage."""

from typing import Annotated, TypeAlias

from stoker.api.common import (
    Duration,
    HttpClient,
    HttpUrl,
    OAuth2,
    RelabelConfig,
    Sigv4,
    Text,
)
from stoker.api.core import Int32, SecretKeySelector
from stoker.api.declare import NO_TEXT, Model, doc, names, rule

MessageVersion: TypeAlias = Annotated[str, rule(enum=("V1.0", "V2.0"))]
AzureTenant: TypeAlias = Annotated[str, rule(pattern="^[0-9a-zA-Z-.]+$")]


class AzureManagedIdentity(Model):
    """An identity that Azure assigned to the machine."""

    client_id: Annotated[
        Text | None,
        doc(
            "Client id of a user-assigned identity. Unset: the system-assigned one, "
            "which needs Prometheus 3.5 or newer."
        ),
    ] = None


class AzureOAuth(Model):
    """An application registered in Microsoft Entra ID that logs in with a secret."""

    client_id: Annotated[Text, doc("Client id of the application, a UUID.")] = NO_TEXT
    client_secret: Annotated[
        SecretKeySelector, doc("Secret key that holds the application's client secret.")
    ] = SecretKeySelector()
    tenant_id: Annotated[
        AzureTenant, doc("Tenant in which the application is registered.", minLength=1)
    ] = NO_TEXT


class AzureSdk(Model):
    """Whatever credentials the Azure SDK finds in its surroundings."""

    tenant_id: Annotated[
        AzureTenant | None,
        doc("Tenant to log in to. Unset: the one that the SDK finds."),
    ] = None


class AzureWorkloadIdentity(Model):
    """An identity federated with the pod's service account."""

    client_id: Annotated[Text, doc("Client id of the identity, a UUID.")] = NO_TEXT
    tenant_id: Annotated[Text, doc("Tenant of the identity, a UUID.")] = NO_TEXT


class AzureAd(Model):
    """Logs in to Microsoft Entra ID (Azure AD) in one of four ways; set exactly one."""

    managed_identity: Annotated[
        AzureManagedIdentity | None,
        doc("Log in as a managed identity of the machine."),
    ] = None
    workload_identity: Annotated[
        AzureWorkloadIdentity | None,
        doc("Log in with the pod's service account. Needs Prometheus 3.7 or newer."),
    ] = None
    oauth: Annotated[
        AzureOAuth | None,
        doc("Log in as an application with its secret. Needs Prometheus 2.48 or newer."),
    ] = None
    sdk: Annotated[
        AzureSdk | None,
        doc("Log in with what the Azure SDK finds by itself. Needs Prometheus 2.52 or newer."),
    ] = None
    cloud: Annotated[
        str | None,
        doc(
            "Azure cloud to log in to. Unset: `AzurePublic`.",
            enum=("AzureChina", "AzureGovernment", "AzurePublic"),
        ),
    ] = None
    scope: Annotated[
        str | None,
        doc(
            "OAuth scope to ask for. Unset: that of Azure Monitor in the chosen cloud. "
            "Needs Prometheus 3.9 or newer.",
            pattern=r"^[\w\s:/.\\-]+$",
        ),
    ] = None


class QueueConfig(Model):
    """Tunes how samples are queued, batched and retried before they are sent.

    Each shard is a queue with a sender; Prometheus moves the number of shards between the bounds.
    """

    capacity: Annotated[
        int | None,
        doc("Samples that each shard holds before reading from the WAL stops. Default 10000."),
    ] = None
    min_shards: Annotated[int | None, doc("Number of shards to start with. Default 1.")] = None
    max_shards: Annotated[int | None, doc("Most shards to run at once. Default 50.")] = None
    max_samples_per_send: Annotated[
        int | None, doc("Most samples in one request. Default 2000.")
    ] = None
    batch_send_deadline: Annotated[
        Duration | None,
        doc("Send a batch after this long even if it is not full. Default `5s`."),
    ] = None
    min_backoff: Annotated[
        Duration | None,
        doc("Wait before the first retry, doubled with each further one. Default `30ms`."),
    ] = None
    max_backoff: Annotated[
        Duration | None, doc("Longest wait between two retries. Default `5s`.")
    ] = None
    max_retries: Annotated[
        int | None,
        doc("Retries before a batch is dropped. Prometheus 2.11 and newer ignore it."),
    ] = None
    retry_on_rate_limit: Annotated[
        bool | None,
        doc("Retry what the server refused with status 429 instead of dropping it."),
    ] = None
    sample_age_limit: Annotated[
        Duration | None,
        doc("Drop samples older than this unsent. Unset: none. Needs Prometheus 2.50 or newer."),
    ] = None


class MetadataConfig(Model):
    """Tunes how the type, unit and help text of metrics are sent with message version `V1.0`."""

    send: Annotated[bool | None, doc("Send metadata at all. Left out, it counts as `false`.")] = (
        None
    )
    send_interval: Annotated[Duration | None, doc("Time between two rounds. Default `1m`.")] = None
    max_samples_per_send: Annotated[
        Int32 | None,
        doc("Most entries in one request. Default 2000. Needs Prometheus 2.29.", minimum=-1),
    ] = None


class RemoteStorage(HttpClient):
    """The parts of remote write and remote read that are the same."""

    url: Annotated[HttpUrl, doc("Address of the remote storage.")] = NO_TEXT
    name: Annotated[
        str | None,
        doc(
            "Tells this entry apart in metrics and logs; unique in its list. "
            "Unset: Prometheus makes one up."
        ),
    ] = None
    remote_timeout: Annotated[
        Duration | None, doc("Longest time that a request may take. Unset: Prometheus decides.")
    ] = None
    headers: Annotated[
        dict[str, str] | None,
        doc("Headers to add to each request. Those that Prometheus sets itself cannot be changed."),
    ] = None
    oauth2: Annotated[OAuth2 | None, doc("OAuth 2.0 settings. Needs Prometheus 2.27 or newer.")] = (
        None
    )
    follow_redirects: Annotated[
        bool | None, doc("Follow HTTP redirects. Unset: yes. Needs Prometheus 2.26 or newer.")
    ] = None


class RemoteWrite(
    RemoteStorage, rename=names(enable_http2="enableHTTP2", round_robin_dns="roundRobinDNS")
):
    """Storage to which a copy of all samples is sent.

    Set at most one of `authorization`, `basicAuth`, `oauth2`, `sigv4` and `azureAd`.
    """

    message_version: Annotated[
        MessageVersion | None,
        doc(
            "Version of the protocol's messages; the server must know it. Unset: `V1.0`. "
            "Needs Prometheus 2.54 or Thanos 0.37 or newer."
        ),
    ] = None
    write_relabel_configs: Annotated[
        tuple[RelabelConfig, ...] | None,
        doc("Relabeling steps to change samples, or drop them, before they are sent."),
    ] = None
    send_exemplars: Annotated[
        bool | None,
        doc(
            "Send exemplars too. They must be stored for that (`exemplars` of a server). "
            "Needs Prometheus 2.27 or newer."
        ),
    ] = None
    send_native_histograms: Annotated[
        bool | None, doc("Send native histograms too. Needs Prometheus 2.40 or newer.")
    ] = None
    queue_config: Annotated[
        QueueConfig | None, doc("Queues, batches and retries. Defaults suit most.")
    ] = None
    metadata_config: Annotated[
        MetadataConfig | None, doc("Sending of metric metadata. Unset: Prometheus' defaults.")
    ] = None
    sigv4: Annotated[
        Sigv4 | None,
        doc("AWS Signature Version 4, to sign requests. Needs Prometheus 2.26 or newer."),
    ] = None
    azure_ad: Annotated[
        AzureAd | None, doc("Login to Azure AD. Needs Prometheus 2.45 or newer.")
    ] = None
    enable_http2: Annotated[
        bool | None, doc("Allow HTTP/2. Unset: yes before Prometheus 3.0, no since.")
    ] = None
    round_robin_dns: Annotated[
        bool | None,
        doc(
            "Connect to a random address of the host's name instead of trying them in order. "
            "Needs Prometheus 3.1, Thanos 0.38 or newer."
        ),
    ] = None


class RemoteRead(RemoteStorage):
    """Storage that is asked for samples when a query runs.

    Set at most one of `authorization`, `basicAuth` and `oauth2`.
    """

    required_matchers: Annotated[
        dict[str, str] | None,
        doc("Ask only for queries that select these labels with these values."),
    ] = None
    read_recent: Annotated[
        bool | None,
        doc("Ask also for times that local storage covers completely. Unset: no."),
    ] = None
    filter_external_labels: Annotated[
        bool | None,
        doc(
            "Add the external labels to the selectors sent. Unset: yes. "
            "Needs Prometheus 2.34 or newer."
        ),
    ] = None
