"""The webhook, called by a real API server: it admits, refuses, mutates and converts."""

from __future__ import annotations

import base64
import datetime
import ipaddress
import itertools
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from stoker.api.crd import GROUP
from stoker.web.reviews import Reviewer, rules_reader
from tests.builders import alert, alertmanager_config, resource
from tools.api import ApiError
from tools.cluster import Cluster
from tools.crds import install_crds
from tools.ports import held_port
from tools.waiting import DEADLINE, until

Object = dict[str, Any]
REGISTRATION = "/apis/admissionregistration.k8s.io/v1"
CRD = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/alertmanagerconfigs.{GROUP}"
RULES = (f"{GROUP}/v1", "prometheusrules")
PORT = 18443
PATHS = Reviewer(rules_reader("legacy")).paths
DEPLOY = Path(__file__).parents[2] / "deploy" / "webhook"


class Authority:
    """A certificate authority of the test."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "a test")])
        self._certificate = self._signed(self._key, ca=True)

    def bundle(self) -> str:
        """What the API server is to trust."""
        return base64.b64encode(_pem(self._certificate)).decode()

    def issue(self, folder: Path) -> None:
        """Write a certificate for this machine and its key."""
        key = ec.generate_private_key(ec.SECP256R1())
        private = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        (folder / "tls.key").write_bytes(private)
        (folder / "tls.crt").write_bytes(_pem(self._signed(key, ca=False)))

    def _signed(self, key: ec.EllipticCurvePrivateKey, *, ca: bool) -> x509.Certificate:
        now = datetime.datetime.now(datetime.UTC)
        here = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
        name = x509.NameAttribute(NameOID.COMMON_NAME, "webhook")
        return (
            x509.CertificateBuilder()
            .subject_name(self._name if ca else x509.Name([name]))
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(hours=1))
            .not_valid_after(now + datetime.timedelta(hours=1))
            .add_extension(x509.SubjectAlternativeName([here]), critical=False)
            .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
            .sign(self._key, hashes.SHA256())
        )


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


class Process:
    """The webhook as a process in the cluster's network."""

    def __init__(self, cluster: Cluster, folder: Path, port: int) -> None:
        self._log = folder / "webhook.log"
        self._log.write_text("")
        flags = [
            f"--web.listen-address=127.0.0.1:{port}",
            f"--web.cert-file={folder}/tls.crt",
            f"--web.key-file={folder}/tls.key",
            "--web.tls-reload-interval=200ms",
            "--log-level=debug",
        ]
        with self._log.open("ab") as output:
            self.process = cluster.spawn(
                [sys.executable, "-m", "stoker", "webhook", *flags], stdout=output, stderr=output
            )
        until("the webhook to listen", lambda: "msg=listening" in self.log())

    def log(self) -> str:
        """Everything that it has logged."""
        if self.process.poll() not in (None, 0):
            raise AssertionError(f"the webhook ended:\n{self._log.read_text()}")
        return self._log.read_text()

    def stop(self) -> int:
        """End it in order; its exit status."""
        self.process.terminate()
        return self.process.wait(DEADLINE)


