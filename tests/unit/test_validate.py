"""What is found wrong with resources and workloads, one mistake at a time."""

from base64 import b64encode
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from functools import cache
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.oid import NameOID
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from stoker.api.common import OAuth2, RelabelConfig, SafeTlsConfig, TlsConfig
from stoker.api.decode import convert
from stoker.api.monitors import PodMonitor, Probe, ServiceMonitor
from stoker.api.prometheus import PrometheusAgentSpec, PrometheusSpec
from stoker.api.prometheus_common import PrometheusCommonSpec
from stoker.api.scrapeconfig.discovery.hosters import IonosDiscovery, LinodeDiscovery
from stoker.api.scrapeconfig.v1alpha1 import ScrapeConfig
from stoker.api.workload import WebTlsConfig
from stoker.cli.operator_settings import operator_settings
from stoker.ref import Ref
from stoker.select.assets import AssetsAtHand
from stoker.select.workload import Scraper
from stoker.settings import capabilities_with
from stoker.validate.findings import Finding, Reason
from stoker.validate.http import oauth2_settings, one_kind_of_credentials, tls_settings
from stoker.validate.monitors import pod_monitor, probe, service_monitor
from stoker.validate.pem import ca_problem, pair_problem
from stoker.validate.reading import ScraperReading
from stoker.validate.relabel import relabelings
from stoker.validate.scrapeconfig import DISCOVERIES, scrape_config
from stoker.validate.syntax import (
    Url,
    byte_size,
    host_and_port,
    label_name,
    label_template,
    milliseconds,
    quantity,
    web_url_problem,
)
from stoker.validate.workload import web_tls
from stoker.validate.workload import workload as workload_findings
from tests.builders import typed


def key(name: str, secret: str = "login") -> dict[str, Any]:  # noqa: S107
    """A reference to a key of a Secret."""
    return {"name": secret, "key": name}


PRIVATE = ec.generate_private_key(ec.SECP256R1())


def key_text(private: Any, *, pkcs8: bool = True) -> str:
    """A private key as PEM."""
    form = serialization.PrivateFormat
    return str(
        private.private_bytes(
            serialization.Encoding.PEM,
            form.PKCS8 if pkcs8 else form.TraditionalOpenSSL,
            serialization.NoEncryption(),
        ).decode()
    )


def certificate_text(private: Any) -> str:
    """A certificate of that key, signed by itself."""
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "example")])
    now = datetime(2026, 1, 1, tzinfo=UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(private.public_key())
        .serial_number(1)
        .not_valid_before(now)
        .not_valid_after(now + timedelta(days=1))
    )
    algorithm = None if isinstance(private, ed25519.Ed25519PrivateKey) else hashes.SHA256()
    return builder.sign(private, algorithm).public_bytes(serialization.Encoding.PEM).decode()


CERTIFICATE = certificate_text(PRIVATE)
ASSETS = AssetsAtHand(
    {
        Ref("Secret", "shop", "login"): {"user": "me", "password": "x", "token": "t", "empty": ""},
        Ref("Secret", "shop", "tls"): {"crt": CERTIFICATE, "key": key_text(PRIVATE), "bad": "no"},
        Ref("ConfigMap", "shop", "ca"): {"crt": CERTIFICATE, "bad": "no"},
    }
)
KINDS: dict[str, tuple[Any, Any]] = {
    "service": (ServiceMonitor, service_monitor),
    "pod": (PodMonitor, pod_monitor),
    "probe": (Probe, probe),
    "scrape": (ScrapeConfig, scrape_config),
}


UTF8_STEP = {"targetLabel": "a-b", "replacement": "c"}
SPARED = {"resource": "scrapeconfigs", "namespace": "shop"}


def asking(spec: PrometheusCommonSpec) -> Scraper:
    """A Prometheus with these settings."""
    return Scraper(namespace="shop", name="main", spec=spec)


def scope(**spec: Any) -> ScraperReading:
    """What checks may use, for a Prometheus with these settings."""
    return ScraperReading(asking(convert(PrometheusCommonSpec, spec)), ASSETS, "shop")


def found(kind: str, spec: dict[str, Any], **settings: Any) -> dict[str, Reason]:
    """What is found in the spec of a resource: the reason by path below `spec`."""
    model, check = KINDS[kind]
    resource = typed(model, "a", spec)
    return _by_path(check(resource, scope(**settings)))


def _by_path(findings: Iterator[Finding]) -> dict[str, Reason]:
    return {one.path.removeprefix("spec."): one.reason for one in findings}


def endpoint_findings(endpoint: dict[str, Any], **settings: Any) -> dict[str, Reason]:
    """What is found in an endpoint, whatever the kind of monitor."""
    service = found("service", {"endpoints": [endpoint]}, **settings)
    pod = found("pod", {"podMetricsEndpoints": [endpoint]}, **settings)
    service = {path.removeprefix("endpoints[0]."): reason for path, reason in service.items()}
    assert service == {
        path.removeprefix("podMetricsEndpoints[0]."): reason for path, reason in pod.items()
    }
    return service


def test_a_plain_endpoint_has_no_findings() -> None:
    """Nothing is wrong with nothing special."""
    assert endpoint_findings({"port": "web", "interval": "30s", "scrapeTimeout": "10s"}) == {}


