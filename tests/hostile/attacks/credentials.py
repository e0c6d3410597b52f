"""Credentials and files: of others, of the container, of no shape, or two where one is allowed."""

from typing import Final

from stoker.validate.findings import Reason
from tests.hostile.payload import (
    CONFLICT,
    PRUNED,
    USED,
    Attack,
    Json,
    LeftOut,
    Refused,
    key,
)

ATTACK: Final = Attack("credentials")

_END: Final = "spec.endpoints[0]"
_MISSING: Final = LeftOut(Reason.SECRET_NOT_FOUND, webhook=False)
_NO_KEY: Final = LeftOut(Reason.KEY_NOT_FOUND, webhook=False)

# --- Secrets of others, by names that might lead there --------------------------------------------

OTHERS: Final = (
    "alice-vault",
    "alice/vault",
    "../alice/vault",
    "..",
    ".",
    "vault\x00",
    "vault\n",
    " vault",
    "Vault",
    "vault?fieldSelector=x",
    "vault%2f..%2f",
    "v" * 300,
    "*",
    "",
)
for _name in OTHERS:
    ATTACK.at(
        "ServiceMonitor",
        f"{_END}.bearerTokenSecret",
        {"name": _name, "key": "token"},
        then=_MISSING,
    )
ATTACK.at(
    "ServiceMonitor",
    f"{_END}.bearerTokenSecret",
    {"name": "vault", "key": "none"},
    {"name": "vault", "key": "../token"},
    {"name": "vault", "key": "token\x00"},
    {"name": "vault", "key": "k" * 400},
    {"name": "vault", "key": ""},
    then=_NO_KEY,
)
ATTACK.at(
    "ServiceMonitor",
    f"{_END}.bearerTokenSecret",
    {"name": "vault", "namespace": "alice", "key": "token"},
    then=PRUNED,
)
ATTACK.at(
    "ServiceMonitor",
    f"{_END}.bearerTokenSecret",
    {"name": "vault"},
    then=Refused(f"{_END}.bearerTokenSecret.key"),
)
ATTACK.at(
    "ServiceMonitor",
    f"{_END}.bearerTokenSecret",
    {"name": 5, "key": "a"},
    then=Refused(f"{_END}.bearerTokenSecret.name"),
)
ATTACK.at(
    "ServiceMonitor",
    f"{_END}.bearerTokenSecret",
    {"name": "none", "key": "a", "optional": True},
    then=_MISSING,
)
ATTACK.at(
    "AlertmanagerConfig",
    "spec.receivers[0].slackConfigs[0].apiURL",
    {"name": "alice/vault", "key": "url"},
    {"name": "../alice/vault", "key": "url"},
    then=_MISSING,
)
ATTACK.at(
    "Probe",
    "spec.basicAuth.username",
    {"name": "alice", "key": "x"},
    beside={"password": key("token")},
    then=_MISSING,
)
ATTACK.at(
    "ScrapeConfig", "spec.authorization.credentials", {"name": "x", "key": "y"}, then=_MISSING
)

# --- Two of them, or half of one ------------------------------------------------------------------

_BASIC: Final = {"username": key("token"), "password": key("token")}
_OAUTH: Final = {
    "clientId": {"secret": key("token")},
    "clientSecret": key("token"),
    "tokenUrl": "http://login.example",
}
BOTH: Final[dict[str, Json]] = {
    "basic and token": {"basicAuth": _BASIC, "bearerTokenSecret": key("token")},
    "basic and OAuth": {"basicAuth": _BASIC, "oauth2": _OAUTH},
    "header and OAuth": {"authorization": {"credentials": key("token")}, "oauth2": _OAUTH},
    "token and file": {"bearerTokenSecret": key("token"), "bearerTokenFile": "/x"},
}
for _about, _both in BOTH.items():
    ATTACK.at("ServiceMonitor", _END, {"port": "web", **_both}, then=CONFLICT, about=_about)
