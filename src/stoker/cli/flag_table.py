"""The flags of `stoker operator` as a table: how each is read, what it means, its default.

Every flag of prometheus-operator is here under its name and with its meaning; one that is ours
alone says so. `stoker.cli.flags` reads a command line by this table and makes the help of it.
"""

from typing import Any, Final, NamedTuple

from stoker.cli import flag_values as read
from stoker.limits import DEFAULTS
from stoker.web.names import CIPHER_SUITES, CURVES, VERSIONS


class OperatorFlag(NamedTuple):
    """A flag: how its text is read, what it means, and its value (and its text) if not given."""

    name: str
    read: read.FlagReader
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

GROUPS: Final[dict[str, tuple[OperatorFlag, ...]]] = {
    "What it looks after": (
        OperatorFlag("namespaces", read.namespaces, "Only these namespaces.", ()),
        OperatorFlag("deny-namespaces", read.namespaces, "All namespaces but these.", ()),
        OperatorFlag(
            "prometheus-instance-namespaces",
            read.namespaces,
            _NAMESPACES_OF.format("Prometheuses and PrometheusAgents"),
            (),
        ),
        OperatorFlag(
            "alertmanager-instance-namespaces",
            read.namespaces,
            _NAMESPACES_OF.format("Alertmanagers"),
            (),
        ),
        OperatorFlag(
            "alertmanager-config-namespaces",
            read.namespaces,
            _NAMESPACES_OF.format("AlertmanagerConfigs"),
            (),
        ),
        OperatorFlag(
            "thanos-ruler-instance-namespaces",
            read.namespaces,
            _NAMESPACES_OF.format("ThanosRulers"),
            (),
        ),
        OperatorFlag(
            "prometheus-instance-selector",
            read.label_selector,
            _SELECTED.format("Prometheuses and PrometheusAgents"),
        ),
        OperatorFlag(
            "alertmanager-instance-selector", read.label_selector, _SELECTED.format("Alertmanagers")
        ),
        OperatorFlag(
            "thanos-ruler-instance-selector", read.label_selector, _SELECTED.format("ThanosRulers")
        ),
        OperatorFlag(
            "controller-id",
            read.text,
            "Only workloads whose annotation operator.prometheus.io/controller-id has this value;"
            " if it is not given, only workloads without that annotation.",
        ),
        OperatorFlag("secret-label-selector", read.label_selector, _SELECTED.format("Secrets")),
        OperatorFlag(
            "secret-field-selector", read.field_selector, "Only Secrets whose fields match."
        ),
        OperatorFlag(
            "configmap-label-selector", read.label_selector, _SELECTED.format("ConfigMaps")
        ),
        OperatorFlag(
            "configmap-field-selector", read.field_selector, "Only ConfigMaps whose fields match."
        ),
        OperatorFlag(
            "watch-referenced-objects-in-all-namespaces",
            read.boolean,
            "Notice changes of Secrets and ConfigMaps wherever monitors may be, not only in the"
            " namespaces of workloads.",
            False,
        ),
    ),
    "What it makes": (
        OperatorFlag("labels", read.labels, "Labels for every object that is made.", {}),
        OperatorFlag(
            "annotations", read.annotations, "Annotations for every object that is made.", {}
        ),
        OperatorFlag(
            "prometheus-default-base-image",
            read.text,
            "Image of Prometheus, without a tag.",
            "quay.io/prometheus/prometheus",
        ),
        OperatorFlag(
            "alertmanager-default-base-image",
            read.text,
            "Image of Alertmanager, without a tag.",
            "quay.io/prometheus/alertmanager",
        ),
        OperatorFlag(
            "thanos-default-base-image",
            read.text,
            "Image of Thanos, without a tag.",
            "quay.io/thanos/thanos",
        ),
        OperatorFlag(
            "prometheus-config-reloader",
            read.text,
            "Image of the config-reloader.",
            "quay.io/prometheus-operator/prometheus-config-reloader:v0.94.1",
        ),
        *(
            OperatorFlag(
                f"config-reloader-{resource}-{bound}",
                read.quantity,
                f"The config-reloader's {bound} of {resource}; 0 for none.",
                amount,
            )
            for resource, amount in (("cpu", "10m"), ("memory", "50Mi"))
            for bound in ("request", "limit")
        ),
        OperatorFlag(
            "enable-config-reloader-probes",
            read.boolean,
            "Let Kubernetes probe the config-reloader.",
            False,
        ),
        OperatorFlag(
            "localhost",
            read.text,
            "How containers of a pod call each other, where `localhost` resolves wrongly.",
            "localhost",
        ),
        OperatorFlag(
            "cluster-domain",
            read.text,
            "Domain of the cluster, for full names of Services; without it pods search for them.",
        ),
        OperatorFlag(
            "repair-policy-for-statefulsets",
            read.one_of("none", "evict", "delete"),
            "What to do with a pod that keeps its StatefulSet from being updated: none, evict or"
            " delete.",
            "none",
        ),
        OperatorFlag(
            "agent-mode-change-deadline",
            read.duration_or_none,
            "How long a change of a PrometheusAgent's mode waits for pods that cannot be scheduled,"
            " or whose node is not Ready, before it goes on without them; 0 means for ever.",
            600.0,
            "10m0s",
        ),
        OperatorFlag(
            "disable-unmanaged-prometheus-configuration",
            read.boolean,
            "Generate a configuration also for a Prometheus without any selector, in place of the"
            " one that its owner wrote.",
            False,
        ),
        OperatorFlag(
            "deny-file-access-in-configuration-resources",
            read.boolean,
            "Refuse ServiceMonitors, ScrapeConfigs and AlertmanagerConfigs that name files of the"
            " container that reads them. Of Prometheus alone, `arbitraryFSAccessThroughSMs` says"
            " the same for one workload. Not a flag of prometheus-operator.",
            False,
        ),
        OperatorFlag(
            "resource-limits",
            read.resource_limits,
            "What one monitor, ScrapeConfig, PrometheusRule or AlertmanagerConfig may cost, as in"
            " endpoints=5000,rules=20000; one that is over a limit is left out and says so in its"
            " status. May be given several times. The limits and their defaults:"
            f" {', '.join(f'{name}={value}' for name, value in DEFAULTS.items())}."
            " Not a flag of prometheus-operator.",
            {},
        ),
        OperatorFlag(
            "consolidate-monitors",
            read.boolean,
            "Keep ServiceMonitors, PodMonitors and Probes as ScrapeConfigs that belong to them, and"
            " make the configuration of those. Not a flag of prometheus-operator.",
            False,
        ),
        OperatorFlag(
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
        OperatorFlag(
            "kubelet-service",
            read.object_key,
            "The Service that stands for all kubelets, as namespace/name; none without this flag.",
            ("", ""),
        ),
        OperatorFlag(
            "kubelet-endpoints", read.boolean, "List the nodes as Endpoints.", True, "true"
        ),
        OperatorFlag(
            "kubelet-endpointslice", read.boolean, "List the nodes as EndpointSlices.", False
        ),
        OperatorFlag(
            "kubelet-http-metrics",
            read.boolean,
            "Offer the port without encryption (http-metrics) too.",
            True,
            "true",
        ),
        OperatorFlag("kubelet-selector", read.label_selector, _SELECTED.format("nodes")),
        OperatorFlag(
            "kubelet-node-address-priority",
            read.address_priority,
            "Which address of a node is preferred: internal or external.",
            "internal",
        ),
        OperatorFlag(
            "kubelet-sync-period",
            read.duration,
            "How often to look again; changes of nodes are noticed at once all the same.",
            180.0,
            "3m0s",
        ),
    ),
    "The API server": (
        OperatorFlag(
            "kubeconfig",
            read.text,
            "File that says how to reach the API server; without it, and without --apiserver, the"
            " pod's service account or $KUBECONFIG.",
        ),
        OperatorFlag("context", read.text, "The context of the kubeconfig to use."),
        OperatorFlag("apiserver", read.text, "URL of an API server; not for production."),
        OperatorFlag("ca-file", read.text, _OWN_CREDENTIALS.format("CA certificates")),
        OperatorFlag("cert-file", read.text, _OWN_CREDENTIALS.format("Client certificate")),
        OperatorFlag(
            "key-file", read.text, _OWN_CREDENTIALS.format("Key of the client certificate")
        ),
        OperatorFlag(
            "tls-insecure",
            read.boolean,
            "Do not check the API server's certificate; not for production.",
            False,
        ),
        OperatorFlag("as", read.text, "User to impersonate."),
    ),
    "Work and replicas": (
        OperatorFlag("workers", read.positive, "How many workloads are worked on at once.", 4, "4"),
        OperatorFlag(
            "leader-election",
            read.boolean,
            "Let one of several replicas do the work; the others stand by with warm caches.",
            True,
            "true",
        ),
        OperatorFlag(
            "leader-election-namespace",
            read.text,
            "Namespace of the Lease; without it, the operator's own.",
        ),
        OperatorFlag(
            "leader-election-id",
            read.text,
            "Name of the Lease; without it, a name that operators with the same namespaces,"
            " selectors and controller id share.",
        ),
    ),
    "Targets in status (ours)": (
        OperatorFlag(
            "target-status-interval",
            read.duration_or_none,
            "How often Prometheuses and PrometheusAgents are asked for their targets, which are"
            " counted in the status of monitors, Probes and ScrapeConfigs; 0 means never.",
            0.0,
            "0",
        ),
        OperatorFlag(
            "target-status-requests",
            read.positive,
            "How many requests that may take each time, for all of them together; what is left"
            " has its turn the next time.",
            100,
            "100",
        ),
    ),
    "Node discovery (ours)": (
        OperatorFlag(
            "node-discovery-url",
            read.server_url,
            "URL at which agents on nodes reach this operator, as in"
            " https://stoker-node-discovery.monitoring.svc:8443; it lets PrometheusAgents have"
            " `daemonSet.discovery: Operator`. Their pods need an image of this project as"
            " --prometheus-config-reloader.",
        ),
        OperatorFlag(
            "node-discovery-address",
            read.address,
            "Where agents on nodes are served, if --node-discovery-url is given.",
            ("", 8443),
            ":8443",
        ),
        OperatorFlag(
            "node-discovery-cert-file",
            read.text,
            "Certificate with which they are served, for the name in --node-discovery-url, such as"
            " cert-manager's; with this, the next two are needed. Without, the operator makes one"
            " and keeps it in a Secret beside its Lease.",
        ),
        OperatorFlag("node-discovery-key-file", read.text, "The key of that certificate."),
        OperatorFlag(
            "node-discovery-ca-file",
            read.text,
            "Certificates that agents are to trust there; their pods get them.",
        ),
    ),
    "Web server": (
        OperatorFlag(
            "web.listen-address",
            read.address,
            "Where metrics and health are served.",
            ("", 8080),
            ":8080",
        ),
        OperatorFlag("web.enable-tls", read.boolean, "Serve with TLS.", False),
        OperatorFlag("web.cert-file", read.text, "Certificate.", "/etc/tls/private/tls.crt"),
        OperatorFlag("web.key-file", read.text, "Its key.", "/etc/tls/private/tls.key"),
        OperatorFlag(
            "web.client-ca-file",
            read.text,
            "CA of the certificates that clients must show. If this flag is given, the server does"
            " not start without the file; if not, a missing file lets everybody in.",
            "/etc/tls/private/tls-ca.crt",
        ),
        OperatorFlag(
            "web.tls-reload-interval",
            read.duration,
            "How often to look for new certificates.",
            60.0,
            "1m0s",
        ),
        OperatorFlag(
            "web.tls-min-version",
            read.one_of(*VERSIONS),
            f"Oldest TLS version: {', '.join(VERSIONS)}.",
            "VersionTLS13",
        ),
        OperatorFlag(
            "web.tls-cipher-suites",
            read.some_of(*CIPHER_SUITES),
            "Cipher suites up to TLS 1.2, by Go's names; those of TLS 1.3 are fixed.",
            (),
        ),
        OperatorFlag(
            "web.tls-curves",
            read.some_of(*CURVES),
            f"Curves for the key exchange: {', '.join(CURVES)}. Python before 3.15 can hold to one"
            " only: the first that its OpenSSL has.",
            (),
        ),
    ),
    "Status page (ours)": (
        OperatorFlag(
            "status-page-address",
            read.address_or_none,
            "Where the status page is served. Without --page-auth it has no login: reach it with"
            " `kubectl port-forward`. An empty value turns it off.",
            ("127.0.0.1", 8095),
            "127.0.0.1:8095",
        ),
        OperatorFlag(
            "status-page-host",
            read.host_names,
            "Names under which browsers may ask for the page, beside localhost.",
            (),
        ),
        OperatorFlag(
            "page-auth",
            read.one_of("none", "kubernetes"),
            "Who may see the page. none: whoever reaches it, all of it. kubernetes: who has a"
            " token of the cluster, what their own rights there let them see.",
            "none",
        ),
    ),
    "Logs": (
        OperatorFlag(
            "log-level",
            read.one_of("all", "debug", "info", "warn", "error", "none"),
            "The least that is logged: all, debug, info, warn, error or none.",
            "info",
        ),
        OperatorFlag("log-format", read.one_of("logfmt", "json"), "logfmt or json.", "logfmt"),
    ),
    "Accepted, without effect": (
        OperatorFlag(
            "auto-gomemlimit-ratio",
            read.fraction,
            "Is about Go's memory; there is no Go here.",
            0.0,
        ),
        OperatorFlag("web.enable-http2", read.boolean, "The server speaks HTTP/1.1 only.", False),
    ),
    "About": (
        OperatorFlag("help", read.boolean, "Print this and exit.", False),
        OperatorFlag("version", read.boolean, "Print the version and exit.", False),
        OperatorFlag(
            "short-version", read.boolean, "Print the version's number alone and exit.", False
        ),
    ),
}

FLAGS: Final = {flag.name: flag for flags in GROUPS.values() for flag in flags}