@pytest.mark.parametrize(
    ("endpoint", "findings"),
    [
        ({"interval": "30 s"}, {"interval": Reason.INVALID_VALUE}),
        ({"scrapeTimeout": "x"}, {"scrapeTimeout": Reason.INVALID_VALUE}),
        ({"scrapeTimeout": "45s"}, {"scrapeTimeout": Reason.CONFLICT}),
        ({"interval": "1m", "scrapeTimeout": "45s"}, {}),
        (
            {"basicAuth": {"username": key("user"), "password": key("nope")}},
            {"basicAuth.password": Reason.KEY_NOT_FOUND},
        ),
        (
            {"basicAuth": {"username": key("user"), "password": key("x", "nope")}},
            {"basicAuth.password": Reason.SECRET_NOT_FOUND},
        ),
        (
            {"basicAuth": {"username": key("user")}},
            {"basicAuth.password": Reason.REQUIRED},
        ),
        ({"authorization": {"credentials": key("token")}}, {}),
        ({"authorization": {"type": " Basic "}}, {"authorization.type": Reason.INVALID_VALUE}),
        ({"bearerTokenSecret": {"key": ""}}, {}),
        ({"bearerTokenSecret": key("nope")}, {"bearerTokenSecret": Reason.KEY_NOT_FOUND}),
        ({"proxyUrl": "http://a${b}"}, {"proxyUrl": Reason.INVALID_VALUE}),
        ({"noProxy": "a"}, {"noProxy": Reason.CONFLICT}),
        (
            {"proxyFromEnvironment": True, "proxyUrl": "http://a", "noProxy": "b"},
            {"proxyUrl": Reason.CONFLICT, "noProxy": Reason.CONFLICT},
        ),
        (
            {"proxyConnectHeader": {"h": [key("token")]}},
            {"proxyConnectHeader": Reason.CONFLICT},
        ),
        (
            {"proxyUrl": "http://a", "proxyConnectHeader": {"h": [key("token"), key("nope")]}},
            {"proxyConnectHeader[h][1]": Reason.KEY_NOT_FOUND},
        ),
        (
            {"relabelings": [{"action": "explode"}], "metricRelabelings": [{"regex": "("}]},
            {
                "relabelings[0].action": Reason.INVALID_RELABELING,
                "metricRelabelings[0].targetLabel": Reason.INVALID_RELABELING,
                "metricRelabelings[0].regex": Reason.INVALID_RELABELING,
            },
        ),
    ],
)
def test_endpoints_are_told_everything_that_is_wrong(
    endpoint: dict[str, Any], findings: dict[str, Reason]
) -> None:
    """Each mistake with its path and its word, the same for both kinds of monitor."""
    assert endpoint_findings(endpoint) == findings


def test_two_kinds_of_credentials_exclude_each_other() -> None:
    """Prometheus takes one; the message names both."""
    endpoint = {
        "authorization": {"credentials": key("token")},
        "basicAuth": {"username": key("user"), "password": key("password")},
    }
    monitor = convert(PodMonitor, {"spec": {"podMetricsEndpoints": [endpoint]}})
    messages = [str(one) for one in pod_monitor(monitor, scope()) if one.reason is Reason.CONFLICT]
    assert messages == [
        "spec.podMetricsEndpoints[0]: `basicAuth` and `authorization` exclude each other"
    ]


def test_the_interval_of_the_prometheus_counts_where_a_monitor_has_none() -> None:
    """A timeout is compared with the interval that will be used."""
    timeout = {"scrapeTimeout": "45s"}
    assert endpoint_findings(timeout, scrapeInterval="1m") == {}
    assert endpoint_findings(timeout, scrapeInterval="15s") == {"scrapeTimeout": Reason.CONFLICT}


def test_a_scrape_class_must_exist() -> None:
    """The class that a monitor names is one of the Prometheus."""
    assert found("service", {"scrapeClass": "a"}, scrapeClasses=[{"name": "a"}]) == {}
    missing = {"scrapeClass": Reason.SCRAPE_CLASS_NOT_FOUND}
    for kind in ("service", "pod", "scrape"):
        assert found(kind, {"scrapeClass": "b"}, scrapeClasses=[{"name": "a"}]) == missing


def test_files_of_the_container_can_be_denied() -> None:
    """ServiceMonitors name none, and neither do ScrapeConfigs."""
    endpoint = {
        "bearerTokenFile": "/var/run/secrets/kubernetes.io/serviceaccount/token",
        "tlsConfig": {"caFile": "/etc/ca"},
    }
    deny = {"arbitraryFSAccessThroughSMs": {"deny": True}}
    assert found("service", {"endpoints": [endpoint]}) == {}
    assert found("service", {"endpoints": [endpoint]}, **deny) == {
        "endpoints[0].bearerTokenFile": Reason.FILE_ACCESS_FORBIDDEN,
        "endpoints[0].tlsConfig.caFile": Reason.FILE_ACCESS_FORBIDDEN,
    }
    files = {"fileSDConfigs": [{"files": ["/etc/targets.json"]}]}
    assert found("scrape", files) == {}
    assert found("scrape", files, **deny) == {
        "fileSDConfigs[0].files": Reason.FILE_ACCESS_FORBIDDEN
    }