class Site:
    """A cluster whose API server calls our webhook."""

    def __init__(self, cluster: Cluster, folder: Path) -> None:
        self.cluster = cluster
        self.folder = folder
        self.port = PORT if cluster.namespaces else held_port()
        self.trust(Authority())
        self.webhook = Process(cluster, folder, self.port)

    def trust(self, authority: Authority) -> None:
        """Give the webhook a certificate of this authority."""
        self.authority = authority
        authority.issue(self.folder)

    def client(self, path: str) -> Object:
        """How the API server reaches a path of the webhook."""
        url = f"https://127.0.0.1:{self.port}{path}"
        return {"url": url, "caBundle": self.authority.bundle()}

    def register(self, kind: str, path: str, plural: str, policy: str = "Fail") -> None:
        """Have the API server ask at a path about objects of a kind."""
        rule = {
            "apiGroups": [GROUP],
            "apiVersions": ["*"],
            "operations": ["CREATE", "UPDATE"],
            "resources": [plural],
        }
        name = re.sub(r"[^a-z]+", "-", path.strip("/"))
        hook = {
            "name": f"{name}.{GROUP}",
            "clientConfig": self.client(path),
            "rules": [rule],
            "failurePolicy": policy,
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
        }
        self.apply(
            f"{REGISTRATION}/{kind.lower()}s/{name}",
            {
                "apiVersion": "admissionregistration.k8s.io/v1",
                "kind": kind,
                "metadata": {"name": name},
                "webhooks": [hook],
            },
        )

    def convert(self) -> None:
        """Have the API server convert AlertmanagerConfigs through the webhook."""
        conversion = {
            "strategy": "Webhook",
            "webhook": {
                "conversionReviewVersions": ["v1"],
                "clientConfig": self.client("/convert"),
            },
        }
        patch = {"spec": {"conversion": conversion}}
        self.cluster.api.request("PATCH", CRD, patch, "application/merge-patch+json")

    def apply(self, path: str, given: Object) -> Any:
        """Write an object whole."""
        query = "?fieldManager=test&force=true"
        return self.cluster.api.request(
            "PATCH", path + query, given, "application/apply-patch+yaml"
        )

    def put(self, given: Object) -> Any:
        """Create or replace an object of ours."""
        version, plural = given["apiVersion"], f"{given['kind'].lower()}s"
        return self.apply(path_of(version, plural, given["metadata"]["name"]), given)

    def refusal(self, given: Object) -> str:
        """What the API server says against an object; empty if it takes it."""
        try:
            self.put(given)
        except ApiError as error:
            return str(json.loads(str(error).partition(": ")[2])["message"])
        return ""


