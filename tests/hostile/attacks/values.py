"""Values of Secrets that are hostile: lines, YAML, templates, bytes, or a great many of them.

They go into configurations as strings, and into no message: each holds a word (`CANARY`) that is
looked for wherever something is said about the object.
"""

from typing import Final

from stoker.validate.findings import Reason
from tests.hostile.payload import Attack, Json, LeftOut, key

ATTACK: Final = Attack("values")

STRANGE: Final = (
    "lines",
    "quotes",
    "template",
    "variable",
    "tag",
    "controls",
    "nul",
    "words",
    "empty",
    "emoji",
)
_NO_TEXT: Final = LeftOut(Reason.KEY_NOT_FOUND, webhook=False)
_BASIC: Final = {"username": key("token"), "password": key("token")}

_PLACES: Final[tuple[tuple[str, str, Json], ...]] = (
    ("ServiceMonitor", "spec.endpoints[0].bearerTokenSecret", {}),
    ("ServiceMonitor", "spec.endpoints[0].basicAuth.password", {"username": key("token")}),
    ("PodMonitor", "spec.podMetricsEndpoints[0].authorization.credentials", {}),
    ("Probe", "spec.basicAuth.username", {"password": key("token")}),
    ("ScrapeConfig", "spec.httpHeaders[X-A].secrets[0]", {}),
    ("ScrapeConfig", "spec.ec2SDConfigs[0].secretKey", {"accessKey": key("token")}),
    (
        "AlertmanagerConfig",
        "spec.receivers[0].webhookConfigs[0].httpConfig.authorization.credentials",
        {},
    ),
    ("AlertmanagerConfig", "spec.receivers[0].pagerdutyConfigs[0].routingKey", {}),
)
for _number, (_kind, _place, _beside) in enumerate(_PLACES):
    # All of them in the first place, and three others each in the rest.
    _some = STRANGE if _number == 0 else [STRANGE[(_number * 3 + step) % 10] for step in range(3)]
    ATTACK.at(_kind, _place, *(key(name) for name in _some), beside=_beside)
    ATTACK.at(_kind, _place, key("bytes"), beside=_beside, then=_NO_TEXT)
_OAUTH: Final = {"tokenUrl": "http://login.example"}
ATTACK.at(
    "ServiceMonitor",
    "spec.endpoints[0].oauth2",
    _OAUTH | {"clientId": {"secret": key("lines")}, "clientSecret": key("quotes")},
    _OAUTH | {"clientId": {"configMap": key("tag")}, "clientSecret": key("controls")},
)

# --- Secrets that hold URLs -----------------------------------------------------------------------

_FIRST: Final = "spec.receivers[0]"
_BAD: Final = (
    "words",
    "bad-url",
    "ftp-url",
    "password-url",
    "newline-url",
    "nul",
    "lines",
    "empty",
)
for _place in (
    "slackConfigs[0].apiURL",
    "discordConfigs[0].apiURL",
    "msteamsConfigs[0].webhookUrl",
):
    for _name in _BAD:
        ATTACK.at(
            "AlertmanagerConfig", f"{_FIRST}.{_place}", key(_name), then=LeftOut(webhook=False)
        )
    ATTACK.at("AlertmanagerConfig", f"{_FIRST}.{_place}", key("url"), key("padded-url"))
_HOOK: Final = f"{_FIRST}.webhookConfigs[0].urlSecret"
for _name in (
    "words",
    "bad-url",
    "ftp-url",
    "password-url",
    "newline-url",
    "template",
    "template-url",
    "nul",
):
    ATTACK.at(
        "AlertmanagerConfig", _HOOK, key(_name), beside={"url": None}, then=LeftOut(webhook=False)
    )
ATTACK.at("AlertmanagerConfig", _HOOK, key("url"), key("padded-url"), beside={"url": None})