ATTACK.at(
    "ScrapeConfig",
    "spec.basicAuth",
    _BASIC,
    beside={"oauth2": _OAUTH},
    then=Refused("spec"),
    about="basic and OAuth by the schema",
)
ATTACK.at(
    "ServiceMonitor", f"{_END}.authorization.type", "Basic", "basic", " BASIC ", then=LeftOut()
)
ATTACK.at("ServiceMonitor", f"{_END}.authorization.type", "Bearer\r\nX: y", "", "*a")
ATTACK.at(
    "ServiceMonitor",
    f"{_END}.basicAuth",
    {},
    then=LeftOut(Reason.REQUIRED, f"{_END}.basicAuth.username"),
)
ATTACK.at("ServiceMonitor", f"{_END}.oauth2", {}, then=Refused(f"{_END}.oauth2.clientId"))
for _field, _value in (("clientId", {}), ("clientSecret", {"key": ""})):
    ATTACK.at(
        "ServiceMonitor",
        f"{_END}.oauth2",
        _OAUTH | {_field: _value},
        then=LeftOut(Reason.REQUIRED, f"{_END}.oauth2.{_field}"),
        about=f"OAuth without {_field}",
    )
ATTACK.at(
    "ServiceMonitor",
    f"{_END}.oauth2",
    _OAUTH | {"clientId": {"secret": key("token"), "configMap": key("token")}},
    then=LeftOut(Reason.CONFLICT, f"{_END}.oauth2.clientId"),
    about="OAuth with two clients",
)
ATTACK.at(
    "ServiceMonitor",
    f"{_END}.oauth2",
    _OAUTH | {"clientId": {"secret": key("empty")}},
    then=LeftOut(path=f"{_END}.oauth2.clientId", webhook=False),
    about="OAuth with an empty client",
)
ATTACK.at(
    "ServiceMonitor",
    f"{_END}.oauth2",
    _OAUTH | {"scopes": ["a\nb", "*"], "endpointParams": {"<<": "*x", "a\n": "b: c"}},
    about="OAuth with hostile members",
)
ATTACK.at(
    "ServiceMonitor",
    f"{_END}.oauth2",
    _OAUTH | {"clientId": {"configMap": {"name": "none", "key": "x"}}},
    then=LeftOut(Reason.CONFIG_MAP_NOT_FOUND, f"{_END}.oauth2.clientId", webhook=False),
    about="OAuth of a missing ConfigMap",
)

# --- TLS ------------------------------------------------------------------------------------------

_TLS: Final = f"{_END}.tlsConfig"
_PAIR: Final = {"cert": {"secret": key("certificate")}, "keySecret": key("private-key")}
_BAD_PEM: Final = Reason.INVALID_CERTIFICATE
for _about, _tls, _then in (
    ("all that is right", {"ca": {"configMap": key("certificate")}, **_PAIR}, None),
    (
        "ca of words",
        {"ca": {"secret": key("words")}},
        LeftOut(_BAD_PEM, f"{_TLS}.ca", webhook=False),
    ),
    ("ca empty", {"ca": {"secret": key("empty")}}, LeftOut(_BAD_PEM, f"{_TLS}.ca", webhook=False)),
    (
        "ca of half a block",
        {"ca": {"secret": key("half-pem")}},
        LeftOut(_BAD_PEM, f"{_TLS}.ca", webhook=False),
    ),
    (
        "ca that is a key",
        {"ca": {"secret": key("private-key")}},
        LeftOut(_BAD_PEM, f"{_TLS}.ca", webhook=False),
    ),
    (
        "ca of bytes",
        {"ca": {"secret": key("bytes")}},
        LeftOut(Reason.KEY_NOT_FOUND, f"{_TLS}.ca", webhook=False),
    ),
    ("ca with more behind it", {"ca": {"secret": key("pem-and-yaml")}}, None),
    (
        "ca of nobody",
        {"ca": {"secret": {"name": "x", "key": "y"}}},
        LeftOut(Reason.SECRET_NOT_FOUND, f"{_TLS}.ca", webhook=False),
    ),
    (
        "ca of two",
        {"ca": {"secret": key("certificate"), "configMap": key("certificate")}},
        LeftOut(Reason.CONFLICT, f"{_TLS}.ca"),
    ),
    (
        "ca twice",
        {"ca": {"secret": key("certificate")}, "caFile": "/x"},
        LeftOut(Reason.CONFLICT, f"{_TLS}.caFile"),
    ),
    ("certificate alone", {"cert": {"secret": key("certificate")}}, LeftOut(Reason.CONFLICT, _TLS)),
    ("key alone", {"keySecret": key("private-key")}, LeftOut(Reason.CONFLICT, _TLS)),
    (
        "key that is none",
        {"cert": {"secret": key("certificate")}, "keySecret": key("words")},
        LeftOut(_BAD_PEM, _TLS, webhook=False),
    ),
    (
        "certificate that is a key",
        {"cert": {"secret": key("private-key")}, "keySecret": key("private-key")},
        LeftOut(_BAD_PEM, _TLS, webhook=False),
    ),
    (
        "versions the wrong way round",
        {"minVersion": "TLS13", "maxVersion": "TLS10"},
        LeftOut(Reason.CONFLICT, f"{_TLS}.maxVersion"),
    ),
    ("no such version", {"minVersion": "SSL3"}, Refused(f"{_TLS}.minVersion")),
    ("name of a server", {"serverName": "a\n: b"}, None),
):
    ATTACK.at("ServiceMonitor", _TLS, _tls, about=_about, then=_then or USED)

