"""What ServiceMonitor, PodMonitor, Probe and ScrapeConfig have in common.

A Struct has one line of ancestors, so the settings that these kinds combine differently are named
types (`BasicCredentials`, `HonorLabels`, …) that bring their description along; those that always
come together are base classes.
"""

from typing import Annotated, TypeAlias

from stoker.api.common import (
    Amount,
    BasicAuth,
    ByteSize,
    Duration,
    OAuth2,
    Proxy,
    Quantity,
    RelabelConfig,
    SafeAuthorization,
    SafeTlsConfig,
    Scheme,
    ScrapeProtocol,
    Text,
)
from stoker.api.core import IntOrString, SecretKeySelector
from stoker.api.declare import Model, doc, names

AuthorizationHeader: TypeAlias = Annotated[
    SafeAuthorization | None,
    doc("`Authorization` header to send. Excludes `basicAuth` and `oauth2`."),
]
BasicCredentials: TypeAlias = Annotated[
    BasicAuth | None,
    doc("User name and password to send. Excludes `authorization` and `oauth2`."),
]
OAuth2Client: TypeAlias = Annotated[
    OAuth2 | None,
    doc("OAuth 2.0 client whose token is sent. Excludes `authorization` and `basicAuth`."),
]
BearerTokenSecret: TypeAlias = Annotated[
    SecretKeySelector | None,
    doc("Deprecated: use `authorization`. Secret key that holds a bearer token to send."),
]
TargetTls: TypeAlias = Annotated[SafeTlsConfig | None, doc("TLS settings for scraping over HTTPS.")]
FollowRedirects: TypeAlias = Annotated[
    bool | None, doc("Follow HTTP redirects. Unset: they are followed.")
]
EnableHttp2: TypeAlias = Annotated[bool | None, doc("Offer HTTP/2. Unset: it is offered.")]

ScrapeInterval: TypeAlias = Annotated[
    Duration | None, doc("Time between two scrapes. Unset: `scrapeInterval` of the Prometheus.")
]
ScrapeTimeout: TypeAlias = Annotated[
    Duration | None,
    doc(
        "Time after which a scrape has failed, at most the interval. Unset: `scrapeTimeout` of "
        "the Prometheus."
    ),
]
TargetScheme: TypeAlias = Annotated[Scheme | None, doc("Protocol to scrape with. Unset: `http`.")]
HonorLabels: TypeAlias = Annotated[
    bool | None,
    doc(
        "Keep a scraped label that clashes with one of the target. Unset: the scraped one is "
        "renamed to `exported_…`. A Prometheus with `overrideHonorLabels` ignores it."
    ),
]
HonorTimestamps: TypeAlias = Annotated[
    bool | None,
    doc(
        "Take timestamps from the target where it gives them. Unset: they are taken. A Prometheus "
        "with `overrideHonorTimestamps` ignores it."
    ),
]
TrackTimestampsStaleness: TypeAlias = Annotated[
    bool | None,
    doc(
        "End a series with its own timestamps as soon as it disappears from the target. Unset: it "
        "lingers for five minutes. Needs Prometheus 2.48 or newer."
    ),
]
TargetRelabelings: TypeAlias = Annotated[
    tuple[RelabelConfig, ...] | None,
    doc("Steps that rewrite or drop targets before they are scraped."),
]
MetricRelabelings: TypeAlias = Annotated[
    tuple[RelabelConfig, ...] | None,
    doc("Steps that rewrite or drop samples before they are stored."),
]
BodySizeLimit: TypeAlias = Annotated[
    ByteSize | None, doc("Fail a scrape whose uncompressed response is larger, e.g. `10MB`.")
]


