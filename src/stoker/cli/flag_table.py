"""The flags of `stoker operator` as a table: how each is read, what it means, its default.

Every flag of prometheus-operator is here under its name and with its meaning; one that is ours
alone says so. `stoker.cli.flags` reads a command line by this table and makes the help of it.
"""

from typing import Any, Final, NamedTuple

from stoker.cli import flag_values as read
from stoker.limits import DEFAULTS
from stoker.web.names import CIPHER_SUITES, CURVES, VERSIONS


class Flag(NamedTuple):
    """A flag: how its text is read, what it means, and its value (and its text) if not given."""

    name: str
    read: read.Reader
    help: str
    default: Any = ""
    shown: str = ""

    @property
    def is_switch(self) -> bool:
        """Whether the flag alone means yes."""
        return self.read is read.boolean


_NAMESPACES_OF: Final = "Namespaces in which {} are looked for; wins over the two above for them."
_SELECTED: Final = "Only {} with labels that match this selector."
_OWN_CREDENTIALS: Final = "{} for --apiserver; not for production."

GROUPS: Final[dict[str, tuple[Flag, ...]]] = {
    "What it looks after": (
        Flag("namespaces", read.namespaces, "Only these namespaces.", ()),
        Flag("deny-namespaces", read.namespaces, "All namespaces but these.", ()),
        Flag(
            "prometheus-instance-namespaces",
            read.namespaces,
            _NAMESPACES_OF.format("Prometheuses and PrometheusAgents"),
            (),
        ),
        Flag(
            "alertmanager-instance-namespaces",
            read.namespaces,
            _NAMESPACES_OF.format("Alertmanagers"),
            (),
        ),
        Flag(
            "alertmanager-config-namespaces",
            read.namespaces,
            _NAMESPACES_OF.format("AlertmanagerConfigs"),
            (),
        ),
        Flag(
            "thanos-ruler-instance-namespaces",
            read.namespaces,
            _NAMESPACES_OF.format("ThanosRulers"),
            (),
        ),
        Flag(
            "prometheus-instance-selector",
            read.label_selector,
            _SELECTED.format("Prometheuses and PrometheusAgents"),
        ),
        Flag(
            "alertmanager-instance-selector", read.label_selector, _SELECTED.format("Alertmanagers")
        ),
        Flag(
            "thanos-ruler-instance-selector", read.label_selector, _SELECTED.format("ThanosRulers")
        ),
        Flag(
            "controller-id",
            read.text,
            "Only workloads whose annotation operator.prometheus.io/controller-id has this value;"
            " if it is not given, only workloads without that annotation.",
        ),
        Flag("secret-label-selector", read.label_selector, _SELECTED.format("Secrets")),
        Flag("secret-field-selector", read.field_selector, "Only Secrets whose fields match."),
        Flag("configmap-label-selector", read.label_selector, _SELECTED.format("ConfigMaps")),
        Flag(
            "configmap-field-selector", read.field_selector, "Only ConfigMaps whose fields match."
        ),
        Flag(
            "watch-referenced-objects-in-all-namespaces",
            read.boolean,
            "Notice changes of Secrets and ConfigMaps wherever monitors may be, not only in the"
            " namespaces of workloads.",
            False,
        ),
    ),
    "What it makes": (
        Flag("labels", read.labels, "Labels for every object that is made.", {}),
        Flag("annotations", read.annotations, "Annotations for every object that is made.", {}),
        Flag(
            "prometheus-default-base-image",
            read.text,
            "Image of Prometheus, without a tag.",
            "quay.io/prometheus/prometheus",
        ),
        Flag(
            "alertmanager-default-base-image",
            read.text,
            "Image of Alertmanager, without a tag.",
            "quay.io/prometheus/alertmanager",
        ),
        Flag(
            "thanos-default-base-image",
            read.text,
            "Image of Thanos, without a tag.",
            "quay.io/thanos/thanos",
        ),
        Flag(
            "prometheus-config-reloader",
            read.text,
            "Image of the config-reloader.",
            "quay.io/prometheus-operator/prometheus-config-reloader:v0.94.1",
        ),
        *(
            Flag(
                f"config-reloader-{resource}-{bound}",
                read.quantity,
                f"The config-reloader's {bound} of {resource}; 0 for none.",
                amount,
            )
            for resource, amount in (("cpu", "10m"), ("memory", "50Mi"))
            for bound in ("request", "limit")
        ),
        Flag(
            "enable-config-reloader-probes",
            read.boolean,
            "Let Kubernetes probe the config-reloader.",
            False,
        ),
        Flag(
            "localhost",
            read.text,
            "How containers of a pod call each other, where `localhost` resolves wrongly.",
            "localhost",
        ),
        Flag(
            "cluster-domain",
            read.text,
            "Domain of the cluster, for full names of Services; without it pods search for them.",
        ),
        Flag(
            "repair-policy-for-statefulsets",
            read.one_of("none", "evict", "delete"),
            "What to do with a pod that keeps its StatefulSet from being updated: none, evict or"
            " delete.",
            "none",
        ),
        Flag(
            "agent-mode-change-deadline",
            read.duration_or_none,
            "How long a change of a PrometheusAgent's mode waits for pods that cannot be scheduled,"
            " or whose node is not Ready, before it goes on without them; 0 means for ever.",
            600.0,
            "10m0s",
        ),
        Flag(
            "disable-unmanaged-prometheus-configuration",
            read.boolean,
            "Generate a configuration also for a Prometheus without any selector, in place of the"
            " one that its owner wrote.",
            False,
        ),
        Flag(
            "deny-file-access-in-configuration-resources",
            read.boolean,
            "Refuse ServiceMonitors, ScrapeConfigs and AlertmanagerConfigs that name files of the"
            " container that reads them. Of Prometheus alone, `arbitraryFSAccessThroughSMs` says"
            " the same for one workload. Not a flag of prometheus-operator.",
            False,
        ),
        Flag(
            "resource-limits",
            read.resource_limits,
            "What one monitor, ScrapeConfig, PrometheusRule or AlertmanagerConfig may cost, as in"
            " endpoints=5000,rules=20000; one that is over a limit is left out and says so in its"
            " status. May be given several times. The limits and their defaults:"
            f" {', '.join(f'{name}={value}' for name, value in DEFAULTS.items())}."
            " Not a flag of prometheus-operator.",
            {},
        ),
        Flag(
            "consolidate-monitors",
            read.boolean,
            "Keep ServiceMonitors, PodMonitors and Probes as ScrapeConfigs that belong to them, and"
            " make the configuration of those. Not a flag of prometheus-operator.",
            False,
        ),
        Flag(
            "feature-gates",
            read.gates,
            "Turn features on or off, as in StatusForConfigurationResources=false. On unless"
            " turned off: PrometheusAgentDaemonSet, PrometheusShardRetentionPolicy,"
            " PrometheusTopologySharding, StatusForConfigurationResources."
            " RemoteWriteCustomResourceDefinition is accepted and has no effect.",
            {},
        ),
    ),
    "Kubelets": (
        Flag(
            "kubelet-service",
            read.object_key,
            "The Service that stands for all kubelets, as namespace/name; none without this flag.",
            ("", ""),
        ),
        Flag("kubelet-endpoints", read.boolean, "List the nodes as Endpoints.", True, "true"),
        Flag("kubelet-endpointslice", read.boolean, "List the nodes as EndpointSlices.", False),
        Flag(
            "kubelet-http-metrics",
            read.boolean,
            "Offer the port without encryption (http-metrics) too.",
            True,
            "true",
        ),
        Flag("kubelet-selector", read.label_selector, _SELECTED.format("nodes")),
        Flag(
            "kubelet-node-address-priority",
            read.address_priority,
            "Which address of a node is preferred: internal or external.",
            "internal",
        ),
        Flag(
            "kubelet-sync-period",
            read.duration,
            "How often to look again; changes of nodes are noticed at once all the same.",
            180.0,
            "3m0s",
        ),
    ),
    "The API server": (
        Flag(
            "kubeconfig",
            read.text,
            "File that says how to reach the API server; without it, and without --apiserver, the"
            " pod's service account or $KUBECONFIG.",
        ),
        Flag("context", read.text, "The context of the kubeconfig to use."),
        Flag("apiserver", read.text, "URL of an API server; not for production."),
        Flag("ca-file", read.text, _OWN_CREDENTIALS.format("CA certificates")),
        Flag("cert-file", read.text, _OWN_CREDENTIALS.format("Client certificate")),
        Flag("key-file", read.text, _OWN_CREDENTIALS.format("Key of the client certificate")),
        Flag(
            "tls-insecure",
            read.boolean,
            "Do not check the API server's certificate; not for production.",
            False,
        ),
        Flag("as", read.text, "User to impersonate."),
    ),
    "Work and replicas": (
        Flag("workers", read.positive, "How many workloads are worked on at once.", 4, "4"),
        Flag(
            "leader-election",
            read.boolean,
            "Let one of several replicas do the work; the others stand by with warm caches.",
            True,
            "true",
        ),
        Flag(
            "leader-election-namespace",
            read.text,
            "Namespace of the Lease; without it, the operator's own.",
        ),
        Flag(
            "leader-election-id",
            read.text,
            "Name of the Lease; without it, a name that operators with the same namespaces,"
            " selectors and controller id share.",
        ),
    ),
    "Targets in status (ours)": (
        Flag(
            "target-status-interval",
            read.duration_or_none,
            "How often Prometheuses and PrometheusAgents are asked for their targets, which are"
            " counted in the status of monitors, Probes and ScrapeConfigs; 0 means never.",
            0.0,
            "0",
        ),
        Flag(
            "target-status-requests",
            read.positive,
            "How many requests that may take each time, for all of them together; what is left"
            " has its turn the next time.",
            100,
            "100",
        ),
    ),
    "Web server": (
        Flag(
            "web.listen-address",
            read.address,
            "Where metrics and health are served.",
            ("", 8080),
            ":8080",
        ),
        Flag("web.enable-tls", read.boolean, "Serve with TLS.", False),
        Flag("web.cert-file", read.text, "Certificate.", "/etc/tls/private/tls.crt"),
        Flag("web.key-file", read.text, "Its key.", "/etc/tls/private/tls.key"),
        Flag(
            "web.client-ca-file",
            read.text,
            "CA of the certificates that clients must show. If this flag is given, the server does"
            " not start without the file; if not, a missing file lets everybody in.",
            "/etc/tls/private/tls-ca.crt",
        ),
        Flag(
            "web.tls-reload-interval",
            read.duration,
            "How often to look for new certificates.",
            60.0,
            "1m0s",
        ),
        Flag(
            "web.tls-min-version",
            read.one_of(*VERSIONS),
            f"Oldest TLS version: {', '.join(VERSIONS)}.",
            "VersionTLS13",
        ),
        Flag(
            "web.tls-cipher-suites",
            read.some_of(*CIPHER_SUITES),
            "Cipher suites up to TLS 1.2, by Go's names; those of TLS 1.3 are fixed.",
            (),
        ),
        Flag(
            "web.tls-curves",
            read.some_of(*CURVES),
            f"Curves for the key exchange: {', '.join(CURVES)}. Python before 3.15 can hold to one"
            " only: the first that its OpenSSL has.",
            (),
        ),
    ),
    "Status page (ours)": (
        Flag(
            "status-page-address",
            read.address_or_none,
            "Where the status page is served, which has no login of its own: reach it with"
            " `kubectl port-forward`. An empty value turns it off.",
            ("127.0.0.1", 8095),
            "127.0.0.1:8095",
        ),
        Flag(
            "status-page-host",
            read.host_names,
            "Names under which browsers may ask for the page, beside localhost.",
            (),
        ),
    ),
    "Logs": (
        Flag(
            "log-level",
            read.one_of("all", "debug", "info", "warn", "error", "none"),
            "The least that is logged: all, debug, info, warn, error or none.",
            "info",
        ),
        Flag("log-format", read.one_of("logfmt", "json"), "logfmt or json.", "logfmt"),
    ),
    "Accepted, without effect": (
        Flag(
            "auto-gomemlimit-ratio",
            read.fraction,
            "Is about Go's memory; there is no Go here.",
            0.0,
        ),
        Flag("web.enable-http2", read.boolean, "The server speaks HTTP/1.1 only.", False),
    ),
    "About": (
        Flag("help", read.boolean, "Print this and exit.", False),
        Flag("version", read.boolean, "Print the version and exit.", False),
        Flag("short-version", read.boolean, "Print the version's number alone and exit.", False),
    ),
}

FLAGS: Final = {flag.name: flag for flags in GROUPS.values() for flag in flags}