@pytest.mark.parametrize(
    ("tls", "findings"),
    [
        ({"ca": {"secret": {}, "configMap": {}}}, ["ca"]),
        ({"cert": {"secret": {}}}, [""]),
        ({"keySecret": {}}, [""]),
        ({"cert": {"secret": {}}, "keySecret": {}}, []),
        ({"cert": {}, "keyFile": "k", "certFile": "c"}, []),
        ({"ca": {"secret": {}}, "caFile": "a"}, ["caFile"]),
        ({"cert": {"secret": {}}, "certFile": "a", "keyFile": "b"}, ["certFile"]),
        ({"certFile": "a", "keySecret": {}, "keyFile": "b"}, ["keyFile"]),
        ({"minVersion": "TLS13", "maxVersion": "TLS12"}, ["maxVersion"]),
        ({"minVersion": "TLS12", "maxVersion": "TLS12"}, []),
    ],
)
def test_tls_settings_fit_together(tls: dict[str, Any], findings: list[str]) -> None:
    """Material from one place each; certificate and key come together."""
    assert [one.path for one in tls_settings(convert(TlsConfig, tls), "")] == findings


def test_certificates_become_files_and_must_load() -> None:
    """What was read is what must be mounted; what does not load is found before."""
    good = {
        "ca": {"configMap": {"name": "ca", "key": "crt"}},
        "cert": {"secret": key("crt", "tls")},
        "keySecret": key("key", "tls"),
    }
    used = scope()
    monitor = {"metadata": {"namespace": "shop"}, "spec": {"endpoints": [{"tlsConfig": good}]}}
    assert list(service_monitor(convert(ServiceMonitor, monitor), used)) == []
    assert used.files == {
        "1_shop_ca_crt": CERTIFICATE,
        "0_shop_tls_crt": CERTIFICATE,
        "0_shop_tls_key": key_text(PRIVATE),
    }
    bad_ca = {"tlsConfig": {"ca": {"configMap": {"name": "ca", "key": "bad"}}}}
    assert endpoint_findings(bad_ca) == {"tlsConfig.ca": Reason.INVALID_CERTIFICATE}
    bad_pair = {"tlsConfig": {"cert": good["cert"], "keySecret": key("bad", "tls")}}
    assert endpoint_findings(bad_pair) == {"tlsConfig": Reason.INVALID_CERTIFICATE}
    missing = {"tlsConfig": {"ca": {"configMap": {"name": "none", "key": "x"}}}}
    assert endpoint_findings(missing) == {"tlsConfig.ca": Reason.CONFIG_MAP_NOT_FOUND}


@cache
def rsa_key() -> Any:
    """An RSA key, made once."""
    return rsa.generate_private_key(65537, 2048)


@pytest.mark.parametrize("pkcs8", [True, False])
@pytest.mark.parametrize("make", [rsa_key, lambda: PRIVATE])
def test_a_key_belongs_to_its_certificate(make: Any, pkcs8: bool) -> None:
    """RSA and elliptic curves, in both forms of a key file."""
    private = make()
    certificate = certificate_text(private)
    assert ca_problem(certificate) == ""
    assert pair_problem(certificate, key_text(private, pkcs8=pkcs8)) == ""
    other = ec.generate_private_key(ec.SECP256R1())
    assert "not that of the certificate" in pair_problem(certificate, key_text(other, pkcs8=pkcs8))


def test_an_ed25519_key_does_not_tell_its_public_half() -> None:
    """It is accepted as long as it can be read."""
    private = ed25519.Ed25519PrivateKey.generate()
    assert pair_problem(certificate_text(private), key_text(private)) == ""


def test_what_is_around_a_pem_block_does_not_matter() -> None:
    """Comments, carriage returns and other blocks are passed over."""
    noise = "# my CA\r\n-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----\n"
    assert ca_problem(noise + CERTIFICATE.replace("\n", "\r\n")) == ""
    assert pair_problem(noise + CERTIFICATE, noise + key_text(PRIVATE)) == ""


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no",
        "-----BEGIN CERTIFICATE-----",
        "-----BEGIN CERTIFICATE-----\n!!!!\n-----END CERTIFICATE-----",
        "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----",
        "-----BEGIN CERTIFICATE-----\nMIA=\n-----END CERTIFICATE-----",
        CERTIFICATE.replace("CERTIFICATE", "PUBLIC KEY"),
    ],
)
def test_what_is_no_certificate_is_refused(text: str) -> None:
    """Neither as an authority nor with a key, nor is it a key."""
    assert ca_problem(text)
    assert pair_problem(text, key_text(PRIVATE))
    assert pair_problem(CERTIFICATE, text)


@given(st.binary(max_size=60), st.integers(0, 300))
def test_broken_material_is_a_finding_and_never_an_error(noise: bytes, position: int) -> None:
    """Whatever the bytes are, the answer is a sentence."""
    der = x509.load_pem_x509_certificate(CERTIFICATE.encode()).public_bytes(
        serialization.Encoding.DER
    )
    broken = b64encode(der[:position] + noise + der[position + len(noise) :]).decode()
    text = f"-----BEGIN CERTIFICATE-----\n{broken}\n-----END CERTIFICATE-----"
    assert isinstance(ca_problem(text), str)
    key_block = (
        f"-----BEGIN PRIVATE KEY-----\n{b64encode(noise).decode()}\n-----END PRIVATE KEY-----"
    )
    assert isinstance(pair_problem(text, key_block), str)


def test_an_authorization_that_must_be_written_excludes_nothing() -> None:
    """IONOS' is required by the schema, also of those who use OAuth 2.0."""
    given_both = {"authorization": {}, "oauth2": {"tokenUrl": "http://token"}}
    assert list(one_kind_of_credentials(convert(IonosDiscovery, given_both), "")) == []
    chosen = convert(LinodeDiscovery, given_both)
    assert [one.reason for one in one_kind_of_credentials(chosen, "")] == [Reason.CONFLICT]


