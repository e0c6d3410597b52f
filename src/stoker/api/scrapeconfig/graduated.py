"""ScrapeConfig, versions v1beta1 and v1: what is different from v1alpha1, as a table.

The types are made from v1alpha1's by `CHANGES`, and so are the conversion and the pages that tell
of the differences; the review behind the table is in
`docs/decisions/20261115-scrapeconfig-graduation.md`. v1 is v1beta1 without a change. Everything
that works with ScrapeConfigs works with v1alpha1's types: they are the internal form.
"""

from typing import Final

from stoker.api.common import Proxy, RelabelConfig
from stoker.api.graduate import FieldChange, Graduation, Relaxed, Renamed, Respelled, Ruled, Shape
from stoker.api.schema import fields_of
from stoker.api.scrapeconfig import v1alpha1
from stoker.api.scrapeconfig.client import GrantOAuth2
from stoker.api.scrapeconfig.discovery.aws import LightsailDiscovery
from stoker.api.scrapeconfig.discovery.clouds import OpenStackDiscovery
from stoker.api.scrapeconfig.discovery.containers import DockerSwarmDiscovery
from stoker.api.scrapeconfig.discovery.hosters import DigitalOceanDiscovery
from stoker.api.scrapeconfig.discovery.registries import ConsulDiscovery
from stoker.api.scrapeconfig.discovery.shared import AuthenticatedDiscovery, TokenDiscovery

_SPEC: Final = v1alpha1.ScrapeConfigSpec
_CLIENTS: Final = (_SPEC, Proxy)
_EVERYWHERE: Final = "job, discoveries, `oauth2`"
_INITIALISMS: Final = "`URL` and `ID` are written in capitals, as in the other fields"
_PRODUCTS: Final = "a product's name is written as the product writes it"
_ONE_SPELLING: Final = "one spelling for each value"
_BY_OPERATOR: Final = "the operator has always refused it, but later"
_SINGULAR: Final = "a role names one target, as in the other discoveries"

# Lower case is what Prometheus writes, so it is the usual spelling of v1alpha1.
_SCHEMES: Final = (("http", "HTTP"), ("https", "HTTPS"), ("HTTP", "HTTP"), ("HTTPS", "HTTPS"))
_ACTION_NAMES: Final = (
    *("Replace", "Keep", "Drop", "HashMod", "LabelMap", "LabelDrop", "LabelKeep"),
    *("Lowercase", "Uppercase", "KeepEqual", "DropEqual"),
)
_ACTIONS: Final = tuple(
    (spelling, name) for name in _ACTION_NAMES for spelling in (name.lower(), name)
)

