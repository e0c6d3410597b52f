"""The flags of `stoker webhook`: those of the peer's admission-webhook, and two of our own.

What the operator has too (web server, logs) is taken from its table; two defaults differ.
"""

from typing import Final

from stoker.cli import flag_values as read
from stoker.cli.flag_table import FLAGS as OPERATOR
from stoker.cli.flag_table import GROUPS as OPERATOR_GROUPS
from stoker.cli.flag_table import OperatorFlag
from stoker.web.reviews import PROMQL_OPTIONS

_LARGEST_BODY: Final = 16 * 1024 * 1024

USAGE: Final = """\
usage: stoker webhook [--FLAG[=VALUE] ...]

Answer the API server: validate PrometheusRules, AlertmanagerConfigs and monitors, mutate
PrometheusRules, convert AlertmanagerConfigs and ScrapeConfigs. Every flag of prometheus-operator's
admission-webhook is understood, with one dash or two:

  stoker webhook                                in a pod, with certificates in /etc/tls/private
  stoker webhook --name-validation-scheme=utf8  for Prometheus 3, which allows any character

It has no access to a cluster and needs none. Defaults stand in brackets.
"""

_WEB: Final = tuple(
    flag._replace(default=("", 8443), shown=":8443", help="Where reviews, metrics and health are.")
    if flag.name == "web.listen-address"
    else flag._replace(default=True, shown="true")
    if flag.name == "web.enable-tls"
    else flag
    for flag in OPERATOR_GROUPS["Web server"]
)

GROUPS: Final[dict[str, tuple[OperatorFlag, ...]]] = {
    "Rules": (
        OperatorFlag(
            "name-validation-scheme",
            read.one_of("legacy", "utf8"),
            "Which names of metrics and labels rules may have: legacy (letters, digits, `_` and"
            " `:`) or utf8 (any).",
            "legacy",
        ),
        OperatorFlag(
            "promql-options",
            read.some_of(*PROMQL_OPTIONS),
            f"Parts of PromQL that are behind feature flags: {', '.join(PROMQL_OPTIONS)}.",
            (),
        ),
    ),
    "Limits (ours)": (OPERATOR["resource-limits"],),
    "Web server": (
        *_WEB,
        OperatorFlag(
            "web.max-request-bytes",
            read.positive,
            "Largest body that is read; a larger one is refused with 413. A list of objects to"
            " convert comes in one body.",
            _LARGEST_BODY,
            str(_LARGEST_BODY),
        ),
        OperatorFlag(
            "web.shutdown-delay",
            read.duration_or_none,
            "For how long it still answers after SIGTERM, and says that it is not ready: some API"
            " server may not have heard yet that its pod goes. SIGINT ends it at once.",
            0.0,
            "0s",
        ),
    ),
    "Logs": OPERATOR_GROUPS["Logs"],
    "Accepted, without effect": (OPERATOR["auto-gomemlimit-ratio"], OPERATOR["web.enable-http2"]),
    "About": OPERATOR_GROUPS["About"],
}

FLAGS: Final = {flag.name: flag for flags in GROUPS.values() for flag in flags}
