"""ScrapeConfig: the job itself, and each way to find targets as a row of checks.

A discovery that the workload's version does not know is refused, and so are the fields in the table
without which other targets would be found, or none. All other fields that a version does not know
are left out by the generator and reported.
"""

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from msgspec import Struct

from stoker.api.scrapeconfig.discovery import (
    AzureDiscovery,
    ConsulDiscovery,
    DnsDiscovery,
    FileDiscovery,
    KubernetesDiscovery,
    OpenStackDiscovery,
    StaticTargets,
)
from stoker.api.scrapeconfig.v1alpha1 import ScrapeConfig
from stoker.errors import below
from stoker.select.labels import field_text_problem, label_text_problem
from stoker.validate.findings import Finding, Findings, Reason, json_name
from stoker.validate.http import conflict, http_client, web_url
from stoker.validate.monitors import (
    durations,
    files_denied,
    forbidden_file,
    interval_and_timeout,
    scrape_settings,
    target_labels,
)
from stoker.validate.relabel import relabelings
from stoker.validate.scope import LEGACY, Scope
from stoker.validate.syntax import Url

Check: TypeAlias = Callable[[Any, Scope, str], Findings]


def scrape_config(config: ScrapeConfig, scope: Scope) -> Findings:
    """Everything about a ScrapeConfig."""
    spec = config.spec
    scheme = spec.name_validation_scheme
    yield from scrape_settings(spec, scope, "spec")
    yield from interval_and_timeout(
        spec.scrape_interval,
        spec.scrape_timeout,
        scope,
        "spec",
        ("scrapeInterval", "scrapeTimeout"),
    )
    yield from relabelings(spec.relabelings, scope, "spec.relabelings", scheme)
    yield from relabelings(spec.metric_relabelings, scope, "spec.metricRelabelings", scheme)
    yield from name_schemes(scheme, spec.name_escaping_scheme, scope, "spec")
    yield from http_client(spec, scope, "spec")
    for row in DISCOVERIES:
        items = getattr(spec, row.field)
        if items:
            yield from discoveries(row, items, scope, below("spec", json_name(spec, row.field)))


_ESCAPING_SCHEMES: Final = "3.4.0"


def name_schemes(validation: str | None, escaping: str | None, scope: Scope, path: str) -> Findings:
    """No UTF-8 names are asked for where only legacy ones are taken."""
    legacy = (validation or scope.spec.name_validation_scheme) == LEGACY
    if legacy and escaping == "AllowUTF8" and scope.knows(_ESCAPING_SCHEMES):
        yield conflict(below(path, "nameEscapingScheme"), "`AllowUTF8` needs validation by `UTF8`")


def discoveries(row: "Discovery", items: tuple[Any, ...], scope: Scope, path: str) -> Findings:
    """Everything about the discoveries of one sort."""
    if row.since and not scope.knows(row.since):
        yield too_old(path, row.since)
    for index, item in enumerate(items):
        where = f"{path}[{index}]"
        yield from http_client(item, scope, where)
        yield from durations(item, where, "refresh_interval", "fetch_timeout")
        for check in row.checks:
            yield from check(item, scope, where)


def too_old(path: str, since: str) -> Finding:
    """Something that the workload's version does not know."""
    return Finding(path, Reason.UNSUPPORTED_VERSION, f"needs Prometheus {since} or newer")


def needs(attribute: str, since: str, *values: str) -> Check:
    """The field, or one of these values of it, is not known before a version."""

    def check(item: Any, scope: Scope, path: str) -> Findings:
        value = getattr(item, attribute)
        if (value in values if values else value is not None) and not scope.knows(since):
            yield too_old(below(path, json_name(item, attribute)), since)

    return check


def key(attribute: str, *, filled: bool = False) -> Check:
    """A reference that must lead to a value, where there is one; `filled`, not to an empty one."""

    def check(item: Any, scope: Scope, path: str) -> Findings:
        reference = getattr(item, attribute)
        where = below(path, json_name(item, attribute))
        if reference is not None:
            yield from scope.unresolved(reference, where)
        if filled and scope.value(reference) == "":
            yield Finding(where, Reason.INVALID_VALUE, "the value is empty")

    return check