def path_of(version: str, plural: str, name: str = "") -> str:
    """Where objects of ours are."""
    return f"/apis/{version}/namespaces/default/{plural}" + (f"/{name}" if name else "")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A control plane of its own: a conversion is for a whole cluster."""
    with Cluster.start(nodes=0) as cluster:
        kinds = ("prometheusrule", "alertmanagerconfig", "servicemonitor", "prometheusagent")
        install_crds(cluster, *kinds)
        made = Site(cluster, tmp_path_factory.mktemp("webhook"))
        made.register(
            "MutatingWebhookConfiguration", "/admission-prometheusrules/mutate", "prometheusrules"
        )
        validated = ("prometheusrules", "alertmanagerconfigs", "servicemonitors")
        for plural in (*validated, "prometheusagents"):
            path = f"/admission-{plural}/validate"
            made.register("ValidatingWebhookConfiguration", path, plural)
        made.convert()
        yield made


def rule(name: str, expr: str = "up == 0", **members: Any) -> Object:
    """A PrometheusRule of one alert."""
    return resource("PrometheusRule", name, alert("g", expr, **members))


def config(name: str, version: str, **spec: Any) -> Object:
    """An AlertmanagerConfig with one receiver."""
    return alertmanager_config(name, **spec) | {"apiVersion": f"{GROUP}/{version}"}


def test_kubectl_shows_what_is_odd_about_a_workload(site: Site) -> None:
    """It is stored all the same."""
    numbers = itertools.count()

    def warned() -> str:
        # What is stored already is not written, and so not reviewed.
        given = {
            "apiVersion": f"{GROUP}/v1alpha1",
            "kind": "PrometheusAgent",
            "metadata": {"name": "odd", "labels": {"attempt": str(next(numbers))}},
            "spec": {"mode": "DaemonSet", "podManagementPolicy": "Parallel"},
        }
        done = site.cluster.kubectl("apply", "-f", "-", input=json.dumps(given))
        return str(done.stderr) if "Warning:" in str(done.stderr) else ""

    # A new registration takes the API server a moment.
    said = until("a warning", warned)
    assert "spec.remoteWrite" in said
    assert "spec.podManagementPolicy" in said


def test_rules_are_refused_with_the_path_or_stored_with_texts(site: Site) -> None:
    """A bad expression is named; numbers in annotations become texts before they are validated.

    What was taken is marked as such.

    (peer scenario: Prom Rules Must Be Annotated)
    (peer scenario: Promtest Invalid Rules Are Rejected)
    """
    # A new registration takes the API server a moment.
    until("bad rules to be refused", lambda: site.refusal(rule("bad", "up ==")))
    said = site.refusal(rule("bad", "rate(up)"))
    assert "spec.groups[0].rules[0].expr" in said
    assert "rate" in said
    # Server-side apply would not get so far: it compares types before anybody is asked.
    given, where = rule("good", annotations={"runbook": 7, "page": True}), path_of(*RULES)
    put = until("numbers to be taken", lambda: site.cluster.api.request("POST", where, given))
    stored = put["spec"]["groups"][0]["rules"][0]["annotations"]
    assert stored == {"runbook": "7", "page": "true"}
    assert put["metadata"]["annotations"] == {"prometheus-operator-validated": "true"}
    assert "rate(up)" not in site.webhook.log()


def test_what_is_deprecated_is_taken_with_a_warning(site: Site) -> None:
    """The user sees the warning; a Secret that is not there yet is no reason to refuse."""
    endpoint: Object = {"port": "web", "bearerTokenSecret": {"name": "later", "key": "token"}}
    monitor = {
        "apiVersion": f"{GROUP}/v1",
        "kind": "ServiceMonitor",
        "metadata": {"name": "old", "namespace": "default"},
        "spec": {"selector": {}, "endpoints": [endpoint]},
    }

    def warned() -> str:
        shown = site.cluster.kubectl("apply", "--server-side", "-f", "-", input=json.dumps(monitor))
        return shown.stderr

    words = until("a warning", warned)
    assert "spec.endpoints[0].bearerTokenSecret: deprecated: use `authorization`" in words
    endpoint |= {"interval": "30s", "scrapeTimeout": "1m"}
    assert "spec.endpoints[0].scrapeTimeout" in site.refusal(monitor)


def read(site: Site, version: str, name: str) -> Object:
    """An AlertmanagerConfig in a version."""
    found: Object = site.cluster.api.get(path_of(f"{GROUP}/{version}", "alertmanagerconfigs", name))
    return found


def test_alertmanagerconfigs_are_read_and_written_in_both_versions(site: Site) -> None:
    """Nothing is lost on the way through the other version, and lists are converted whole.

    (peer scenario: AM Alertmanager Config Versions)
    """
    weekend = [{"name": "weekend", "timeIntervals": [{"weekdays": ["saturday:sunday"]}]}]
    key = {"name": "keys", "key": "opsgenie", "optional": True}
    receiver = {"name": "team", "opsgenieConfigs": [{"apiKey": key, "updateAlerts": True}]}
    matcher = {"name": "severity", "value": "critical|high", "regex": True}
    route = {
        "receiver": "team",
        "muteTimeIntervals": ["weekend"],
        "routes": [{"matchers": [matcher]}],
    }
    weekdays = [{"name": "weekend", "timeIntervals": [{"weekdays": ["sunday"]}]}]
    old = config("old", "v1alpha1", route=route, receivers=[receiver], muteTimeIntervals=weekdays)
    until("the old one", lambda: not site.refusal(old))
    until("the conversion", lambda: "timeIntervals" in read(site, "v1beta1", "old")["spec"])
    seen = read(site, "v1beta1", "old")
    assert seen["spec"]["timeIntervals"] == weekdays
    assert seen["spec"]["route"]["routes"][0]["matchers"][0]["matchType"] == "=~"
    # An edit in v1beta1 keeps what v1beta1 has no word for.
    seen["spec"]["route"]["groupWait"] = "45s"
    where = path_of(seen["apiVersion"], "alertmanagerconfigs", "old")
    site.cluster.api.request("PUT", where, seen)
    stored = read(site, "v1alpha1", "old")["spec"]
    assert stored == old["spec"] | {"route": route | {"groupWait": "45s"}}

    bad = config("new", "v1beta1", timeIntervals=weekend)
    until("bad configs to be refused", lambda: "timeIntervals[0]" in site.refusal(bad))
    site.put(config("new", "v1beta1", timeIntervals=weekdays))
    assert read(site, "v1alpha1", "new")["spec"]["muteTimeIntervals"] == weekdays
    listed = site.cluster.api.get(path_of(f"{GROUP}/v1beta1", "alertmanagerconfigs"))["items"]
    assert {one["metadata"]["name"] for one in listed} == {"old", "new"}
    assert "spec.route.receiver" in site.refusal(config("lost", "v1beta1", route={"receiver": "x"}))


def test_new_certificates_are_taken_into_use(site: Site) -> None:
    """The authority changes, too; the API server finds the webhook again."""
    site.trust(Authority())
    until("the new certificate", lambda: "certificates reloaded" in site.webhook.log())
    path = "/admission-prometheusrules/validate"
    site.register("ValidatingWebhookConfiguration", path, "prometheusrules")
    site.register(
        "MutatingWebhookConfiguration", "/admission-prometheusrules/mutate", "prometheusrules"
    )
    site.convert()

    def refused() -> bool:
        return "spec.groups[0].rules[0].expr" in site.refusal(rule("bad", "sum("))

    until("a refusal over the new connection", refused)


def test_a_webhook_that_is_down_stops_or_lets_pass_as_registered(site: Site) -> None:
    """`Fail` refuses, `Ignore` lets pass; the stored version of AlertmanagerConfigs stays readable.

    A new process takes over at once.
    """
    site.cluster.api.request(
        "DELETE", f"{REGISTRATION}/mutatingwebhookconfigurations/admission-prometheusrules-mutate"
    )
    until("no mutation", lambda: not site.refusal(rule("good")))
    assert site.webhook.stop() == 0
    assert "failed calling webhook" in site.refusal(rule("other"))
    with pytest.raises(ApiError, match="conversion webhook"):
        read(site, "v1beta1", "old")
    assert read(site, "v1alpha1", "old")["spec"]
    path = "/admission-prometheusrules/validate"
    site.register("ValidatingWebhookConfiguration", path, "prometheusrules", "Ignore")
    until("bad rules to pass", lambda: not site.refusal(rule("other", "sum(")))
    site.webhook = Process(site.cluster, site.folder, site.port)
    until("bad rules to be refused", lambda: site.refusal(rule("other", "avg(")))
    assert until("the conversion", lambda: read(site, "v1beta1", "old")["spec"])


def test_our_manifests_register_what_there_is(site: Site) -> None:
    """Both variants are taken by the API server; the script brings the authority everywhere."""
    site.cluster.kubectl("create", "namespace", "stoker")
    with_manager = site.cluster.kubectl("kustomize", str(DEPLOY / "cert-manager")).stdout
    ours = [
        one for one in yaml.safe_load_all(with_manager) if "cert-manager" not in one["apiVersion"]
    ]
    given = yaml.safe_dump_all(ours)
    site.cluster.kubectl("apply", "--dry-run=server", "-f", "-", input=given)
    site.cluster.kubectl("apply", "-k", str(DEPLOY / "own-certificate"))
    kubectl = site.cluster.kubectl_path.parent
    environment = {
        "KUBECONFIG": str(site.cluster.kubeconfig),
        "KUBECACHEDIR": f"{site.cluster.directory}/cache",
        "PATH": f"{kubectl}:{os.environ['PATH']}",
    }
    # No conversion, as in the definition that we print.
    patch = {"spec": {"conversion": {"strategy": "None", "webhook": None}}}
    site.cluster.api.request("PATCH", CRD, patch, "application/merge-patch+json")
    script = str(DEPLOY / "own-certificate" / "certificate.sh")
    done = subprocess.run([script], env=environment, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    clients = [site.cluster.api.get(CRD)["spec"]["conversion"]["webhook"]["clientConfig"]]
    for kind in ("validating", "mutating"):
        found = site.cluster.api.get(f"{REGISTRATION}/{kind}webhookconfigurations/stoker-webhook")
        clients += [hook["clientConfig"] for hook in found["webhooks"]]
    assert {client["service"]["path"] for client in clients} <= set(PATHS)
    assert len({client["caBundle"] for client in clients}) == 1
    assert len(clients) == 4


def test_it_does_not_start_without_the_client_ca_that_was_asked_for(tmp_path: Path) -> None:
    """Whoever asks for certificates of clients gets no open door instead (defect 22)."""
    Authority().issue(tmp_path)
    flags = [f"--web.{name}-file={tmp_path}/tls.{end}" for name, end in _FILES]
    command = [sys.executable, "-m", "stoker", "webhook", *flags]
    command += [f"--web.client-ca-file={tmp_path}/absent.crt", "--web.listen-address=127.0.0.1:0"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=DEADLINE)
    assert done.returncode == 2
    assert "--web.client-ca-file" in done.stderr


_FILES = (("cert", "crt"), ("key", "key"))
