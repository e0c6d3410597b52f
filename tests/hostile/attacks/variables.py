"""`$(NAME)` and its like: nobody fills in anything that a tenant wrote."""

from typing import Final

from tests.hostile.payload import Attack

ATTACK: Final = Attack("variables")

TEXTS: Final = (
    "$(POD_NAME)",
    "$(SHARD)",
    "$(NODE_NAME)",
    "$(UNKNOWN)",
    "$(KUBERNETES_SERVICE_HOST)",
    "$(HOME",
    "$()",
    "$$(SHARD)",
    "${HOME}",
    "$HOME",
    "%(x)s",
    "%HOME%",
    "`id`",
    "$((1+1))",
    "~root",
)
ATTACK.at("ServiceMonitor", "spec.endpoints[0].path", *TEXTS)
ATTACK.at(
    "ScrapeConfig", "spec.staticConfigs[0].targets[0]", *(text for text in TEXTS if "/" not in text)
)
ATTACK.at(
    "ServiceMonitor",
    "spec.endpoints[0].relabelings[0].replacement",
    *TEXTS,
    beside={"targetLabel": "x"},
)
ATTACK.at(
    "AlertmanagerConfig",
    "spec.receivers[0].webhookConfigs[0].httpConfig.tlsConfig.serverName",
    *TEXTS[:5],
)
ATTACK.at("PrometheusRule", "spec.groups[0].rules[0].labels[team]", *TEXTS)
# The lines that the operator itself writes to divide targets among shards.
_SHARES: Final = {
    "sourceLabels": ["__tmp_hash", "__tmp_disable_sharding"],
    "regex": "$(SHARD);|.+;.+",
    "action": "keep",
}
ATTACK.whole(
    "ServiceMonitor",
    "the line that divides targets",
    {"endpoints": [{"port": "web", "relabelings": [_SHARES]}]},
)