def test_an_oauth2_client_needs_an_id_and_a_token_server() -> None:
    """What Prometheus asks for, and a proxy that makes sense."""
    given_secret = {"clientSecret": key("x"), "noProxy": "a"}
    paths = [one.path for one in oauth2_settings(convert(OAuth2, given_secret), "")]
    assert paths == ["clientId", "tokenUrl", "noProxy"]
    good = {"clientId": {"secret": {}}, "clientSecret": {}, "tokenUrl": "http://token"}
    assert list(oauth2_settings(convert(OAuth2, good), "")) == []
    assert list(oauth2_settings(None, "")) == []
    empty = {"clientId": {"secret": key("empty")}, "clientSecret": key("token"), "tokenUrl": "x:y"}
    assert endpoint_findings({"oauth2": empty}) == {"oauth2.clientId": Reason.INVALID_VALUE}
    assert list(tls_settings(SafeTlsConfig(), "")) == []


def step_findings(step: dict[str, Any], version: str = "3.5.0", scheme: str = "") -> list[str]:
    """The members at fault in a relabeling step."""
    steps = (convert(RelabelConfig, step),)
    findings = relabelings(steps, scope(version=version), "", scheme or None)
    return [one.path.removeprefix("[0].") for one in findings]


@pytest.mark.parametrize(
    ("step", "wrong"),
    [
        ({"targetLabel": "a"}, []),
        ({"targetLabel": "any name"}, []),
        ({"action": "Replace"}, ["targetLabel"]),
        ({"action": "hashmod", "targetLabel": "a"}, ["modulus"]),
        ({"action": "HashMod", "targetLabel": "a", "modulus": 8}, []),
        ({"action": "labelkeep", "regex": "a|b"}, []),
        (
            {"action": "labeldrop", "sourceLabels": ["a"], "separator": ""},
            ["sourceLabels", "separator"],
        ),
        ({"action": "lowercase", "targetLabel": "a", "replacement": ""}, ["replacement"]),
        ({"action": "keepequal", "targetLabel": "a", "regex": "x"}, ["regex"]),
        ({"action": "labelmap", "replacement": ""}, ["replacement"]),
        ({"action": "labelmap", "regex": "x_(.+)", "replacement": "${1}"}, []),
        ({"action": "keep", "sourceLabels": [""]}, ["sourceLabels[0]"]),
        ({"action": "drop", "regex": r"(?!a)"}, ["regex"]),
        ({"action": "drop", "regex": "a)(b"}, []),
        ({"action": "drop", "regex": r"a\Cb"}, ["regex"]),
        ({"action": "drop", "regex": r"a\\C\Q\C\E"}, []),
        ({"action": "drop", "regex": "\ud800"}, ["regex"]),
    ],
)
def test_each_relabeling_action_has_its_members(step: dict[str, Any], wrong: list[str]) -> None:
    """What an action needs, what it refuses, and expressions of RE2."""
    assert step_findings(step) == wrong


def test_names_of_labels_follow_version_and_scheme() -> None:
    """Any UTF-8 since 3.0, unless the scheme is the legacy one; templates are names too."""
    spaced = {"targetLabel": "a b"}
    assert step_findings(spaced, "2.55.0") == ["targetLabel"]
    assert step_findings(spaced, "3.5.0", "Legacy") == ["targetLabel"]
    assert step_findings({"targetLabel": "exported_${1}_$2"}, "2.55.0") == []
    assert step_findings({"targetLabel": "a", "sourceLabels": ["b c"]}, "2.55.0") == [
        "sourceLabels[0]"
    ]


def test_labels_that_are_copied_must_make_names() -> None:
    """A label of an object may begin with a digit; one of a target not always may."""
    spec = {"endpoints": [], "targetLabels": ["app", "9th"], "podTargetLabels": ["", "1.2/x"]}
    names = {"targetLabels[1]", "podTargetLabels[0]", "podTargetLabels[1]"}
    assert found("service", spec, version="2.55.0").keys() == names
    assert found("service", spec, nameValidationScheme="Legacy").keys() == names
    assert found("service", spec).keys() == {"podTargetLabels[0]"}
    pods = {"podMetricsEndpoints": [], "podTargetLabels": ["9th"]}
    assert found("pod", pods, version="2.55.0").keys() == {"podTargetLabels[0]"}


def test_a_size_must_be_one() -> None:
    """The schema looks at the end of the text only."""
    for text, valid in (("10MB", True), ("", True), ("xx10MB", False), ("9EB", False)):
        wrong = {} if valid else {"bodySizeLimit": Reason.INVALID_VALUE}
        assert found("scrape", {"bodySizeLimit": text}) == wrong
        assert found("pod", {"podMetricsEndpoints": [], "bodySizeLimit": text}) == wrong


def test_relabeling_actions_have_a_first_version() -> None:
    """An older Prometheus does not know them."""
    for action, since, before in (
        ("uppercase", "2.36.0", "2.35.0"),
        ("dropequal", "2.41.0", "2.40.0"),
    ):
        step = {"action": action, "targetLabel": "a"}
        assert step_findings(step, since) == []
        assert step_findings(step, before) == ["action"]


def probe_findings(spec: dict[str, Any], **settings: Any) -> dict[str, Reason]:
    """What is found in a Probe that is otherwise good."""
    good = {"prober": {"url": "blackbox:9115"}, "targets": {"staticConfig": {}}}
    return found("probe", good | spec, **settings)


