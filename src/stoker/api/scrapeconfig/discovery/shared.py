"""What several discoveries have in common: settings with a name, and how an HTTP API is asked."""

from typing import Annotated, TypeAlias

from stoker.api.common import Port, Proxy, SafeTlsConfig, Text
from stoker.api.declare import NO_ITEMS, NO_TEXT, Doc, Model, doc, names
from stoker.api.scrape import AuthorizationHeader, BasicCredentials, EnableHttp2, FollowRedirects
from stoker.api.scrapeconfig.client import HttpHeaders, OAuth2GrantClient

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
    http_headers: HttpHeaders = None


class TokenDiscovery(HttpDiscovery):
    """Targets that an HTTP API tells to whom has a token."""

    authorization: AuthorizationHeader = None
    oauth2: OAuth2GrantClient = None


class AuthenticatedDiscovery(TokenDiscovery):
    """Targets that an HTTP API tells to whom has a token or a password."""

    basic_auth: BasicCredentials = None


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
