"""URLs and addresses: what Go's `net/url` cannot read, and what is none where one must be."""

from typing import Final

from tests.hostile.payload import INVALID, REFUSED, REQUIRED, Attack, key

ATTACK: Final = Attack("urls")

# What the schema lets through, and Go does not read.
UNREADABLE: Final = (
    "http://[::1",
    "http://[::1]:x",
    "http://a:port/",
    "http://a b/",
    "http://%zz/",
    "http://a/%zz",
    "http://a/#%zz",
    "http://[::1%25]/",
    "http://[fe80::1%zone]/",
    "http://a\x00/",
    "http://a\x7f/",
    "http://u\x01@a/",
    "http://us er@a/",
    "http://a:b:c/",
    "http://[not an address]/",
    "http://a\\b/",
    "http://a^b/",
)
READABLE: Final = (
    "http://user:p%40ss@a.example/",
    "http://user:pass@a.example",
    "http://a.example/?x=%zz",
    "http://日本.example/",
    "http://a.example/'\"<>`",
    "http://[::1]:9090/x",
    "http://169.254.169.254/latest/meta-data",
    "http://localhost:9090/-/quit",
    "http://a.example:99999/",
    "http://a.example/$(POD_NAME)",
    "http://a.example/" + "x" * 5000,
    "http://a_b.example",
    "http://a.example/\u202e",
)
NOT_WEB: Final = (
    "ftp://a",
    "file:///etc/passwd",
    "//a/",
    "a",
    "javascript:x",
    "unix:///x",
    "mailto:a",
)

_END: Final = "spec.endpoints[0]"
ATTACK.at("ServiceMonitor", f"{_END}.proxyUrl", *UNREADABLE, then=INVALID)
ATTACK.at("ServiceMonitor", f"{_END}.proxyUrl", *READABLE, "socks5://a.example:1080")
ATTACK.at(
    "ServiceMonitor", f"{_END}.proxyUrl", *NOT_WEB[:5], "http://", "http://a\nb", then=REFUSED
)
_OAUTH: Final = {"clientId": {"secret": key("token")}, "clientSecret": key("token")}
ATTACK.at("ServiceMonitor", f"{_END}.oauth2.tokenUrl", *UNREADABLE[:6], beside=_OAUTH, then=INVALID)
ATTACK.at("ServiceMonitor", f"{_END}.oauth2.tokenUrl", *NOT_WEB[:3], beside=_OAUTH, then=REFUSED)
ATTACK.at("ServiceMonitor", f"{_END}.oauth2.tokenUrl", *READABLE[:3], beside=_OAUTH)

ATTACK.at("ScrapeConfig", "spec.httpSDConfigs[0].url", *UNREADABLE[:8], then=INVALID)
ATTACK.at("ScrapeConfig", "spec.httpSDConfigs[0].url", *READABLE[:4])
ATTACK.at("ScrapeConfig", "spec.httpSDConfigs[0].url", *NOT_WEB[:4], then=REFUSED)
ATTACK.at("ScrapeConfig", "spec.kumaSDConfigs[0].server", "http://[::1", "http://%zz", then=INVALID)
ATTACK.at(
    "ScrapeConfig", "spec.dockerSDConfigs[0].host", "tcp://[::1", "http://a\x00", then=INVALID
)
ATTACK.at(
    "ScrapeConfig",
    "spec.kubernetesSDConfigs[0].apiServer",
    "http://[::1",
    "%zz",
    beside={"role": "Pod"},
    then=INVALID,
)

# --- Probers: a host with or without a port, and no URL -------------------------------------------

ATTACK.at(
    "Probe",
    "spec.prober.url",
    "http://a",
    "a/b",
    "a b",
    "a:b",
    "a:99999",
    "a:0",
    "$1",
    "${1}:80",
    "[::1",
    "::1]",
    "a\n",
    "é.example",
    "a..b",
    "-a",
    "x" * 256,
    "a:80:90",
    "user@a",
    "%41",
    "a?x",
    then=INVALID,
)
ATTACK.at("Probe", "spec.prober.url", "a", "a:80", "127.0.0.1", "[::1]:80", "::1", "a_b.example")
ATTACK.at("Probe", "spec.prober.url", "", then=REFUSED)
ATTACK.at(
    "Probe",
    "spec.targets.staticConfig.static[0]",
    "",
    " ",
    "\n",
    "http://a b",
    "$1",
    "*",
    "x" * 5000,
)
ATTACK.whole("Probe", "no targets", {"targets": {}}, REQUIRED, "spec.targets")
ATTACK.at("ScrapeConfig", "spec.staticConfigs[0].targets[0]", "a/b", "http://a", " ", "\n", "${x}")
ATTACK.at("ScrapeConfig", "spec.staticConfigs[0].targets[0]", "", then=REFUSED)

# --- Receivers ------------------------------------------------------------------------------------

_FIRST: Final = "spec.receivers[0]"
_HOOK: Final = f"{_FIRST}.webhookConfigs[0].url"
ATTACK.at("AlertmanagerConfig", _HOOK, *UNREADABLE, *NOT_WEB, "http://", ":", then=INVALID)
ATTACK.at("AlertmanagerConfig", _HOOK, *READABLE)
ATTACK.at(
    "AlertmanagerConfig",
    f"{_FIRST}.webhookConfigs[0].httpConfig.proxyURL",
    "%zz",
    "http://[::1",
    then=INVALID,
)
for _integration, _field, _beside in (
    ("opsgenieConfigs", "apiURL", {"apiKey": key("token")}),
    ("pagerdutyConfigs", "url", {"routingKey": key("token")}),
    ("telegramConfigs", "apiURL", {"botToken": key("token"), "chatID": 1}),
    ("victoropsConfigs", "apiUrl", {"apiKey": key("token"), "routingKey": "x"}),
    ("wechatConfigs", "apiURL", {"apiSecret": key("token"), "corpID": "x"}),
):
    ATTACK.at(
        "AlertmanagerConfig",
        f"{_FIRST}.{_integration}[0].{_field}",
        "http://[::1",
        "http://%zz",
        beside=_beside,
        then=INVALID,
    )
    ATTACK.at(
        "AlertmanagerConfig",
        f"{_FIRST}.{_integration}[0].{_field}",
        "ftp://a",
        beside=_beside,
        then=REFUSED,
    )
_MAIL: Final = {"to": "a@b.example", "from": "c@d.example", "hello": "x"}
ATTACK.at(
    "AlertmanagerConfig",
    f"{_FIRST}.emailConfigs[0].smarthost",
    "[:25",
    "]:25",
    "a[]:25",
    "a:b:25",
    "a",
    "a:",
    "[::1]",
    beside=_MAIL,
    then=INVALID,
)
ATTACK.at(
    "AlertmanagerConfig",
    f"{_FIRST}.emailConfigs[0].smarthost",
    "a:port",
    "[::1]:25",
    ":25",
    "a\n:25",
    beside=_MAIL,
)