class ScrapeSettings(
    Model,
    rename=names(convert_classic_histograms_to_nhcb="convertClassicHistogramsToNHCB"),
):
    """Scrape class, limits, protocols and histograms: what every way to scrape can set.

    A Prometheus may cap the limits with its own `enforced…` ones.
    """

    scrape_class: Annotated[
        Text | None,
        doc("Scrape class of the Prometheus to apply. Unset: its default class, if it has one."),
    ] = None

    sample_limit: Annotated[
        Amount | None, doc("Fail a scrape that has more samples left after relabeling.")
    ] = None
    target_limit: Annotated[
        Amount | None,
        doc("Fail all scrapes if more targets than this are left after relabeling."),
    ] = None
    label_limit: Annotated[
        Amount | None, doc("Fail a scrape in which a sample has more labels.")
    ] = None
    label_name_length_limit: Annotated[
        Amount | None, doc("Fail a scrape in which the name of a label is longer, in bytes.")
    ] = None
    label_value_length_limit: Annotated[
        Amount | None, doc("Fail a scrape in which the value of a label is longer, in bytes.")
    ] = None
    keep_dropped_targets: Annotated[
        Amount | None,
        doc(
            "Number of targets dropped by relabeling to remember for the status page. 0: all. "
            "Needs Prometheus 2.47 or newer."
        ),
    ] = None

    scrape_protocols: Annotated[
        tuple[ScrapeProtocol, ...] | None,
        doc(
            "Formats to ask the target for, the preferred one first. Unset: `scrapeProtocols` of "
            "the Prometheus. Needs Prometheus 2.49 or newer.",
            listType="set",
        ),
    ] = None
    fallback_scrape_protocol: Annotated[
        ScrapeProtocol | None,
        doc(
            "Format to assume if the target's content type is missing or unknown. Unset: such a "
            "scrape fails. Needs Prometheus 3.0 or newer."
        ),
    ] = None

    scrape_native_histograms: Annotated[
        bool | None,
        doc(
            "Store native histograms that targets expose. Unset: as the Prometheus is set. "
            "Needs Prometheus 3.8 or newer."
        ),
    ] = None
    scrape_classic_histograms: Annotated[
        bool | None,
        doc("Also store the classic form of a histogram that is exposed as a native one."),
    ] = None
    convert_classic_histograms_to_nhcb: Annotated[
        bool | None,
        doc(
            "Store classic histograms as native ones with custom buckets. "
            "Needs Prometheus 3.0 or newer."
        ),
    ] = None
    native_histogram_bucket_limit: Annotated[
        Amount | None,
        doc(
            "Merge buckets of a native histogram that has more than this; fail the scrape if that "
            "is not enough."
        ),
    ] = None
    native_histogram_min_bucket_factor: Annotated[
        Quantity | None,
        doc(
            "Merge buckets of native histograms until each is wider than the one before by this "
            "factor, e.g. `1.1`. Needs Prometheus 2.50 or newer."
        ),
    ] = None


class Endpoint(Proxy):
    """A port to scrape over HTTP, as ServiceMonitor and PodMonitor describe it."""

    port: Annotated[
        str | None,
        doc("Name of the port: of the Service in a ServiceMonitor, of the pod in a PodMonitor."),
    ] = None
    target_port: Annotated[
        IntOrString | None, doc("Name or number of the container's port. `port` wins over it.")
    ] = None
    path: Annotated[str | None, doc("HTTP path of the metrics. Unset: `/metrics`.")] = None
    scheme: TargetScheme = None
    params: Annotated[
        dict[str, tuple[str, ...]] | None, doc("Query parameters of the request.")
    ] = None
    interval: ScrapeInterval = None
    scrape_timeout: ScrapeTimeout = None

    authorization: AuthorizationHeader = None
    basic_auth: BasicCredentials = None
    oauth2: OAuth2Client = None
    bearer_token_secret: BearerTokenSecret = None
    follow_redirects: FollowRedirects = None
    enable_http2: EnableHttp2 = None

    honor_labels: HonorLabels = None
    honor_timestamps: HonorTimestamps = None
    track_timestamps_staleness: TrackTimestampsStaleness = None
    relabelings: TargetRelabelings = None
    metric_relabelings: MetricRelabelings = None
    filter_running: Annotated[
        bool | None,
        doc("Leave out pods that have succeeded or failed. Unset: they are left out."),
    ] = None
