"""Targets that something lists: the resource itself, files, a URL, DNS records."""

from typing import Annotated

from stoker.api.common import Duration, Port, Text, WebUrl
from stoker.api.declare import NO_ITEMS, NO_TEXT, Model, doc, rule
from stoker.api.scrapeconfig.discovery.shared import AuthenticatedDiscovery, refreshed


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
