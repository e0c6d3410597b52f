"""The targets of a monitor's job, as members of a ScrapeConfig.

Discovery and steps are read back from the job that the monitor has. The generator adds to the job
of a ScrapeConfig the first step and, where there are shards, the last ones; those are left out.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from stoker.api.common import RelabelConfig, SafeTlsConfig
from stoker.api.prometheus_common import ApiServerConfig
from stoker.api.scrapeconfig.discovery.kubernetes import (
    KubernetesDiscovery,
    KubernetesMetadata,
    KubernetesNamespaces,
    KubernetesSelector,
)
from stoker.api.scrapeconfig.discovery.lists import StaticTargets
from stoker.generate.block import Block
from stoker.generate.relabel import JOB_NAME, fixed

_ROLES: Final = {
    name.lower(): name for name in ("Pod", "Service", "Endpoints", "EndpointSlice", "Ingress")
}
# The server fills this in where it is not said.
_DEFAULT_ACTION: Final = "replace"


def discovery_of(block: Block, server: ApiServerConfig | None) -> KubernetesDiscovery:
    """A discovery in the Kubernetes API."""
    # A name twice means nothing to Prometheus, and the API server refuses it.
    names = tuple(dict.fromkeys((block.get("namespaces") or {}).get("names") or ()))
    attached = block.get("attach_metadata")
    return KubernetesDiscovery(
        role=_ROLES[block["role"]],
        namespaces=KubernetesNamespaces(names=names) if names else None,
        selectors=tuple(_selectors(block)) or None,
        attach_metadata=KubernetesMetadata(**attached) if attached else None,
        **_way_to(server),
    )


def _selectors(block: Block) -> Iterator[KubernetesSelector]:
    """What is asked of the API server; empty text, which the schema refuses, asks for nothing."""
    for each in block.get("selectors") or ():
        label, field = each.get("label") or None, each.get("field")
        if label or field:
            yield KubernetesSelector(role=_ROLES[each["role"]], label=label, field=field)


def _way_to(server: ApiServerConfig | None) -> dict[str, Any]:
    """The way to another API server, which the workload has and a ScrapeConfig must name."""
    if server is None:
        return {}
    names = SafeTlsConfig.__struct_fields__
    tls = server.tls_config
    return {
        "api_server": server.host,
        "proxy_url": server.proxy_url,
        "no_proxy": server.no_proxy,
        "proxy_from_environment": server.proxy_from_environment,
        "tls_config": tls and SafeTlsConfig(**{name: getattr(tls, name) for name in names}),
    }


def static_targets(blocks: Iterable[Block]) -> tuple[StaticTargets, ...] | None:
    """Targets that are listed; one that is listed twice is one."""
    made = tuple(
        StaticTargets(targets=tuple(dict.fromkeys(each["targets"])), labels=dict(each["labels"]))
        for each in blocks
    )
    return made or None


def steps_of(blocks: list[Block], job_name: str, *, named: bool) -> tuple[RelabelConfig, ...]:
    """The steps of a job without the first, which the generator adds to each.

    Where a user's steps might ask for the name of the job, it is that of the monitor's (`named`).
    """
    first, *others = blocks
    if first != JOB_NAME:
        raise ValueError("the jobs of monitors begin with the step that keeps their name")
    name = [fixed(JOB_NAME["target_label"], job_name)] if named else []
    return tuple(_step(each) for each in (*name, *others))


def _step(block: Block) -> RelabelConfig:
    return RelabelConfig(
        source_labels=tuple(block["source_labels"]) if "source_labels" in block else None,
        separator=block.get("separator"),
        target_label=block.get("target_label"),
        regex=str(block["regex"]) if "regex" in block else None,
        modulus=block.get("modulus"),
        replacement=block.get("replacement"),
        action=block.get("action") or _DEFAULT_ACTION,
    )
