"""Objects in other versions of their kind: nothing gets through one that another refuses."""

from typing import Final

from stoker.validate.findings import Reason
from tests.hostile.payload import HOOK, Attack, Json, LeftOut, Refused, key

ATTACK: Final = Attack("conversion")

for _version in ("v1beta1", "v1"):
    ATTACK.at(
        "ScrapeConfig",
        "spec.metricsPath",
        "x\n- job_name: stolen",
        version=_version,
        about=f"{_version}: lines in a path",
    )
    ATTACK.at(
        "ScrapeConfig",
        "spec.relabelings[0].regex",
        "(",
        beside={"action": "Keep", "sourceLabels": ["a"]},
        version=_version,
        then=LeftOut(Reason.INVALID_RELABELING),
        about=f"{_version}: a bad expression",
    )
    ATTACK.at(
        "ScrapeConfig",
        "spec.relabelings[0].action",
        "keep",
        version=_version,
        then=Refused(),
        about=f"{_version}: the old spelling",
    )
    ATTACK.at(
        "ScrapeConfig",
        "spec.authorization.credentials",
        {"name": "none", "key": "x"},
        version=_version,
        then=LeftOut(Reason.SECRET_NOT_FOUND, webhook=False),
        about=f"{_version}: no Secret",
    )
    ATTACK.at(
        "ScrapeConfig",
        "spec.scrapeInterval",
        "-1s",
        version=_version,
        then=Refused(),
        about=f"{_version}: no duration",
    )
    ATTACK.at(
        "ScrapeConfig",
        "spec.httpHeaders[X]",
        {"values": ["a\nb"]},
        version=_version,
        about=f"{_version}: a header",
    )

_MATCHER: Final = {"name": "a", "matchType": "=~", "value": "("}
ATTACK.at(
    "AlertmanagerConfig",
    "spec.route.matchers[0]",
    _MATCHER,
    version="v1beta1",
    then=LeftOut(path="spec.route.matchers[0].value"),
)
ATTACK.at(
    "AlertmanagerConfig",
    "spec.route.matchers[0]",
    {"name": "a", "value": "b|c", "regex": True},
    version="v1beta1",
    about="regex is pruned",
)
ATTACK.at(
    "AlertmanagerConfig",
    "spec.route.receiver",
    "alice/shop/phone",
    version="v1beta1",
    then=LeftOut(),
)
ATTACK.whole(
    "AlertmanagerConfig",
    "v1beta1: intervals",
    {
        "route": {"receiver": "mine", "muteTimeIntervals": ["\n- x"]},
        "timeIntervals": [{"name": "\n- x", "timeIntervals": [{"months": ["1"]}]}],
    },
    version="v1beta1",
)
ATTACK.whole(
    "AlertmanagerConfig",
    "v1beta1: a receiver with lines",
    {
        "route": {"receiver": "\n- name: x"},
        "receivers": [{"name": "\n- name: x", "webhookConfigs": [HOOK]}],
    },
    version="v1beta1",
)
ATTACK.at(
    "AlertmanagerConfig",
    "spec.receivers[0].slackConfigs[0].apiURL",
    key("words"),
    version="v1beta1",
    then=LeftOut(webhook=False),
)

# --- Every integration, in both versions ----------------------------------------------------------

_CLIENT: Final = {
    "httpConfig": {
        "authorization": {"credentials": key("lines")},
        "tlsConfig": {"ca": {"secret": key("certificate")}, "serverName": "x\n- y"},
        "proxyUrl": "http://proxy.example",
        "proxyConnectHeader": {"X\nY": [key("quotes")]},
    }
}
_TEXT: Final = 'x"\n- name: y\n  a: {b: [c'
_PAIR: Final = [{"key": _TEXT, "value": _TEXT}]
INTEGRATIONS: Final[dict[str, Json]] = {
    "slackConfigs": {
        "apiURL": key("url"),
        "channel": _TEXT,
        "text": _TEXT,
        "fields": [{"title": _TEXT, "value": _TEXT}],
    },
    "opsgenieConfigs": {
        "apiKey": key("lines"),
        "message": _TEXT,
        "details": _PAIR,
        "responders": [{"name": _TEXT, "type": "team"}],
    },
    "pagerdutyConfigs": {
        "routingKey": key("quotes"),
        "details": _PAIR,
        "severity": _TEXT,
        "client": _TEXT,
    },
    "victoropsConfigs": {"apiKey": key("nul"), "routingKey": _TEXT, "customFields": _PAIR},
    "pushoverConfigs": {
        "userKey": key("controls"),
        "token": key("nul"),
        "title": _TEXT,
        "retry": "1d",
    },
    "telegramConfigs": {"botToken": key("lines"), "chatID": -1, "message": _TEXT},
    "webexConfigs": {"roomID": _TEXT, "message": _TEXT},
    "wechatConfigs": {"apiSecret": key("quotes"), "corpID": _TEXT, "message": _TEXT},
    "discordConfigs": {"apiURL": key("url"), "title": _TEXT, "message": _TEXT},
    "msteamsConfigs": {"webhookUrl": key("url"), "title": _TEXT, "text": _TEXT},
    "msteamsv2Configs": {"webhookURL": key("url"), "title": _TEXT, "text": _TEXT},
    "rocketchatConfigs": {
        "token": key("token"),
        "tokenID": key("token"),
        "text": _TEXT,
        "fields": [{"title": _TEXT, "value": _TEXT}],
    },
    "snsConfigs": {
        "topicARN": _TEXT,
        "message": _TEXT,
        "attributes": {_TEXT: _TEXT},
        "sigv4": {"region": "x"},
    },
    "webhookConfigs": {"url": "http://a.example", "payload": _TEXT},
}
for _name, _config in INTEGRATIONS.items():
    for _version in ("v1alpha1", "v1beta1"):
        ATTACK.at(
            "AlertmanagerConfig",
            f"spec.receivers[0].{_name}[0]",
            _config | _CLIENT,
            version=_version,
        )
_MAIL: Final = {
    "to": _TEXT,
    "from": _TEXT,
    "smarthost": "a.example:25",
    "hello": _TEXT,
    "html": _TEXT,
    "authPassword": key("lines"),
    "authUsername": _TEXT,
    "headers": [{"key": _TEXT, "value": _TEXT}],
    "tlsConfig": {"ca": {"secret": key("certificate")}},
}
for _version in ("v1alpha1", "v1beta1"):
    ATTACK.at("AlertmanagerConfig", "spec.receivers[0].emailConfigs[0]", _MAIL, version=_version)
