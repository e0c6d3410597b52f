"""The world in which payloads are tried: workloads, a well-behaved neighbour, and the attacker.

`WORKLOADS` are the settings under which payloads are judged: each is a Prometheus and, where it
concerns one, an Alertmanager of that name in `monitoring`, and each selects everything. `alice` has
one object of each kind; what becomes of them must not depend on the attacker.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from stoker.ref import Ref
from tests.builders import resource
from tests.hostile.payload import ATTACKER, VAULT, Json
from tests.hostile.payload import VERSIONS as _VERSIONS

HOME: Final = "monitoring"
NEIGHBOUR: Final = "alice"
LABEL: Final = "namespace"
FEATURE: Final = "promql-experimental-functions"
CANARY: Final = "c4nary"
"""In every value of every Secret; it may stand in configurations and nowhere else."""

_SELECTS: Final[Json] = {
    f"{kind}{what}": {}
    for kind in ("serviceMonitor", "podMonitor", "probe", "scrapeConfig", "rule")
    for what in ("Selector", "NamespaceSelector")
}
WORKLOADS: Final[Mapping[str, Json]] = {
    "main": {},
    "old": {"version": "v2.45.0"},
    "enforced": {
        "enforcedNamespaceLabel": LABEL,
        "enableFeatures": [FEATURE],
    },
    "denying": {"arbitraryFSAccessThroughSMs": {"deny": True}},
    "legacy": {"nameValidationScheme": "Legacy"},
}
ALERTMANAGERS: Final[Mapping[str, Json]] = {"main": {}, "old": {"version": "v0.24.0"}}
_PROMETHEUS: Final = {"scrapeInterval": "30s", "evaluationInterval": "30s", **_SELECTS}
_ALERTMANAGER: Final[Json] = {
    "alertmanagerConfigSelector": {},
    "alertmanagerConfigNamespaceSelector": {},
}

_MATCHER: Final = {"name": "severity", "matchType": "=", "value": "page"}
NEIGHBOURS: Final[Mapping[str, Json]] = {
    "ServiceMonitor": {
        "selector": {"matchLabels": {"app": "shop"}},
        "endpoints": [
            {"port": "web", "bearerTokenSecret": {"name": "vault", "key": "token"}},
            {"port": "admin", "relabelings": [{"targetLabel": "team", "replacement": "shop"}]},
        ],
    },
    "PodMonitor": {"selector": {}, "podMetricsEndpoints": [{"port": "web", "interval": "10s"}]},
    "Probe": {
        "prober": {"url": "blackbox:9115"},
        "targets": {"staticConfig": {"static": ["shop.example"], "labels": {"team": "shop"}}},
    },
    "ScrapeConfig": {"staticConfigs": [{"targets": ["shop.example:80"], "labels": {"team": "x"}}]},
    "PrometheusRule": {
        "groups": [
            {
                "name": "shop",
                "rules": [
                    {"alert": "Down", "expr": "up == 0", "annotations": {"a": "{{ $value }}"}},
                    {"record": "shop:up", "expr": "sum(up)"},
                ],
            }
        ]
    },
    "AlertmanagerConfig": {
        "route": {"receiver": "phone", "matchers": [_MATCHER], "muteTimeIntervals": ["nights"]},
        "receivers": [{"name": "phone", "webhookConfigs": [{"url": "http://hooks.example/alice"}]}],
        "inhibitRules": [{"sourceMatch": [_MATCHER], "targetMatch": [_MATCHER], "equal": ["a"]}],
        "muteTimeIntervals": [
            {
                "name": "nights",
                "timeIntervals": [{"times": [{"startTime": "00:00", "endTime": "06:00"}]}],
            }
        ],
    },
}


def manifest(kind: str, namespace: str, name: str, spec: Json, version: str = "") -> Json:
    """An object of ours."""
    version = version or _VERSIONS.get(kind, "v1")
    return resource(kind, name, spec, version=version, namespace=namespace)


def workload(kind: str, name: str) -> Json:
    """A Prometheus or Alertmanager with these settings."""
    if kind == "Alertmanager":
        return manifest(kind, HOME, name, _ALERTMANAGER | ALERTMANAGERS[name])
    return manifest(kind, HOME, name, _PROMETHEUS | WORKLOADS[name])


def neighbours() -> list[Json]:
    """The objects of the well-behaved neighbour."""
    return [manifest(kind, NEIGHBOUR, "shop", spec) for kind, spec in NEIGHBOURS.items()]


def workloads() -> list[Json]:
    """The workloads whose programs are at hand: those of older versions nobody could ask."""
    settings = {"Prometheus": WORKLOADS, "Alertmanager": ALERTMANAGERS}
    return [
        workload(kind, name)
        for kind, each in settings.items()
        for name, spec in each.items()
        if "version" not in spec
    ]


# --- Secrets --------------------------------------------------------------------------------------


@cache
def key_pair() -> tuple[str, str]:
    """A certificate that signs itself, and its key; the same for ever, and good for nothing."""
    from datetime import UTC, datetime

    key = ec.derive_private_key(0xC0FFEE, ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "hostile")])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(datetime(2020, 1, 1, tzinfo=UTC))
        .not_valid_after(datetime(2120, 1, 1, tzinfo=UTC))
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return certificate.public_bytes(Encoding.PEM).decode(), private.decode()


@cache
def vault() -> Mapping[str, str | bytes]:
    """What everybody's Secret and ConfigMap hold."""
    certificate, private = key_pair()
    return {
        "token": f"{CANARY}-token",
        "url": f"http://hooks.example/{CANARY}",
        "certificate": certificate,
        "private-key": private,
        "empty": "",
        "lines": f"{CANARY}\nscrape_configs: []\n- job_name: stolen\n",
        "quotes": f'{CANARY}"\'`\\"',
        "template": f"{CANARY}{{{{ end }}}}{{{{ if . }}}}",
        "variable": f"{CANARY}$(POD_NAME)${{HOME}}",
        "tag": f"!!python/object:os.system {CANARY}",
        "controls": f"{CANARY}\x01\x1b[31m\x85\u2028\ufeff",
        "nul": f"{CANARY}\x00after",
        "words": f"{CANARY} is no URL",
        "bad-url": f"http://[{CANARY}%25]/",
        "template-url": f"http://hooks.example/'{{{{ toUpper `{CANARY}` }}}}'",
        "ftp-url": f"ftp://hooks.example/{CANARY}",
        "password-url": f"http://user:{CANARY}@hooks.example/%zz",
        "newline-url": f"http://hooks.example/{CANARY}\nreceivers: []",
        "padded-url": f"  http://hooks.example/{CANARY}\n",
        "bytes": b"\xff\xfe" + CANARY.encode() + b"\x80",
        "large": CANARY + "x" * 900_000,
        "half-pem": f"-----BEGIN CERTIFICATE-----\n{CANARY}\n",
        "pem-and-yaml": f"{certificate}\ntls_config: {CANARY}\n",
        "emoji": f"{CANARY}💥é",
    }


def secrets(vaults: Mapping[str, Mapping[str, str | bytes]]) -> list[Json]:
    """Secrets and ConfigMaps as manifests, by namespace; ConfigMaps hold only text."""
    from base64 import b64encode

    made: list[Json] = []
    for namespace, values in vaults.items():
        metadata = {"namespace": namespace, "name": VAULT}
        encoded = {
            key: b64encode(value.encode() if isinstance(value, str) else value).decode()
            for key, value in values.items()
        }
        texts = {key: value for key, value in values.items() if isinstance(value, str)}
        made += [
            {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": encoded},
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": texts},
        ]
    return made


def contents(extra: Mapping[str, str | bytes]) -> dict[Ref, Any]:
    """The same for the core: what the neighbour's and the attacker's Secrets hold."""
    values = {NEIGHBOUR: vault(), ATTACKER: {**vault(), **extra}}
    return {
        Ref(kind, namespace, VAULT): held
        for namespace, held in values.items()
        for kind in ("Secret", "ConfigMap")
    }
