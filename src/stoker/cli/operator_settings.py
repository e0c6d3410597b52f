"""From the flags of `stoker operator` to its settings."""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from stoker.cli.flags import Given, parsed
from stoker.errors import FieldError
from stoker.limits import Limits, limits_with
from stoker.select.namespaces import contradiction
from stoker.settings import (
    DEFAULT_GATES,
    STATUS_GATE,
    ApiSettings,
    DiscoveryFiles,
    DiscoverySettings,
    KubeletSettings,
    LeaderSettings,
    LogSettings,
    NamespaceSettings,
    NodeServer,
    ObjectSettings,
    OperatorSettings,
    PageSettings,
    Reloader,
    SelectorSettings,
    TargetSettings,
    WebSettings,
    gates_with,
    lease_name,
)


def operator_settings(words: Sequence[str]) -> OperatorSettings:
    """The settings that a command line asks for; `FieldError` names the flag that is wrong."""
    return settings_of(parsed(words))


def settings_of(given: Given) -> OperatorSettings:
    """The settings that these flags ask for."""
    namespaces = _namespaces(given)
    wrong = contradiction(namespaces)
    if wrong:
        raise wrong
    gates = _gates(given)
    settings = OperatorSettings(
        objects=_objects(given),
        namespaces=namespaces,
        selectors=_selectors(given),
        gates=gates,
        controller_id=given["controller-id"],
        repair_policy=given["repair-policy-for-statefulsets"],
        mode_change_patience=given["agent-mode-change-deadline"],
        unmanaged_configurations=not given["disable-unmanaged-prometheus-configuration"],
        references_everywhere=given["watch-referenced-objects-in-all-namespaces"],
        deny_files=given["deny-file-access-in-configuration-resources"],
        consolidate_monitors=given["consolidate-monitors"],
        limits=limits_of(given),
        workers=given["workers"],
        kubelet=_kubelet(given),
        discovery=_discovery(given),
        targets=_targets(given, gates),
        web=web_settings(given),
        page=_page(given),
        log=LogSettings(level=given["log-level"], format=given["log-format"]),
        api=_api(given),
    )
    return replace(settings, leader=_leader(given, settings))


def _page(given: Given) -> PageSettings:
    return PageSettings(
        address=given["status-page-address"],
        hosts=given["status-page-host"],
        login=given["page-auth"] == "kubernetes",
    )


def _namespaces(given: Given) -> NamespaceSettings:
    return NamespaceSettings(
        allowed=given["namespaces"],
        denied=given["deny-namespaces"],
        prometheus=given["prometheus-instance-namespaces"],
        alertmanager=given["alertmanager-instance-namespaces"],
        alertmanager_config=given["alertmanager-config-namespaces"],
        thanos_ruler=given["thanos-ruler-instance-namespaces"],
    )


def _selectors(given: Given) -> SelectorSettings:
    return SelectorSettings(
        prometheus=given["prometheus-instance-selector"],
        alertmanager=given["alertmanager-instance-selector"],
        thanos_ruler=given["thanos-ruler-instance-selector"],
        secret_labels=given["secret-label-selector"],
        secret_fields=given["secret-field-selector"],
        config_map_labels=given["configmap-label-selector"],
        config_map_fields=given["configmap-field-selector"],
    )


def _objects(given: Given) -> ObjectSettings:
    return ObjectSettings(
        local_host=given["localhost"],
        cluster_domain=given["cluster-domain"],
        reloader=Reloader(
            image=given["prometheus-config-reloader"],
            cpu_request=given["config-reloader-cpu-request"],
            cpu_limit=given["config-reloader-cpu-limit"],
            memory_request=given["config-reloader-memory-request"],
            memory_limit=given["config-reloader-memory-limit"],
            probes=given["enable-config-reloader-probes"],
        ),
        node_server=NodeServer(url=url) if (url := given["node-discovery-url"]) else None,
        prometheus_base_image=given["prometheus-default-base-image"],
        alertmanager_base_image=given["alertmanager-default-base-image"],
        thanos_base_image=given["thanos-default-base-image"],
        labels=given["labels"],
        annotations=given["annotations"],
    )


def _gates(given: Given) -> dict[str, bool]:
    try:
        return gates_with(DEFAULT_GATES, given["feature-gates"])
    except FieldError as error:
        raise FieldError("--feature-gates", str(error)) from None


def limits_of(given: Given) -> Limits:
    """What one resource may cost, from the flag that operator and webhook share."""
    return limits_with(given["resource-limits"])


def _kubelet(given: Given) -> KubeletSettings:
    namespace, name = given["kubelet-service"]
    return KubeletSettings(
        namespace=namespace,
        name=name,
        endpoints=given["kubelet-endpoints"],
        endpoint_slices=given["kubelet-endpointslice"],
        http_metrics=given["kubelet-http-metrics"],
        node_selector=given["kubelet-selector"],
        address_priority=given["kubelet-node-address-priority"],
        sync_seconds=given["kubelet-sync-period"],
    )


def _discovery(given: Given) -> DiscoverySettings:
    if not given["node-discovery-url"]:
        return DiscoverySettings()
    files = {each: given[f"node-discovery-{each}-file"] for each in ("cert", "key", "ca")}
    if not any(files.values()):
        return DiscoverySettings(address=given["node-discovery-address"])
    for each, path in files.items():
        if not path:
            raise FieldError(f"--node-discovery-{each}-file", "is needed beside the other two")
    return DiscoverySettings(address=given["node-discovery-address"], files=DiscoveryFiles(**files))


def _targets(given: Given, gates: Mapping[str, bool]) -> TargetSettings:
    interval = given["target-status-interval"]
    if interval and not gates[STATUS_GATE]:
        raise FieldError("--target-status-interval", f"needs the feature gate {STATUS_GATE}")
    return TargetSettings(interval_seconds=interval, requests=given["target-status-requests"])


def web_settings(given: Given) -> WebSettings:
    """How to listen, from the flags that operator and webhook share."""
    host, port = given["web.listen-address"]
    return WebSettings(
        host=host,
        port=port,
        tls=given["web.enable-tls"],
        cert_file=given["web.cert-file"],
        key_file=given["web.key-file"],
        client_ca_file=given["web.client-ca-file"],
        client_ca_required="web.client-ca-file" in given.names
        and bool(given["web.client-ca-file"]),
        min_version=given["web.tls-min-version"],
        cipher_suites=given["web.tls-cipher-suites"],
        curves=given["web.tls-curves"],
        reload_seconds=given["web.tls-reload-interval"],
    )


def _api(given: Given) -> ApiSettings:
    return ApiSettings(
        url=given["apiserver"],
        kubeconfig=given["kubeconfig"],
        context=given["context"],
        impersonate=given["as"],
        ca_file=given["ca-file"],
        cert_file=given["cert-file"],
        key_file=given["key-file"],
        insecure=given["tls-insecure"],
    )


def _leader(given: Given, settings: OperatorSettings) -> LeaderSettings:
    return LeaderSettings(
        enabled=given["leader-election"],
        namespace=given["leader-election-namespace"],
        name=given["leader-election-id"] or lease_name(settings),
    )
