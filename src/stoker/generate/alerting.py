"""Alerting: where alerts go, and what is done to their labels on the way.

Alertmanagers are found by discovery: the endpoints of a Service, of which the port that was named
is kept. Entries that a user wrote in Prometheus' own syntax come after those of the API, as they
are. All alerts lose the label that tells replicas apart, so that Alertmanager takes the alerts of
two replicas for the same one.
"""

import re
from collections.abc import Sequence
from typing import Any, Final

from stoker.api.common import RelabelConfig
from stoker.api.prometheus import AlertmanagerEndpoints, PrometheusSpec
from stoker.generate.block import Block
from stoker.generate.draft import ScraperDraft
from stoker.generate.grammar import Member, put
from stoker.generate.http import authorization, basic_auth, put_proxy, sigv4, tls_config
from stoker.generate.kubernetes import ENDPOINT_SLICE, ENDPOINTS, kubernetes_sd_config
from stoker.generate.relabel import literal, relabel_configs
from stoker.generate.sections import SPEC, replica_label
from stoker.generate.values import lower

_API_VERSIONS: Final = {"v1": Member("v1", until="3.0.0-beta.0")}
_SLICES: Final = Member("endpointslice", since="2.21.0")
_META: Final = "__meta_kubernetes_"
_PORT_NAME: Final = {
    ENDPOINTS: f"{_META}endpoint_port_name",
    ENDPOINT_SLICE: f"{_META}endpointslice_port_name",
}
_PORT_NUMBER: Final = f"{_META}pod_container_port_number"


def _api_version(name: str, draft: ScraperDraft, path: str) -> str | None:
    version = name.lower()
    known = _API_VERSIONS.get(version)
    if known is None or known.known_to(draft.version):
        return version
    draft.ignore(path, f"{version} is {known.lacking(draft.program)}")
    return None


def _steps(steps: tuple[RelabelConfig, ...], draft: ScraperDraft, path: str) -> list[Block] | None:
    return relabel_configs(steps, draft, path) or None


_ADDRESS: Final = (
    Member("scheme", write=lower),
    Member("path_prefix"),
    Member("timeout"),
    Member("enable_http2", since="2.35.0"),
    Member("tls_config", write=tls_config),
)
_AUTHENTICATION: Final = (
    Member("bearer_token_file"),
    Member("basic_auth", since="2.26.0", write=basic_auth),
    Member("authorization", since="2.26.0", write=authorization),
    Member("sigv4", since="2.48.0", write=sigv4),
    Member("api_version", since="2.11.0", write=_api_version),
)
_ALERTS: Final = (
    Member("alert_relabel_configs", "alert_relabelings", since="2.51.0", write=_steps),
)


def alerting_section(
    draft: ScraperDraft,
    additional_relabel_configs: Sequence[Any] | None = None,
    additional_alertmanagers: Sequence[Any] | None = None,
) -> Block | None:
    """`alerting`; None where the workload has nothing of it.

    What is additional is a list in Prometheus' own syntax that the user wrote, already parsed.
    """
    spec = draft.spec
    if not isinstance(spec, PrometheusSpec):
        return None
    given = (spec.alerting, additional_relabel_configs, additional_alertmanagers)
    if given == (None, None, None):
        return None
    path = f"{SPEC}.alerting.alertmanagers"
    endpoints = spec.alerting.alertmanagers if spec.alerting else ()
    own = [alertmanager(one, draft, f"{path}[{i}]") for i, one in enumerate(endpoints)]
    return {
        "alert_relabel_configs": [*_without_replica(spec), *(additional_relabel_configs or ())],
        "alertmanagers": [*own, *(additional_alertmanagers or ())],
    }


def _without_replica(spec: PrometheusSpec) -> list[Block]:
    label = replica_label(spec)
    return [{"action": "labeldrop", "regex": _escaped(label)}] if label else []


_SPECIAL: Final = re.compile(r"[\\.+*?()|\[\]{}^$]")


def _escaped(text: str) -> str:
    """A regular expression that matches nothing but the text."""
    return _SPECIAL.sub(r"\\\g<0>", text)


def alertmanager(endpoints: AlertmanagerEndpoints, draft: ScraperDraft, path: str) -> Block:
    """The Alertmanagers behind one Service."""
    block: Block = {}
    put(block, _ADDRESS, endpoints, draft, path)
    put_proxy(block, endpoints, draft, path)
    role = _role(draft)
    namespace = endpoints.namespace or draft.scraper.namespace
    block["kubernetes_sd_configs"] = [kubernetes_sd_config(role, (namespace,), draft)]
    put(block, _AUTHENTICATION, endpoints, draft, path)
    block["relabel_configs"] = [
        *_of_service(endpoints, role),
        *relabel_configs(endpoints.relabelings, draft, f"{path}.relabelings"),
    ]
    put(block, _ALERTS, endpoints, draft, path)
    return block


def _role(draft: ScraperDraft) -> str:
    """Which objects lead from a Service to its pods."""
    slices = draft.spec.service_discovery_role == "EndpointSlice"
    can = draft.scraper.capabilities.endpoint_slices and _SLICES.known_to(draft.version)
    return ENDPOINT_SLICE if slices and can else ENDPOINTS


def _of_service(endpoints: AlertmanagerEndpoints, role: str) -> list[Block]:
    """Steps that keep the endpoints of the Service, at its port if one is named."""
    steps = [_kept(f"{_META}service_name", endpoints.name)]
    if endpoints.port:
        number = isinstance(endpoints.port, int)
        steps.append(_kept(_PORT_NUMBER if number else _PORT_NAME[role], str(endpoints.port)))
    return steps


def _kept(label: str, value: str) -> Block:
    return {"action": "keep", "source_labels": [label], "regex": literal(value)}
