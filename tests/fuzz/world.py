"""The world of one round: a workload, and the resources that it finds.

Workloads are taken at their word by whoever runs the cluster, so in a round with resources the
workload is a sound one with settings at random; workloads made at random come without resources.
"""

from datetime import UTC, datetime, timedelta
from functools import cache
from random import Random
from typing import Any, Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from msgspec import Struct
from msgspec.structs import replace

from stoker.api import convert
from stoker.api.admit import admit
from stoker.api.crd import GROUP
from stoker.api.kinds import kind_called, version_of
from stoker.errors import DecodeError
from stoker.ref import Ref
from stoker.select.assets import CONFIG_MAP, SECRET, AssetsAtHand
from stoker.select.workload import AnyPrometheus
from stoker.settings import Capabilities
from tests.conformance.compare import without_nulls
from tests.fuzz.examples import Spec
from tests.fuzz.objects import VAULT, made, manifest, vault

NAMESPACES: Final = ("team-a", "team-b", "monitoring")
LABEL: Final = "tenant"
KINDS: Final = ("ServiceMonitor", "PodMonitor", "Probe", "ScrapeConfig")
RESOURCES: Final = 100
WORKLOADS: Final = 10

_EVERYTHING: Final[Spec] = {
    f"{kind}{what}": {}
    for kind in ("serviceMonitor", "podMonitor", "probe", "scrapeConfig")
    for what in ("Selector", "NamespaceSelector")
}
_NOT_PER_NODE: Final = ("probe", "scrapeConfig")
_OLDER: Final = (
    *("v2.26.0", "v2.35.0", "v2.45.0", "v2.47.0", "v2.53.0", "v2.55.1", "v3.0.0", "v3.4.0"),
    "v3.8.0",
)
_CLASS: Final[Spec] = {
    "name": "default",
    "default": True,
    "tlsConfig": {"caFile": "/ca.pem", "insecureSkipVerify": True},
    "authorization": {"credentials": {"name": VAULT, "key": "plain"}},
    "relabelings": [{"targetLabel": LABEL, "replacement": "class"}],
    "metricRelabelings": [{"action": "LabelDrop", "regex": LABEL}],
    "attachMetadata": {"node": True},
    "fallbackScrapeProtocol": "PrometheusText0.0.4",
}
_ZONES: Final[Spec] = {"mode": "Topology", "topology": {"values": ["zone-a", "zone-b"]}}
# Settings that change jobs, each present in some rounds.
_SETTINGS: Final[tuple[Spec, ...]] = (
    {"enforcedNamespaceLabel": LABEL},
    {"enforcedNamespaceLabel": LABEL},
    {"shards": 3},
    {"shards": 4, "shardingStrategy": _ZONES},
    {"shardRetentionPolicy": {"whenScaled": "Retain"}},
    {"scrapeClasses": [_CLASS]},
    {"scrapeClasses": [{"name": "default"}, {"name": "other"}]},
    {"overrideHonorLabels": True, "overrideHonorTimestamps": True},
    {"ignoreNamespaceSelectors": True},
    {"enforcedSampleLimit": 10, "enforcedBodySizeLimit": "10MB", "enforcedLabelLimit": 5},
    {"podTargetLabels": ["team", "app.kubernetes.io/part-of"]},
    {"arbitraryFSAccessThroughSMs": {"deny": True}},
    {"serviceDiscoveryRole": "EndpointSlice"},
    {"nameValidationScheme": "Legacy"},
    {"scrapeInterval": "10s"},
    {"apiserverConfig": {"host": "https://api:6443"}},
)


class World(Struct, frozen=True):
    """A workload, the facts around it, and manifests that apply to it.

    Objects that the API server would not have `admitted` can still come: they may be older than the
    schema. Nothing may break on them, but what Prometheus makes of their values is up to it.
    """

    capabilities: Capabilities
    workload: dict[str, Any]
    resources: tuple[dict[str, Any], ...] = ()
    admitted: bool = True

    @property
    def scraper(self) -> AnyPrometheus:
        """The workload with its types; DecodeError where it does not fit them."""
        scraper: AnyPrometheus = typed(self.workload)
        return scraper