def required(attribute: str) -> Check:
    """A text that must not be blank."""

    def check(item: Any, scope: Scope, path: str) -> Findings:
        if not (getattr(item, attribute) or "").strip():
            yield Finding(below(path, json_name(item, attribute)), Reason.REQUIRED, "must be set")

    return check


def address(attribute: str, *, optional: bool = False) -> Check:
    """An http or https URL with a host."""

    def check(item: Any, scope: Scope, path: str) -> Findings:
        text = getattr(item, attribute)
        if text or not optional:
            yield from web_url(text, below(path, json_name(item, attribute)))

    return check


def docker_host(item: Any, scope: Scope, path: str) -> Findings:
    """The daemon's address can be read as a URL."""
    problem = Url(item.host).problem
    if problem:
        yield Finding(below(path, "host"), Reason.INVALID_VALUE, problem)


def static_labels(item: StaticTargets, scope: Scope, path: str) -> Findings:
    """Names of labels that the version takes."""
    yield from target_labels(item.labels, scope, below(path, "labels"))


def file_access(item: FileDiscovery, scope: Scope, path: str) -> Findings:
    """No files of the container, where the Prometheus denies them."""
    if files_denied(scope):
        yield forbidden_file(below(path, "files"))


def dns_port(item: DnsDiscovery, scope: Scope, path: str) -> Findings:
    """A port, unless the records bring their own."""
    if item.type not in (None, "", "SRV") and not item.port:
        yield Finding(below(path, "port"), Reason.REQUIRED, "is needed unless `type` is `SRV`")


def consul_credentials(item: ConsulDiscovery, scope: Scope, path: str) -> Findings:
    """A token in one place."""
    if item.token_ref is not None and (item.authorization or item.oauth2):
        yield conflict(below(path, "tokenRef"), "excludes `authorization` and `oauth2`")


def azure_login(item: AzureDiscovery, scope: Scope, path: str) -> Findings:
    """OAuth, the default, needs an application with its secret."""
    if item.authentication_method not in (None, "", "OAuth"):
        return
    for attribute in ("tenant_id", "client_id", "client_secret"):
        if not getattr(item, attribute):
            where = below(path, json_name(item, attribute))
            yield Finding(where, Reason.REQUIRED, "is needed to log in by OAuth")


# What a selector can narrow down besides the role itself.
_SELECTABLE: Final = {
    "pod": ("pod", "node"),
    "service": ("service",),
    "endpoints": ("pod", "service", "endpoints"),
    "endpointslice": ("pod", "service", "endpointslice"),
    "node": ("node",),
    "ingress": ("ingress",),
}
_NODE_SELECTORS_OF_PODS: Final = "3.11.0"


def kubernetes_selectors(item: KubernetesDiscovery, scope: Scope, path: str) -> Findings:
    """Selectors that can be read, for roles that the discovery looks at, each once."""
    role = item.role.lower()
    seen: set[str] = set()
    for index, selector in enumerate(item.selectors or ()):
        where, chosen = f"{path}.selectors[{index}]", selector.role.lower()
        if chosen in seen:
            yield Finding(below(where, "role"), Reason.DUPLICATE, f"`{selector.role}` comes twice")
        seen.add(chosen)
        if chosen not in _SELECTABLE.get(role, ()):
            message = f"role `{item.role}` has no selectors for `{selector.role}`"
            yield Finding(below(where, "role"), Reason.INVALID_SELECTOR, message)
        if (role, chosen) == ("pod", "node") and not scope.knows(_NODE_SELECTORS_OF_PODS):
            yield too_old(below(where, "role"), _NODE_SELECTORS_OF_PODS)
        for name, text, problem_of in (
            ("label", selector.label, label_text_problem),
            ("field", selector.field, field_text_problem),
        ):
            problem = problem_of(text or "")
            if problem:
                yield Finding(below(where, name), Reason.INVALID_SELECTOR, problem)


