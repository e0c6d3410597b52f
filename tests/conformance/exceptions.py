"""Cases in which stoker differs from the peer on purpose, each with its reason.

An excepted case is still replayed, and one that passes needs no exception: that is a failure. So,
in our own tests, is a name that no recorded case has.
"""

import re
from collections.abc import Collection
from fnmatch import fnmatchcase
from typing import Final

from msgspec import Struct

from tests.conformance.cases import Suite


class Exempt(Struct, frozen=True):
    """A case (or a glob of them) that must fail, and why: name the requirement or the defect."""

    suite: str
    case: str
    reason: str

    def covers(self, suite: str, name: str) -> bool:
        """Whether this is about that case."""
        return self.suite == suite and fnmatchcase(name, self.case)


_ON_NODE: Final = "an agent on every node scrapes ServiceMonitors too; the peer leaves them out"
_ONE_SELECTOR: Final = "node and labels are one selector; Prometheus refuses the peer's two"
_OWN_LABELS: Final = "for labels of nodes, an agent on a node watches its own node alone"
_LIBRARY: Final = "inlineTLSConfig is an option of the peer as a library for another project"
_UNUSED: Final = "a discovery that a ScrapeConfig does not use cannot be too new for it"
_NO_SERVER: Final = "Prometheus refuses the whole file: HTTP settings need an api_server"
_PARAMETER: Final = "the peer lets a tenant look into other namespaces from a parameter of topk"
_OWN_TARGETS: Final = (
    "targets of a ScrapeConfig without relabelings get the enforced label too, or `up` may lie"
)
_EMPTY_DURATION: Final = "Prometheus refuses all rules for an empty duration; it is left out"
_STILL_UNKNOWN: Final = "Alertmanager 0.28 refuses the whole file for `monospace`, false or not"
_NO_TEMPLATE: Final = "Alertmanager reads templates in URLs since 0.31; 0.26 refuses the file"
_CONTENT: Final = (
    "our hash is of content; an API server never shows two specs at one generation, as here"
)
_NO_TIMEOUT: Final = "no Alertmanager starts with a web.timeout that has no unit"
_NO_SUCH_FLAG: Final = "no Alertmanager has silences.max-per-silence-bytes; it is …-size-bytes"
_NAMELESS: Final = "no API server takes a volume of a Secret without a name; the file is used"

EXCEPTIONS: Final[tuple[Exempt, ...]] = (
    *(
        Exempt("agent-config-derived", case, reason)
        for case, reason in {
            "TestConfigGeneration-002": _ON_NODE,
            "TestScrapeClass-002": _ON_NODE,
            "TestScrapeClass-004": _ON_NODE,
            "TestScrapeClass-006": _ON_NODE,
            "TestScrapeClassAttachMetadata-002": _OWN_LABELS,
            "TestTopologyShardingRelabeling-001": _OWN_LABELS,
            "TestPodMonitorSelectors-002": _ONE_SELECTOR,
            "TestPodMonitorSelectors-003": _ONE_SELECTOR,
            "TestPodMonitorSelectors-005": _ONE_SELECTOR,
            "TestScrapeConfigSpecConfig-027": _LIBRARY,
            "TestScrapeClassAuthorization-010": _OWN_TARGETS,
            "TestScrapeClassAuthorization-011": _OWN_TARGETS,
        }.items()
    ),
    *(
        Exempt("prometheus-config", f"TestScrapeClass{case}", _OWN_TARGETS)
        for case in (
            *("Authorization-007", "Authorization-008", "Authorization-009"),
            *("FallbackScrapeProtocol-005", "FallbackScrapeProtocol-006"),
        )
    ),
    *(
        Exempt("selection-scrapeconfig", f"TestSelectScrapeConfigs-{number}", reason)
        for reason, numbers in (
            (_UNUSED, ("058", "059", "078", "080")),
            (_NO_SERVER, ("091", "093", "094")),
        )
        for number in numbers
    ),
    *(
        Exempt("promql-derived", number, _PARAMETER)
        for number in ("0555", "0677", "1389", "1590", "1846")
    ),
    Exempt("rules", "TestMakeRulesConfigMaps-014", _EMPTY_DURATION),
    *(
        Exempt(suite, f"TestMakeStatefulSetSpec{case}", reason)
        for suite in ("statefulsetspec-alertmanager", "statefulset-alertmanager-derived")
        for case, reason in (
            ("WebTimeout-002", _NO_TIMEOUT),
            ("MaxPerSilenceBytes-001", _NO_SUCH_FLAG),
        )
    ),
    Exempt("clustertlsconfig", "TestCreateOrUpdateClusterTLSConfigSecret-003", _NAMELESS),
    Exempt("alertmanager-sanitize", "TestSanitizePushoverReceiverConfig-004", _STILL_UNKNOWN),
    Exempt("alertmanager-sanitize", "TestSanitizeWebhookConfig-008", _NO_TEMPLATE),
    *(
        Exempt("misc-input-hash", f"TestCreateStatefulSetInputHash-{number}", _CONTENT)
        for number in ("007", "008")
    ),
)


