"""What the jobs of monitors take from their workload, and the job of a ScrapeConfig does not.

A ScrapeConfig must say these things itself. Workloads with equal terms share the ScrapeConfigs of a
monitor; everything else that a workload has a say in (limits, classes, shards, …) is added to the
job of a ScrapeConfig just as to that of a monitor, and makes no difference here.
"""

from collections.abc import Iterator
from hashlib import sha256
from typing import Final

import msgspec
from msgspec import Struct

from stoker.api.common import Authorization, RelabelConfig, SafeTlsConfig
from stoker.api.prometheus import PrometheusSpec
from stoker.api.prometheus_common import ApiServerConfig, ScrapeClass
from stoker.api.workload import ExcludedObject
from stoker.errors import below
from stoker.generate.sharding import zones
from stoker.select.workload import Scraper
from stoker.settings import Capabilities
from stoker.version import needs_version, parse_version

_ENDPOINTS: Final = "Endpoints"
_SLICES: Final = "EndpointSlice"
# From here on `authorization` can say what `bearer_token` says, and all roles are known.
_OLDEST: Final = "2.26.0"
_DIGEST: Final = 8
_API_SERVER: Final = "spec.apiserverConfig"
_ELSEWHERE: Final = "a ScrapeConfig cannot refer to Secrets in the namespace of the workload"


class Inexpressible(Struct, frozen=True):
    """Why no ScrapeConfig can say what a monitor says: the path in it, or in the workload."""

    path: str
    reason: str

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}" if self.path else self.reason


class Terms(Struct, frozen=True, kw_only=True):
    """What monitors take from a workload.

    `service_discovery_role` is for ServiceMonitors that name none; `endpoint_slices` tells whether
    the cluster has them. `classes` are the workload's scrape classes as far as they matter: which
    there are, what they attach to targets, and whether they relabel them or authenticate.
    """

    ignore_namespace_selectors: bool = False
    pod_target_labels: tuple[str, ...] = ()
    service_discovery_role: str = _ENDPOINTS
    endpoint_slices: bool = True
    api_server: ApiServerConfig | None = None
    enforced_namespace_label: str = ""
    spared: tuple[ExcludedObject, ...] = ()
    classes: tuple[ScrapeClass, ...] = ()

    @property
    def digest(self) -> str:
        """A word for these terms; empty for those of a workload that says nothing of this."""
        if self == DEFAULT_TERMS:
            return ""
        text = msgspec.json.encode(self, order="sorted")
        return sha256(text).hexdigest()[:_DIGEST]

    @property
    def scraper(self) -> Scraper:
        """A workload that has these terms and asks for nothing else."""
        spec = PrometheusSpec(
            ignore_namespace_selectors=self.ignore_namespace_selectors,
            pod_target_labels=self.pod_target_labels,
            service_discovery_role=self.service_discovery_role,
            enforced_namespace_label=self.enforced_namespace_label,
            excluded_from_enforcement=self.spared,
            scrape_classes=self.classes,
        )
        capabilities = Capabilities(endpoint_slices=self.endpoint_slices, shard_retention=False)
        return Scraper(namespace="", name="", spec=spec, capabilities=capabilities)


DEFAULT_TERMS: Final = Terms()


def terms_of(scraper: Scraper) -> Terms | Inexpressible:
    """The terms of a workload, or why its monitors must stay as they are."""
    problem = next(_problems(scraper), None)
    if problem:
        return problem
    spec, slices = scraper.spec, scraper.capabilities.endpoint_slices
    wants_slices = spec.service_discovery_role == _SLICES and slices
    label = spec.enforced_namespace_label or ""
    return Terms(
        ignore_namespace_selectors=bool(spec.ignore_namespace_selectors),
        pod_target_labels=spec.pod_target_labels or (),
        service_discovery_role=_SLICES if wants_slices else _ENDPOINTS,
        endpoint_slices=slices,
        api_server=spec.apiserver_config,
        enforced_namespace_label=label,
        spared=(spec.excluded_from_enforcement or ()) if label else (),
        classes=tuple(map(_essence, spec.scrape_classes or ())),
    )


def _essence(each: ScrapeClass) -> ScrapeClass:
    """A class with only what `Terms` promise."""
    return ScrapeClass(
        name=each.name,
        default=each.default,
        attach_metadata=each.attach_metadata,
        relabelings=(RelabelConfig(),) if each.relabelings else None,
        authorization=Authorization() if each.authorization else None,
    )


def _problems(scraper: Scraper) -> Iterator[Inexpressible]:
    spec = scraper.spec
    if scraper.daemon_set:
        yield Inexpressible("spec.mode", "an agent on each node scrapes no ScrapeConfigs")
    if scraper.version < parse_version(_OLDEST):
        yield Inexpressible("spec.version", needs_version("Prometheus", _OLDEST))
    if zones(scraper):
        reason = "targets of a ScrapeConfig are not divided by their zone"
        yield Inexpressible("spec.shardingStrategy", reason)
    if spec.apiserver_config:
        yield from _api_server_problems(spec.apiserver_config)


def _api_server_problems(server: ApiServerConfig) -> Iterator[Inexpressible]:
    if not server.host:
        yield Inexpressible(_API_SERVER, "has no host")
    for name in ("bearer_token", "bearer_token_file"):
        if getattr(server, name):
            json_name = "bearerToken" + ("File" if name.endswith("file") else "")
            yield Inexpressible(below(_API_SERVER, json_name), "a ScrapeConfig has no such field")
    referring = {
        "basicAuth": server.basic_auth,
        "authorization": server.authorization,
        "proxyConnectHeader": server.proxy_connect_header,
    }
    for name, value in referring.items():
        if value:
            yield Inexpressible(below(_API_SERVER, name), _ELSEWHERE)
    tls = server.tls_config
    plain = tls and SafeTlsConfig(
        server_name=tls.server_name,
        insecure_skip_verify=tls.insecure_skip_verify,
        min_version=tls.min_version,
        max_version=tls.max_version,
    )
    if tls and msgspec.to_builtins(tls) != msgspec.to_builtins(plain):
        reason = "a ScrapeConfig can name neither files nor Secrets of the workload"
        yield Inexpressible(below(_API_SERVER, "tlsConfig"), reason)