def test_a_probe_needs_a_prober_and_targets() -> None:
    """Without them there is nothing to do."""
    assert probe_findings({}) == {}
    assert found("probe", {}) == {"prober": Reason.REQUIRED, "targets": Reason.REQUIRED}
    assert probe_findings({"targets": {}}) == {"targets": Reason.REQUIRED}
    assert probe_findings({"prober": {"url": "http://a"}}) == {"prober.url": Reason.INVALID_VALUE}
    proxied = {"prober": {"url": "a", "noProxy": "b"}}
    assert probe_findings(proxied) == {"prober.noProxy": Reason.CONFLICT}


def test_targets_of_a_probe_are_checked() -> None:
    """Labels by version, selectors and relabelings."""
    labels = {"targets": {"staticConfig": {"labels": {"a-b": "c"}}}}
    assert probe_findings(labels) == {}
    wrong_name = {"targets.staticConfig.labels[a-b]": Reason.INVALID_VALUE}
    assert probe_findings(labels, version="v2.55.0") == wrong_name
    ingress = {
        "selector": {"matchLabels": {"-": "x"}},
        "relabelingConfigs": [{"action": "replace"}],
    }
    assert probe_findings({"targets": {"ingress": ingress}}) == {
        "targets.ingress.selector.matchLabels[-]": Reason.INVALID_SELECTOR,
        "targets.ingress.relabelingConfigs[0].targetLabel": Reason.INVALID_RELABELING,
    }


@pytest.mark.parametrize(
    ("field", "item", "findings"),
    [
        ("staticConfigs", {"labels": {"": "x"}}, {"labels[]": Reason.INVALID_VALUE}),
        ("httpSDConfigs", {"url": "http://a"}, {}),
        ("httpSDConfigs", {"url": "ftp://a"}, {"url": Reason.INVALID_VALUE}),
        ("dnsSDConfigs", {"names": ["a"]}, {}),
        ("dnsSDConfigs", {"names": ["a"], "type": "A"}, {"port": Reason.REQUIRED}),
        ("consulSDConfigs", {}, {"server": Reason.REQUIRED}),
        (
            "consulSDConfigs",
            {"server": "a", "tokenRef": key("x")},
            {"tokenRef": Reason.KEY_NOT_FOUND},
        ),
        (
            "consulSDConfigs",
            {"server": "a", "tokenRef": key("token"), "authorization": {}},
            {"tokenRef": Reason.CONFLICT},
        ),
        ("kumaSDConfigs", {"server": "a"}, {"server": Reason.INVALID_VALUE}),
        ("nomadSDConfigs", {"server": "localhost:4646"}, {"server": Reason.INVALID_VALUE}),
        ("dockerSDConfigs", {"host": "unix:///var/run/docker.sock"}, {}),
        ("dockerSDConfigs", {"host": "tcp://a b"}, {"host": Reason.INVALID_VALUE}),
        ("ec2SDConfigs", {"accessKey": key("x", "no")}, {"accessKey": Reason.SECRET_NOT_FOUND}),
        ("azureSDConfigs", {"authenticationMethod": "ManagedIdentity"}, {}),
        (
            "azureSDConfigs",
            {"tenantID": "a"},
            {"clientID": Reason.REQUIRED, "clientSecret": Reason.REQUIRED},
        ),
        ("scalewaySDConfigs", {"secretKey": {}}, {"secretKey": Reason.REQUIRED}),
        ("openstackSDConfigs", {"password": key("x")}, {"password": Reason.KEY_NOT_FOUND}),
        ("gceSDConfigs", {"refreshInterval": "1 m"}, {"refreshInterval": Reason.INVALID_VALUE}),
        ("kubernetesSDConfigs", {"role": "Pod", "enableHTTP2": True}, {}),
        ("kubernetesSDConfigs", {"role": "Pod", "followRedirects": False}, {"": Reason.CONFLICT}),
        (
            "kubernetesSDConfigs",
            {"role": "Pod", "apiServer": "https://a", "namespaces": {"ownNamespace": True}},
            {"apiServer": Reason.CONFLICT},
        ),
        (
            "kubernetesSDConfigs",
            {"role": "Service", "selectors": [{"role": "Pod", "label": "a in"}]},
            {
                "selectors[0].role": Reason.INVALID_SELECTOR,
                "selectors[0].label": Reason.INVALID_SELECTOR,
            },
        ),
        (
            "kubernetesSDConfigs",
            {"role": "Pod", "selectors": [{"role": "Pod"}, {"role": "pod", "field": "x"}]},
            {
                "selectors[1].role": Reason.DUPLICATE,
                "selectors[1].field": Reason.INVALID_SELECTOR,
            },
        ),
    ],
)
def test_discoveries_are_checked_row_by_row(
    field: str, item: dict[str, Any], findings: dict[str, Reason]
) -> None:
    """Each discovery with what it needs."""
    prefix = f"{field}[0]"
    expected = {f"{prefix}.{path}".rstrip("."): reason for path, reason in findings.items()}
    assert found("scrape", {field: [item]}, version="v3.14.0") == expected