# --- Files of the container -----------------------------------------------------------------------

FILES: Final = (
    "/var/run/secrets/kubernetes.io/serviceaccount/token",
    "/etc/prometheus/certs/0_alice_vault_private-key",
    "../../etc/passwd",
    "/proc/self/environ",
    "/dev/zero",
    "file:///etc/passwd",
)
_DENIED: Final = LeftOut(Reason.FILE_ACCESS_FORBIDDEN, webhook=False)
for _file in FILES:
    ATTACK.at("ServiceMonitor", f"{_END}.bearerTokenFile", _file, about=f"token from {_file}")
    ATTACK.at(
        "ServiceMonitor",
        f"{_END}.bearerTokenFile",
        _file,
        workload="denying",
        then=_DENIED,
        about=f"token from {_file}, denied",
    )
for _field in ("caFile", "certFile", "keyFile"):
    ATTACK.at(
        "ServiceMonitor",
        f"{_TLS}.{_field}",
        "/x",
        workload="denying",
        then=_DENIED,
        beside={"caFile": "/x", "certFile": "/x", "keyFile": "/x"},
        about=f"{_field}, denied",
    )
ATTACK.at(
    "ScrapeConfig", "spec.fileSDConfigs[0].files", ["/etc/x.json"], workload="denying", then=_DENIED
)
ATTACK.at(
    "ScrapeConfig",
    "spec.fileSDConfigs[0].files",
    ["/etc/passwd"],
    ["*.json/x"],
    [""],
    then=Refused("spec.fileSDConfigs[0].files[0]"),
)
ATTACK.at("ScrapeConfig", "spec.fileSDConfigs[0].files", ["/etc/x.json", "/etc/*.yml"])
for _host in ("unix:///var/run/docker.sock", "unix:///etc/shadow"):
    ATTACK.at("ScrapeConfig", "spec.dockerSDConfigs[0].host", _host, about=f"docker at {_host}")
    ATTACK.at(
        "ScrapeConfig",
        "spec.dockerSDConfigs[0].host",
        _host,
        workload="denying",
        then=_DENIED,
        about=f"docker at {_host}, denied",
    )
_CHAT: Final = {"chatID": 1, "apiURL": "http://chat.example"}
ATTACK.at(
    "AlertmanagerConfig",
    "spec.receivers[0].telegramConfigs[0].botTokenFile",
    *FILES[:3],
    beside=_CHAT,
)
ATTACK.at(
    "AlertmanagerConfig",
    "spec.receivers[0].telegramConfigs[0].botTokenFile",
    "/x",
    beside=_CHAT | {"botToken": key("token")},
    then=CONFLICT,
)

# --- Proxies --------------------------------------------------------------------------------------