CHANGES: Final[tuple[FieldChange, ...]] = (
    Renamed((_SPEC,), "lightsail_sd_configs", "lightsailSDConfigs", "job", _PRODUCTS),
    Renamed((_SPEC,), "openstack_sd_configs", "openStackSDConfigs", "job", _PRODUCTS),
    Renamed(_CLIENTS, "proxy_url", "proxyURL", _EVERYWHERE, _INITIALISMS),
    Renamed(
        _CLIENTS,
        "proxy_connect_header",
        "proxyConnectHeaders",
        _EVERYWHERE,
        "it holds several, like `httpHeaders`",
    ),
    Renamed((GrantOAuth2,), "client_id", "clientID", "`oauth2`", _INITIALISMS),
    Renamed((GrantOAuth2,), "token_url", "tokenURL", "`oauth2`", _INITIALISMS),
    Renamed((OpenStackDiscovery,), "userid", "userID", "OpenStack", _INITIALISMS),
    Renamed(
        (OpenStackDiscovery,),
        "application_credential_id",
        "applicationCredentialID",
        "OpenStack",
        _INITIALISMS,
    ),
    Renamed(
        (ConsulDiscovery,),
        "token_ref",
        "token",
        "Consul",
        "no other reference to a Secret says that it is one",
    ),
    Respelled((_SPEC, ConsulDiscovery), "scheme", _SCHEMES, "job, Consul", _ONE_SPELLING),
    Respelled(
        (RelabelConfig,), "action", _ACTIONS, "`relabelings`, `metricRelabelings`", _ONE_SPELLING
    ),
    Respelled(
        (DockerSwarmDiscovery,),
        "role",
        (("Services", "Service"), ("Tasks", "Task"), ("Nodes", "Node")),
        "Docker Swarm",
        _SINGULAR,
    ),
    Respelled(
        (DigitalOceanDiscovery,),
        "role",
        (("Droplets", "Droplet"), ("Databases", "Database")),
        "DigitalOcean",
        _SINGULAR,
    ),
    Relaxed(
        (GrantOAuth2,),
        "client_secret",
        "Secret key that holds the client secret. Needed unless `grantType` is `JWTBearer`.",
        "`oauth2`",
        "`JWTBearer` does not use it",
    ),
    # The API server adds up what rules could cost in the longest possible lists, and refuses a
    # definition that is too dear: rules for discoveries must be few and short.
    Ruled(
        (GrantOAuth2,),
        "clientSecret is needed, or clientCertificateKey if grantType is JWTBearer",
        "has(self.grantType) && self.grantType == 'JWTBearer'"
        " ? has(self.clientCertificateKey) : has(self.clientSecret)",
        "`oauth2`",
        _BY_OPERATOR,
    ),
    Ruled(
        (TokenDiscovery, LightsailDiscovery),
        "authorization and oauth2 exclude each other",
        "!has(self.authorization) || !has(self.oauth2)",
        "discoveries",
        _BY_OPERATOR,
    ),
    Ruled(
        (AuthenticatedDiscovery, LightsailDiscovery),
        "basicAuth excludes authorization and oauth2",
        "!has(self.basicAuth) || (!has(self.authorization) && !has(self.oauth2))",
        "discoveries",
        _BY_OPERATOR,
    ),
    Ruled(
        (_SPEC,),
        "proxyFromEnvironment excludes proxyURL and noProxy",
        "!has(self.proxyFromEnvironment) || !self.proxyFromEnvironment"
        " || (!has(self.proxyURL) && !has(self.noProxy))",
        "job",
        _BY_OPERATOR,
    ),
)

_GRADUATION: Final = Graduation(CHANGES)


def scrape_config() -> type[v1alpha1.ScrapeConfig]:
    """The type of both v1beta1 and v1; made when it is asked for, as most never ask."""
    return _GRADUATION.model(v1alpha1.ScrapeConfig)


def shape() -> Shape:
    """How the spec of a v1alpha1 object becomes that of the newer versions."""
    return _GRADUATION.shape(v1alpha1.ScrapeConfigSpec)


def differences() -> str:
    """The table of differences in Markdown."""
    rows = "".join(
        f"| {where} | {old} | {new} | {why} |\n" for where, old, new, why in map(_cells, CHANGES)
    )
    return f"| where | v1alpha1 | v1beta1, v1 | why |\n|---|---|---|---|\n{rows}"


def older_page() -> str:
    """What the reference says of v1alpha1."""
    return (
        "Deprecated: use [v1](scrapeconfig.md), which has all that this version has. "
        "[What to do, and until when](../scrapeconfig-versions.md).\n\n"
        f"It differs from v1 only in this:\n\n{differences()}"
    )


def same_page() -> str:
    """What the reference says of v1beta1."""
    return "It has the fields of [v1](scrapeconfig.md), without a difference.\n"


def _cells(change: FieldChange) -> tuple[str, str, str, str]:
    match change:
        case Renamed():
            return change.where, f"`{_name(change)}`", f"`{change.name}`", change.why
        case Respelled():
            old = ", ".join(f"`{old}`" for old, _ in change.words)
            new = ", ".join(f"`{new}`" for new in dict.fromkeys(new for _, new in change.words))
            return (
                change.where,
                f"`{_name(change)}`: {old}",
                f"`{_name(change)}`: {new}",
                change.why,
            )
        case Relaxed():
            return change.where, f"`{_name(change)}` required", "optional", change.why
        case Ruled():
            return change.where, "", f"rule: {change.message}", change.why


def _name(change: Renamed | Respelled | Relaxed) -> str:
    """The name of a field in v1alpha1."""
    fields = fields_of(change.of[0])
    return next(field.name for field in fields if field.attribute == change.attribute)