@pytest.mark.parametrize(
    ("field", "item", "path", "before", "since"),
    [
        ("consulSDConfigs", {"server": "a", "namespace": "x"}, "namespace", "2.27.1", "2.28.0"),
        ("consulSDConfigs", {"server": "a", "partition": "x"}, "partition", "2.39.2", "2.40.0"),
        ("consulSDConfigs", {"server": "a", "pathPrefix": "x"}, "pathPrefix", "2.44.0", "2.45.0"),
        ("consulSDConfigs", {"server": "a", "filter": "x"}, "filter", "2.55.1", "3.0.0"),
        (
            "consulSDConfigs",
            {"server": "a", "healthFilter": "x"},
            "healthFilter",
            "3.11.1",
            "3.11.2",
        ),
        ("dockerSDConfigs", {"matchFirstNetwork": True}, "matchFirstNetwork", "2.54.0", "2.54.1"),
        ("hetznerSDConfigs", {"labelSelector": "a"}, "labelSelector", "3.4.2", "3.5.0"),
        ("openstackSDConfigs", {"role": "LoadBalancer"}, "role", "3.1.0", "3.2.0"),
        (
            "azureSDConfigs",
            {"authenticationMethod": "SDK"},
            "authenticationMethod",
            "2.51.2",
            "2.52.0",
        ),
        ("dnsSDConfigs", {"type": "NS", "port": 1}, "type", "2.48.1", "2.49.0"),
        ("kubernetesSDConfigs", {"role": "EndpointSlice"}, "role", "2.20.1", "2.21.0"),
        (
            "kubernetesSDConfigs",
            {"role": "Pod", "namespaces": {"ownNamespace": True}},
            "namespaces.ownNamespace",
            "2.32.1",
            "2.33.0",
        ),
        (
            "kumaSDConfigs",
            {"server": "http://kuma", "clientID": "main"},
            "clientID",
            "2.49.1",
            "2.50.0",
        ),
        ("linodeSDConfigs", {"region": "eu-west"}, "region", "2.51.2", "2.52.0"),
    ],
)
def test_fields_without_which_other_targets_are_found_have_a_first_version(
    field: str, item: dict[str, Any], path: str, before: str, since: str
) -> None:
    """They are refused just before it and taken from it on."""
    too_old = {f"{field}[0].{path}": Reason.UNSUPPORTED_VERSION}
    assert found("scrape", {field: [item]}, version=since) == {}
    assert found("scrape", {field: [item]}, version=before) == too_old


def test_every_discovery_has_a_row() -> None:
    """A field of the type that finds targets cannot be forgotten in the table."""
    spec = ScrapeConfig().spec
    fields = [name for name in spec.__struct_fields__ if name.endswith("_configs")]
    assert sorted(row.field for row in DISCOVERIES) == sorted(fields)


def test_an_unknown_discovery_is_refused_and_an_unused_one_does_not_matter() -> None:
    """Versions gate what is used."""
    nomad = {"nomadSDConfigs": [{"server": "http://a"}]}
    assert found("scrape", nomad, version="2.36.0") == {
        "nomadSDConfigs": Reason.UNSUPPORTED_VERSION
    }
    assert found("scrape", {"staticConfigs": [{"targets": ["a:1"]}]}, version="2.36.0") == {}


def test_utf8_escaping_needs_utf8_names() -> None:
    """Prometheus refuses to ask for names that it would not take."""
    schemes = {"nameValidationScheme": "Legacy", "nameEscapingScheme": "AllowUTF8"}
    assert found("scrape", schemes) == {"nameEscapingScheme": Reason.CONFLICT}
    assert found("scrape", schemes, version="v3.3.0") == {}


@pytest.mark.parametrize(
    ("settings", "refused"),
    [
        ({"enforcedNamespaceLabel": "a-b"}, True),
        ({"enforcedNamespaceLabel": "namespace"}, False),
        ({"scrapeClasses": [{"name": "c", "default": True, "relabelings": [UTF8_STEP]}]}, True),
        ({"scrapeClasses": [{"name": "c", "metricRelabelings": [UTF8_STEP]}]}, False),
        ({"enforcedNamespaceLabel": "a-b", "excludedFromEnforcement": [SPARED]}, False),
    ],
)
def test_a_scrape_config_cannot_forbid_the_names_of_its_prometheus(
    settings: dict[str, Any], refused: bool
) -> None:
    """Prometheus judges the steps that we add by the scheme of the job, and refuses the file."""
    expected = {"nameValidationScheme": Reason.CONFLICT} if refused else {}
    assert found("scrape", {"nameValidationScheme": "Legacy"}, **settings) == expected
    assert found("scrape", {}, **settings) == {}


def workload_paths(**spec: Any) -> dict[str, Reason]:
    """What is found in a server's own settings."""
    model = convert(PrometheusSpec, spec)
    return _by_path(workload_findings(model, ScraperReading(asking(model), ASSETS, "shop")))


@pytest.mark.parametrize("mode", [None, "StatefulSet", "DaemonSet"])
@pytest.mark.parametrize("runs", [True, False])
def test_the_gate_of_agents_on_every_node_does_what_it_says(mode: str | None, runs: bool) -> None:
    """Turned off, such an agent is not configured and says why; others are."""
    gates = f"--feature-gates=PrometheusAgentDaemonSet={str(runs).lower()}"
    facts = capabilities_with(operator_settings([gates]))
    spec = PrometheusAgentSpec(mode=mode)
    found = workload_findings(
        spec, ScraperReading(replace(asking(spec), capabilities=facts), ASSETS, "shop")
    )
    refused = mode == "DaemonSet" and not runs
    assert [each.path for each in found] == (["spec.mode"] if refused else [])