# --- Whole namespaces -----------------------------------------------------------------------------


class Deliberate(Struct, frozen=True):
    """A class of differences in whole namespaces: what their lines look like, and why they are."""

    line: str
    reason: str


DELIBERATE: Final = (
    Deliberate(r"args\[\d+\]: expected '--silences\.max-per-silence-bytes=", _NO_SUCH_FLAG),
    Deliberate(r"args\[\d+\]: expected '--web\.timeout=\d+', got '.*s'", _NO_TIMEOUT),
    Deliberate(
        "no pods by the peer: (storage of no size|affinity without a topologyKey)",
        "the API server refuses it, and us as well; offline there is none to ask",
    ),
    Deliberate(
        r"^Alertmanager \S+: no pods by the peer: alertmanagerConfig/",
        "one AlertmanagerConfig that cannot be used does not stop all others",
    ),
    Deliberate(
        ": begun by the peer, without pods: ",
        "nothing is written for a workload that cannot be finished",
    ),
    Deliberate(r"\.yaml groups.*\.(interval|for): expected '', got nothing", _EMPTY_DURATION),
    Deliberate(
        r"scrapeConfig/\S+: left out: spec\.scalewaySDConfigs\[\d+\]\.accessKey: is not",
        "Prometheus refuses the whole file: it looks at the form of the key",
    ),
    Deliberate(
        r"scrapeConfig/\S+: left out: spec\.kubernetesSDConfigs\[\d+\]: settings of", _NO_SERVER
    ),
    Deliberate(
        r"scrapeConfig/\S+: left out: spec\.azureSDConfigs\[\d+\]\.tlsConfig",
        "the peer drops credentials and TLS of Azure unless one logs in by OAuth",
    ),
    Deliberate(
        r"alertmanagerConfig/\S+: left out: \S+: needs `\w+`: there is no global",
        "Alertmanager refuses the whole file",
    ),
    Deliberate(
        r"external_labels\.\w+: expected '\$\(TOPOLOGY_ZONE\)', got nothing",
        "without zones nobody fills in the placeholder",
    ),
    Deliberate(
        r"scrapeConfig/[^\s.]+\.relabel_configs: only ours: \{'target_label': '(?!__)\w+', 'repl",
        _OWN_TARGETS,
    ),
    Deliberate(r"scrape_configs\.scrapeConfig/[^\s.]+: expected nothing, got", _UNUSED),
)


def is_deliberate(line: str) -> bool:
    """Whether a difference is one on purpose."""
    return any(re.search(each.line, line) for each in DELIBERATE)


def unseen(found: Collection[str]) -> list[str]:
    """The classes of which there is no difference among these."""
    return [
        f"nothing differs as in `{each.line}`: is it needed? ({each.reason})"
        for each in DELIBERATE
        if not any(re.search(each.line, line) for line in found)
    ]


def exception_for(suite: str, name: str) -> Exempt | None:
    """The exception that covers a case, if there is one."""
    return next((entry for entry in EXCEPTIONS if entry.covers(suite, name)), None)


def unknown_names(suites: dict[str, Suite]) -> list[str]:
    """The exceptions that name no recorded case."""
    return [
        f"exception for {entry.suite}/{entry.case}: there is no such case"
        for entry in EXCEPTIONS
        if not _exists(entry, suites.get(entry.suite))
    ]


def _exists(entry: Exempt, suite: Suite | None) -> bool:
    return suite is not None and any(entry.covers(suite.name, name) for name in suite.names())