PROXIES: Final[tuple[tuple[str, Json, LeftOut | None], ...]] = (
    (
        "proxy from two places",
        {"proxyUrl": "http://a", "proxyFromEnvironment": True},
        LeftOut(Reason.CONFLICT, f"{_END}.proxyUrl"),
    ),
    ("no proxy to except", {"noProxy": "10.0.0.0/8"}, LeftOut(Reason.CONFLICT, f"{_END}.noProxy")),
    (
        "headers for no proxy",
        {"proxyConnectHeader": {"X": [key("token")]}},
        LeftOut(Reason.CONFLICT, f"{_END}.proxyConnectHeader"),
    ),
    (
        "header of nobody",
        {"proxyUrl": "http://a", "proxyConnectHeader": {"X": [{"name": "x", "key": "y"}]}},
        LeftOut(Reason.SECRET_NOT_FOUND, f"{_END}.proxyConnectHeader[X][0]", webhook=False),
    ),
    (
        "header with lines",
        {"proxyUrl": "http://a", "proxyConnectHeader": {"X": [key("lines")]}},
        None,
    ),
    ("exceptions with lines", {"proxyUrl": "http://a", "noProxy": "a\nb: c"}, None),
)
for _about, _proxy, _wrong in PROXIES:
    ATTACK.at("ServiceMonitor", _END, {"port": "web", **_proxy}, about=_about, then=_wrong or USED)

# --- Discoveries and receivers that need a key ----------------------------------------------------

NEEDED: Final[tuple[tuple[str, str, Json, LeftOut | Refused | None], ...]] = (
    ("ScrapeConfig", "spec.ec2SDConfigs[0]", {"accessKey": key("token")}, None),
    (
        "ScrapeConfig",
        "spec.ec2SDConfigs[0]",
        {"accessKey": {"name": "x", "key": "y"}},
        LeftOut(Reason.SECRET_NOT_FOUND, "spec.ec2SDConfigs[0].accessKey", webhook=False),
    ),
    (
        "ScrapeConfig",
        "spec.consulSDConfigs[0]",
        {"server": "a", "tokenRef": {"name": "x", "key": "y"}},
        LeftOut(Reason.SECRET_NOT_FOUND, "spec.consulSDConfigs[0].tokenRef", webhook=False),
    ),
    (
        "ScrapeConfig",
        "spec.consulSDConfigs[0]",
        {"server": " "},
        LeftOut(Reason.REQUIRED, "spec.consulSDConfigs[0].server"),
    ),
    (
        "ScrapeConfig",
        "spec.ovhcloudSDConfigs[0]",
        {
            "applicationKey": "a",
            "applicationSecret": key("empty"),
            "consumerKey": key("token"),
            "service": "VPS",
        },
        LeftOut(Reason.INVALID_VALUE, "spec.ovhcloudSDConfigs[0].applicationSecret", webhook=False),
    ),
    ("AlertmanagerConfig", "spec.receivers[0].webhookConfigs[0]", {}, LeftOut(Reason.REQUIRED)),
    ("AlertmanagerConfig", "spec.receivers[0].pagerdutyConfigs[0]", {}, LeftOut(Reason.REQUIRED)),
    (
        "AlertmanagerConfig",
        "spec.receivers[0].telegramConfigs[0]",
        {"botToken": key("token")},
        Refused("spec.receivers[0].telegramConfigs[0].chatID"),
    ),
    (
        "AlertmanagerConfig",
        "spec.receivers[0].victoropsConfigs[0]",
        {"apiKey": key("token"), "routingKey": ""},
        Refused("spec.receivers[0].victoropsConfigs[0].routingKey"),
    ),
    (
        "AlertmanagerConfig",
        "spec.receivers[0].snsConfigs[0]",
        {"message": "x"},
        LeftOut(Reason.REQUIRED),
    ),
    (
        "AlertmanagerConfig",
        "spec.receivers[0].emailConfigs[0]",
        {"to": ""},
        Refused("spec.receivers[0].emailConfigs[0].to"),
    ),
    (
        "AlertmanagerConfig",
        "spec.receivers[0].webexConfigs[0]",
        {"roomID": "x"},
        LeftOut(Reason.REQUIRED, "spec.receivers[0].webexConfigs[0].httpConfig.authorization"),
    ),
)
for _kind, _place, _given, _need in NEEDED:
    ATTACK.at(_kind, _place, _given, then=_need or USED)