def test_a_plain_workload_has_no_findings() -> None:
    """Nothing is wrong with nothing special."""
    assert workload_paths() == {}
    url = "https://storage/write"
    assert workload_paths(remoteWrite=[{"url": url}], remoteRead=[{"url": url}]) == {}


@pytest.mark.parametrize(
    ("spec", "findings"),
    [
        ({"scrapeTimeout": "1m"}, {"scrapeTimeout": Reason.CONFLICT}),
        ({"scrapeInterval": ""}, {"scrapeInterval": Reason.REQUIRED}),
        ({"evaluationInterval": "300y"}, {"evaluationInterval": Reason.INVALID_VALUE}),
        ({"retentionSize": "x1GB"}, {"retentionSize": Reason.INVALID_VALUE}),
        ({"enforcedNamespaceLabel": "a-b"}, {}),
        (
            {"enforcedNamespaceLabel": "a-b", "version": "v2.55.0"},
            {"enforcedNamespaceLabel": Reason.INVALID_VALUE},
        ),
        *(
            ({"enforcedNamespaceLabel": name}, {"enforcedNamespaceLabel": Reason.INVALID_VALUE})
            for name in ("__name__", "alertname", "alertstate", "a$1", "${1}")
        ),
        (
            {"externalLabels": {"a b": "c"}, "nameValidationScheme": "Legacy"},
            {"externalLabels[a b]": Reason.INVALID_VALUE},
        ),
        ({"podTargetLabels": [""]}, {"podTargetLabels[0]": Reason.INVALID_VALUE}),
        (
            {"remoteWrite": [{"url": "http://a"}, {"url": "http://b"}, {"url": "http://a"}]},
            {"remoteWrite[2]": Reason.DUPLICATE},
        ),
        (
            {"remoteWrite": [{"url": "http://a", "queueConfig": {"minBackoff": "9999y"}}]},
            {"remoteWrite[0].queueConfig.minBackoff": Reason.INVALID_VALUE},
        ),
        (
            {"otlp": {"promoteResourceAttributes": ["a", " ", "a "]}},
            {
                "otlp.promoteResourceAttributes[1]": Reason.INVALID_VALUE,
                "otlp.promoteResourceAttributes[2]": Reason.DUPLICATE,
            },
        ),
        (
            {"tracingConfig": {"endpoint": "otel:4317", "timeout": "9999y"}},
            {"tracingConfig.timeout": Reason.INVALID_VALUE},
        ),
        (
            {"scrapeClasses": [{"name": "a", "default": True}, {"name": "b", "default": True}]},
            {"scrapeClasses": Reason.DUPLICATE},
        ),
        (
            {"scrapeClasses": [{"name": "a"}, {"name": "a"}]},
            {"scrapeClasses[0].name": Reason.DUPLICATE, "scrapeClasses[1].name": Reason.DUPLICATE},
        ),
        (
            {"scrapeClasses": [{"name": "a", "tlsConfig": {"certFile": "a"}}]},
            {"scrapeClasses[0].tlsConfig": Reason.CONFLICT},
        ),
        ({"remoteWrite": [{"url": ""}]}, {"remoteWrite[0].url": Reason.INVALID_VALUE}),
        (
            {"remoteWrite": [{"url": "http://a", "sigv4": {}, "azureAd": {"sdk": {}}}]},
            {"remoteWrite[0]": Reason.CONFLICT},
        ),
        (
            {"remoteWrite": [{"url": "http://a", "sigv4": {"accessKey": key("user")}}]},
            {"remoteWrite[0].sigv4": Reason.CONFLICT},
        ),
        (
            {"remoteWrite": [{"url": "http://a", "azureAd": {}}]},
            {"remoteWrite[0].azureAd": Reason.REQUIRED},
        ),
        (
            {"remoteWrite": [{"url": "http://a", "azureAd": {"sdk": {}, "managedIdentity": {}}}]},
            {"remoteWrite[0].azureAd.sdk": Reason.CONFLICT},
        ),
        (
            {
                "version": "2.47.0",
                "remoteWrite": [
                    {
                        "url": "http://a",
                        "azureAd": {"oauth": {"clientId": "x", "clientSecret": key("password")}},
                    }
                ],
            },
            {
                "remoteWrite[0].azureAd.oauth": Reason.UNSUPPORTED_VERSION,
                "remoteWrite[0].azureAd.oauth.clientId": Reason.INVALID_VALUE,
            },
        ),
        (
            {
                "version": "3.4.0",
                "remoteWrite": [{"url": "http://a", "azureAd": {"managedIdentity": {}}}],
            },
            {"remoteWrite[0].azureAd.managedIdentity.clientId": Reason.UNSUPPORTED_VERSION},
        ),
        (
            {"remoteRead": [{"url": "http://a", "remoteTimeout": "x"}]},
            {"remoteRead[0].remoteTimeout": Reason.INVALID_VALUE},
        ),
        (
            {"alerting": {"alertmanagers": [{"relabelings": [{"action": "keepequal"}]}]}},
            {"alerting.alertmanagers[0].relabelings[0].targetLabel": Reason.INVALID_RELABELING},
        ),
        (
            {"tracingConfig": {"samplingFraction": "1500m"}},
            {"tracingConfig.samplingFraction": Reason.INVALID_VALUE},
        ),
        (
            {"tsdb": {"staleSeriesCompactionThreshold": "-1"}},
            {"tsdb.staleSeriesCompactionThreshold": Reason.INVALID_VALUE},
        ),
        (
            {"additionalScrapeConfigs": key("nope")},
            {"additionalScrapeConfigs": Reason.KEY_NOT_FOUND},
        ),
        ({"additionalScrapeConfigs": key("nope") | {"optional": True}}, {}),
        (
            {
                "apiserverConfig": {
                    "host": "a",
                    "basicAuth": {"username": key("user"), "password": key("no")},
                }
            },
            {"apiserverConfig.basicAuth.password": Reason.KEY_NOT_FOUND},
        ),
    ],
)
def test_a_workload_is_told_what_keeps_its_configuration_from_loading(
    spec: dict[str, Any], findings: dict[str, Reason]
) -> None:
    """Each mistake with its path and its word."""
    assert workload_paths(**spec) == findings