def kubernetes_server(item: KubernetesDiscovery, scope: Scope, path: str) -> Findings:
    """What is said about reaching an API server needs to say which one."""
    if item.api_server:
        problem = Url(item.api_server).problem
        if problem:
            yield Finding(below(path, "apiServer"), Reason.INVALID_VALUE, problem)
        if item.namespaces and item.namespaces.own_namespace:
            yield conflict(below(path, "apiServer"), "excludes `namespaces.ownNamespace`")
        return
    settings = (item.tls_config, item.authorization, item.basic_auth, item.oauth2, item.proxy_url)
    others = item.proxy_from_environment or item.follow_redirects is False
    if any(settings) or others or item.enable_http2 is False:
        yield conflict(path, "settings of the HTTP client need `apiServer`")


def openstack_role(item: OpenStackDiscovery, scope: Scope, path: str) -> Findings:
    """Load balancers are found by newer versions only."""
    if item.role.lower() == "loadbalancer" and not scope.knows("3.2.0"):
        yield too_old(below(path, "role"), "3.2.0")


class Discovery(Struct, frozen=True):
    """A way to find targets: the field, the first version that has it, and what is checked."""

    field: str
    since: str = ""
    checks: tuple[Check, ...] = ()


_AWS_KEYS: Final = (key("access_key"), key("secret_key"))

DISCOVERIES: Final = (
    Discovery("static_configs", checks=(static_labels,)),
    Discovery("file_sd_configs", checks=(file_access,)),
    Discovery("http_sd_configs", "2.28.0", (address("url"),)),
    Discovery(
        "dns_sd_configs",
        checks=(dns_port, needs("type", "2.38.0", "MX"), needs("type", "2.49.0", "NS")),
    ),
    Discovery(
        "kubernetes_sd_configs",
        checks=(
            needs("role", "2.21.0", "EndpointSlice"),
            kubernetes_selectors,
            kubernetes_server,
        ),
    ),
    Discovery(
        "consul_sd_configs",
        checks=(
            required("server"),
            key("token_ref"),
            consul_credentials,
            needs("namespace", "2.28.0"),
            needs("path_prefix", "2.45.0"),
            needs("filter", "3.0.0"),
            needs("health_filter", "3.11.2"),
        ),
    ),
    Discovery("nomad_sd_configs", "2.37.0", (address("server"),)),
    Discovery("eureka_sd_configs", "2.21.0", (address("server", optional=True),)),
    Discovery("kuma_sd_configs", "2.29.0", (address("server"),)),
    Discovery("puppetdb_sd_configs", "2.31.0", (address("url"),)),
    Discovery("docker_sd_configs", "2.27.0", (docker_host, needs("match_first_network", "2.54.1"))),
    Discovery("docker_swarm_sd_configs", "2.20.0", (docker_host,)),
    Discovery("ec2_sd_configs", checks=_AWS_KEYS),
    Discovery("lightsail_sd_configs", "2.27.0", _AWS_KEYS),
    Discovery(
        "azure_sd_configs",
        checks=(
            azure_login,
            key("client_secret", filled=True),
            needs("resource_group", "2.35.0"),
            needs("authentication_method", "2.52.0", "SDK"),
            needs("authentication_method", "3.11.0", "WorkloadIdentity"),
        ),
    ),
    Discovery("gce_sd_configs"),
    Discovery("digital_ocean_sd_configs", "2.20.0"),
    Discovery("hetzner_sd_configs", "2.21.0", (needs("label_selector", "3.5.0"),)),
    Discovery("ionos_sd_configs", "2.36.0"),
    Discovery("linode_sd_configs", "2.28.0"),
    Discovery(
        "openstack_sd_configs",
        checks=(openstack_role, key("password"), key("application_credential_secret")),
    ),
    Discovery(
        "ovhcloud_sd_configs",
        "2.40.0",
        (key("application_secret", filled=True), key("consumer_key", filled=True)),
    ),
    Discovery(
        "scaleway_sd_configs", "2.26.0", (key("secret_key"), address("api_url", optional=True))
    ),
)