def typed(manifest: dict[str, Any]) -> Any:
    """The object with its types; DecodeError where it does not fit them."""
    try:
        return convert.typed(without_nulls(manifest))
    except UnicodeEncodeError as error:
        # Half a surrogate pair: no JSON or YAML reader lets it through.
        raise DecodeError("", str(error)) from None


def worlds_of(seed: int) -> list[World]:
    """The worlds of a round: resources for one workload, and workloads made at random."""
    random = Random(seed)
    settings: Spec = {}
    for each in _SETTINGS:
        if random.random() < 0.25:
            settings |= each
    if random.random() < 0.4:
        settings["version"] = random.choice(_OLDER)
    found = [_resource(number, random) for number in range(RESOURCES)]
    world = _world(random.random() < 0.3, settings, random)
    worlds = [
        replace(world, resources=tuple(one for one, sound in found if sound)),
        replace(world, resources=tuple(one for one, sound in found if not sound), admitted=False),
    ]
    return worlds + [_made_up_workload(random) for _ in range(WORKLOADS)]


def _made_up_workload(random: Random) -> World:
    agent = random.random() < 0.3
    spec = made("PrometheusAgent" if agent else "Prometheus", random)
    world = _world(agent, spec, random)
    workload, sound = admitted(world.workload)
    return replace(world, workload=workload, admitted=sound)


def admitted(manifest: dict[str, Any]) -> tuple[dict[str, Any], bool]:
    """The object as the API server would store it, and whether it would."""
    version = version_of(manifest["apiVersion"], manifest["kind"])
    assert version
    try:
        admission = admit(version, manifest)
    except UnicodeEncodeError:
        # Half a surrogate pair: no JSON or YAML reader lets it through.
        return manifest, False
    return (admission.stored, True) if not admission.findings else (manifest, False)


def _resource(number: int, random: Random) -> tuple[dict[str, Any], bool]:
    kind = random.choice(KINDS)
    name = f"made-{number}"
    one = manifest(kind, made(kind, random), random.choice(NAMESPACES), name)
    return admitted(_in_some_version(one, random))


def _in_some_version(manifest: dict[str, Any], random: Random) -> dict[str, Any]:
    """The object in any version of its kind; what comes of it must not depend on that."""
    kind = kind_called(manifest["kind"])
    assert kind
    name = random.choice(kind.versions).name
    return convert.converted(manifest, f"{GROUP}/{name}").object


def _world(
    agent: bool, spec: Spec, random: Random, resources: tuple[dict[str, Any], ...] = ()
) -> World:
    kind = "PrometheusAgent" if agent else "Prometheus"
    full = {"scrapeInterval": "30s", "evaluationInterval": "30s"} | spec | _EVERYTHING
    if agent and random.random() < 0.3:
        full = {name: full[name] for name in full if not name.startswith(_NOT_PER_NODE)}
        full["mode"] = "DaemonSet"
    flags = [random.random() < 0.5 for _ in range(4)]
    return World(
        capabilities=Capabilities(
            endpoint_slices=flags[0],
            pod_topology_labels=flags[1],
            topology_sharding=flags[2],
            shard_retention=flags[3],
        ),
        workload=manifest(kind, full, "monitoring", "main"),
        resources=resources,
    )


@cache
def assets() -> AssetsAtHand:
    """The same Secret and ConfigMap in every namespace."""
    values = vault(*_key_pair())
    kinds = (SECRET, CONFIG_MAP)
    return AssetsAtHand({Ref(kind, name, VAULT): values for kind in kinds for name in NAMESPACES})


def _key_pair() -> tuple[str, str]:
    """A certificate that signs itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "fuzz")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now)
        .not_valid_after(now + timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return certificate.public_bytes(Encoding.PEM).decode(), private.decode()