def test_a_web_server_needs_certificate_and_key() -> None:
    """From a reference or a file, not from both."""
    both = {"cert": {"secret": {}}, "certFile": "a", "keyFile": "b"}
    assert [one.path for one in web_tls(convert(WebTlsConfig, both), "")] == ["cert"]
    assert [one.path for one in web_tls(convert(WebTlsConfig, {"keySecret": {}}), "")] == [
        "cert",
        "keySecret",
    ]
    assert list(web_tls(None, "")) == []
    files = {"certFile": "a", "keyFile": "b"}
    assert workload_paths(web={"tlsConfig": files}) == {}
    assert workload_paths(web={"tlsConfig": {"certFile": "a"}}) == {
        "web.tlsConfig.keySecret": Reason.REQUIRED
    }


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("0", 0),
        ("1h30m", 5_400_000),
        ("1y2w3d", 31_536_000_000 + 17 * 86_400_000),
        ("15ms", 15),
        ("", None),
        ("1m1h", None),
        ("1.5s", None),
        ("-1s", None),
        ("293y", None),
        ("٣s", None),
    ],
)
def test_durations_are_those_of_prometheus(text: str, length: int | None) -> None:
    """Units in order, whole numbers, and not too long."""
    assert milliseconds(text) == length


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 0),
        ("1KB", 1024),
        ("1.5MiB", 1536 * 1024),
        (".5KB", 512),
        ("1MB1B", 1024**2 + 1),
        ("7EB", 7 * 1024**6),
        ("8.1EB", None),
        ("1", None),
        ("1kB", None),
        ("1 MB", None),
        ("x1MB", None),
        ("1MBx", None),
        ("9999999999999999999B", None),
        ("1.9999999999999999999B", None),
        ("", None),
    ],
)
def test_sizes_are_those_of_prometheus(text: str, size: int | None) -> None:
    """Powers of 1024, and no more than 64 bits can count."""
    assert byte_size(text) == size


@pytest.mark.parametrize(
    ("text", "number"),
    [
        *(("1", 1), (2, 2), (0.5, Fraction(1, 2)), ("-1", -1), ("500m", Fraction(1, 2))),
        *(("1k", 1000), ("1.5Ki", 1536), ("1Gi", 2**30), ("2e3", 2000), ("x", None), (None, None)),
    ],
)
def test_quantities_are_those_of_kubernetes(text: Any, number: Any) -> None:
    """With decimal, binary and exponent suffixes."""
    assert quantity(text) == number


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("http://user:password@host:80/path?query#fragment", ""),
        ("http://[::1]:80", ""),
        ("socks5://proxy", ""),
        ("relative/path", ""),
        ("://example.com", "has no scheme"),
        ("http://a{b}", "has an invalid character in the host name"),
        ("http://a:b", "has an invalid port"),
        ("http://a:80:90", "has an invalid port"),
        ("http://[::1", "has an invalid port or no `]` after the address"),
        ("http://[1.2.3.4]", "has an invalid address in brackets"),
        ("http://u p@h", "has an invalid character before the `@`"),
        ("http://a/%zz", "has a `%` that begins no escape"),
        ("http://a\n", "has a control character"),
        ("host:80/x:y", ""),
        ("1host:80", "has a colon before the first slash but no scheme"),
    ],
)
def test_urls_are_those_that_go_reads(text: str, problem: str) -> None:
    """Prometheus reads them with Go's parser."""
    assert Url(text).problem == problem


def test_web_urls_have_a_scheme_and_a_host() -> None:
    """As HTTP discovery asks for."""
    assert web_url_problem("https://a/b") == ""
    assert web_url_problem("ftp://a") == "must begin with http:// or https://"
    assert web_url_problem("http://") == "has no host"
    assert web_url_problem("http://a b") != ""


@pytest.mark.parametrize(
    ("text", "valid"),
    [
        ("blackbox", True),
        ("12-exporter.example.com:9115", True),
        ("192.168.0.1:80", True),
        ("::1", True),
        ("[2001:db8::1]:9090", True),
        ("", False),
        ("a:0", False),
        ("a:65536", False),
        ("a:b", False),
        ("http://a", False),
        ("a/b", False),
        ("a b", False),
    ],
)
def test_a_prober_is_a_host_with_or_without_a_port(text: str, valid: bool) -> None:
    """Names and addresses, no URLs."""
    assert host_and_port(text) is valid


def test_names_of_labels() -> None:
    """The legacy alphabet, or anything."""
    assert label_name("a_1", legacy=True)
    assert not label_name("1a", legacy=True)
    assert not label_name("", legacy=False)
    assert label_name("ä ö", legacy=False)
    assert label_template("${1}_x", legacy=True)
    assert not label_template("x-$1", legacy=True)
