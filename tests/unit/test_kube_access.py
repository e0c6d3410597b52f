"""Where the API server is and who we are: flags, pods, kubeconfig files, plugins, proxies."""

from __future__ import annotations

import asyncio
import base64
import datetime
import json
import os
import ssl
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from stoker.kube import access
from stoker.kube.access import Access
from stoker.kube.client import Client
from stoker.kube.errors import AccessError, Unavailable
from stoker.kube.proxies import HttpProxy, proxy_for
from tools import credentials

SERVER = "https://192.0.2.1:6443"
WORD = "s3cr3t-w0rd"
V1 = "client.authentication.k8s.io/v1"


def config(
    path: Path, user: dict[str, Any], cluster: dict[str, Any] | None = None, name: str = "one"
) -> Path:
    """Write a kubeconfig with one context of that name."""
    document = {
        "clusters": [{"name": name, "cluster": {"server": SERVER, **(cluster or {})}}],
        "users": [{"name": name, "user": user}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    }
    path.write_text(json.dumps(document))
    return path


def headers(found: Access) -> dict[str, str]:
    """Ask for the headers, as one does before a request."""
    return dict(asyncio.run(found.headers()))


def self_signed() -> tuple[bytes, bytes]:
    """Make a certificate and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "client")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    encoding = serialization.Encoding.PEM
    pkcs8, plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    return certificate.public_bytes(encoding), key.private_bytes(encoding, pkcs8, plain)


def test_a_token_of_a_kubeconfig_is_shown_as_bearer(tmp_path: Path) -> None:
    """The server is the context's cluster, and the token goes into the Authorization header."""
    found = access.kubeconfig(config(tmp_path / "config", {"token": WORD}))
    assert found.server == SERVER
    assert found.namespace == "default"
    assert headers(found) == {"Authorization": f"Bearer {WORD}"}


def test_a_name_and_password_are_shown_as_basic(tmp_path: Path) -> None:
    """Basic authentication, as kubeconfig files still may have it."""
    found = access.kubeconfig(config(tmp_path / "config", {"username": "a", "password": "b:c"}))
    assert headers(found) == {"Authorization": "Basic " + base64.b64encode(b"a:b:c").decode()}


def test_several_files_are_laid_over_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the files in $KUBECONFIG the first that names something wins; absent files are fine."""
    first = config(tmp_path / "first", {"token": "of-first"}, name="one")
    second = config(tmp_path / "second", {"token": "of-second"}, name="two")
    third = config(tmp_path / "third", {"token": "hidden"}, name="one")
    files = [first, tmp_path / "absent", second, third]
    monkeypatch.setenv("KUBECONFIG", os.pathsep.join(map(str, files)))
    assert headers(access.kubeconfig()) == {"Authorization": "Bearer of-first"}
    assert headers(access.kubeconfig(context="two")) == {"Authorization": "Bearer of-second"}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"current-context": ""}, "no current context"),
        ({"current-context": "other"}, "no context 'other'"),
        ({"clusters": []}, "no cluster 'one'"),
        ({"users": None}, "no user 'one'"),
        ({"users": [{"name": "one", "user": {"token": [WORD]}}]}, r"\$\.token"),
        ({"users": [{"name": "one", "user": {"auth-provider": {"name": "gcp"}}}]}, "use exec"),
    ],
)
def test_a_kubeconfig_that_cannot_be_used_is_one_clear_error(
    tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    """The error says what is missing, and never quotes what is in the file."""
    path = config(tmp_path / "config", {"token": WORD})
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(AccessError, match=said) as caught:
        access.kubeconfig(path)
    assert WORD not in str(caught.value)


def test_a_kubeconfig_that_is_no_yaml_is_not_quoted(tmp_path: Path) -> None:
    """The error names the line; what stands there may be a token."""
    path = tmp_path / "config"
    path.write_text(f"users:\n- token: *{WORD}\n")
    with pytest.raises(AccessError, match="line 2") as caught:
        access.kubeconfig(path)
    assert WORD not in f"{caught.value!r} {caught.value.__cause__!r}"


def test_a_kubeconfig_that_is_no_text_is_one_clear_error(tmp_path: Path) -> None:
    """A binary file in its place is named, and not quoted."""
    path = tmp_path / "config"
    path.write_bytes(b"\xff\xfe\x00" + WORD.encode())
    with pytest.raises(AccessError, match="not text in UTF-8") as caught:
        access.kubeconfig(path)
    assert WORD not in f"{caught.value!r} {caught.value.__cause__!r}"


def test_paths_in_a_kubeconfig_are_relative_to_it(tmp_path: Path) -> None:
    """The token file stands beside the kubeconfig, wherever we run."""
    (tmp_path / "token").write_text(f"{WORD}\n")
    found = access.kubeconfig(config(tmp_path / "config", {"tokenFile": "token"}))
    assert headers(found) == {"Authorization": f"Bearer {WORD}"}


def test_a_rotated_token_file_is_read_again(tmp_path: Path) -> None:
    """A token that was refused is read anew; a file that vanished leaves the last one."""
    file = tmp_path / "token"
    file.write_text("old")
    found = access.kubeconfig(config(tmp_path / "config", {"tokenFile": str(file)}))
    assert headers(found)["Authorization"] == "Bearer old"
    file.write_text("new")
    assert headers(found)["Authorization"] == "Bearer old"
    found.forget()
    assert headers(found)["Authorization"] == "Bearer new"
    file.unlink()
    found.forget()
    assert headers(found)["Authorization"] == "Bearer new"


def test_a_client_certificate_may_be_data_or_files(tmp_path: Path) -> None:
    """Both are loaded, and what the data are written to for that is gone afterwards."""
    certificate, key = self_signed()
    (tmp_path / "tls.crt").write_bytes(certificate)
    (tmp_path / "tls.key").write_bytes(key)
    files = {"client-certificate": "tls.crt", "client-key": "tls.key"}
    data = {
        "client-certificate-data": base64.b64encode(certificate).decode(),
        "client-key-data": base64.b64encode(key).decode(),
    }
    assert access.kubeconfig(config(tmp_path / "files", files)).ssl
    assert access.kubeconfig(config(tmp_path / "data", data)).ssl
    with pytest.raises(AccessError, match="needs its key"):
        access.kubeconfig(config(tmp_path / "half", {"client-certificate": "tls.crt"}))
    with pytest.raises(AccessError, match=r"loaded from .*absent"):
        access.kubeconfig(config(tmp_path / "absent", files | {"client-key": "absent"}))


def test_a_renewed_certificate_file_makes_a_new_context(tmp_path: Path) -> None:
    """New connections show the new certificate; half of a renewal changes nothing."""
    certificate, key = tmp_path / "tls.crt", tmp_path / "tls.key"

    def write(file: Path, content: bytes, stamp: int) -> None:
        file.write_bytes(content)
        os.utime(file, (stamp, stamp))

    first, second = self_signed(), self_signed()
    write(certificate, first[0], 1)
    write(key, first[1], 1)
    found = access.from_flags(SERVER, cert_file=str(certificate), key_file=str(key))
    before = found.ssl
    write(certificate, second[0], 2)
    found.forget()
    assert found.ssl is before
    write(key, second[1], 2)
    found.forget()
    assert found.ssl is not before


def test_a_server_meets_the_certificate_and_the_name_of_a_kubeconfig(tmp_path: Path) -> None:
    """A real handshake: the server wants a certificate, and its name is not its address."""
    own = credentials.create(tmp_path / "server", ())
    certificate, key = self_signed()
    terms = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cadata=certificate.decode())
    terms.verify_mode = ssl.CERT_REQUIRED
    terms.load_cert_chain(own.server_certificate, own.server_key)
    user = {
        "client-certificate-data": base64.b64encode(certificate).decode(),
        "client-key-data": base64.b64encode(key).decode(),
    }

    async def version(_: web.Request) -> web.Response:
        return web.json_response({"gitVersion": "v1.99.0"})

    async def ask(user: dict[str, Any], name: str) -> str:
        app = web.Application()
        app.router.add_get("/version", version)
        server = TestServer(app, scheme="https")
        await server.start_server(ssl=terms)
        cluster = {
            "server": f"https://127.0.0.1:{server.port}",
            "certificate-authority": str(own.ca_file),
            "tls-server-name": name,
        }
        path = config(tmp_path / "config", user, cluster)
        try:
            async with Client(access.kubeconfig(path)) as client:
                return await client.server_version()
        finally:
            await server.close()

    assert asyncio.run(ask(user, "kubernetes.default")) == "v1.99.0"
    with pytest.raises(Unavailable, match="mismatch"):
        asyncio.run(ask(user, "elsewhere"))
    with pytest.raises(Unavailable):
        asyncio.run(ask({}, "kubernetes.default"))


def test_verification_is_off_only_when_asked(tmp_path: Path) -> None:
    """insecure-skip-tls-verify turns it off, nothing else does."""
    asked = {"insecure-skip-tls-verify": True, "tls-server-name": "kubernetes"}
    off = access.kubeconfig(config(tmp_path / "off", {}, asked))
    on = access.kubeconfig(config(tmp_path / "on", {}))
    assert off.ssl
    assert not off.ssl.check_hostname
    assert off.server_name == "kubernetes"
    assert on.ssl
    assert on.ssl.check_hostname
    assert on.server_name is None


def test_acting_for_someone_else_is_said_in_headers(tmp_path: Path) -> None:
    """User, groups and more; acting for a group without a user is refused."""
    user = {"as": "jane", "as-groups": ["dev", "ops"], "as-user-extra": {"reason": ["audit"]}}
    found = access.kubeconfig(config(tmp_path / "config", user))
    assert sorted(asyncio.run(found.headers()).items()) == [
        ("Impersonate-Extra-reason", "audit"),
        ("Impersonate-Group", "dev"),
        ("Impersonate-Group", "ops"),
        ("Impersonate-User", "jane"),
    ]
    with pytest.raises(AccessError, match="needs a user"):
        access.kubeconfig(config(tmp_path / "config", {"as-groups": ["dev"]}))


def test_flags_name_a_server_and_whom_to_act_for() -> None:
    """Without a scheme it is TLS when something about TLS was said, as with the peer."""
    found = access.from_flags("localhost:8080", impersonate="jane")
    assert (found.server, found.ssl) == ("http://localhost:8080", None)
    assert headers(found) == {"Impersonate-User": "jane"}
    assert access.from_flags("localhost:8443", tls_insecure=True).server == "https://localhost:8443"
    with pytest.raises(AccessError, match="http or https"):
        access.from_flags("ftp://localhost")


def test_in_a_pod_the_mounted_files_are_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The service account's token, authority and namespace; outside of a pod, a clear error."""
    monkeypatch.setattr(access, "SERVICE_ACCOUNT", tmp_path)
    (tmp_path / "token").write_text(WORD)
    (tmp_path / "namespace").write_text("monitoring\n")
    (tmp_path / "ca.crt").write_bytes(self_signed()[0])
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "fd00::1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    found = access.in_cluster()
    assert (found.server, found.namespace) == ("https://[fd00::1]:443", "monitoring")
    assert headers(found) == {"Authorization": f"Bearer {WORD}"}
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST")
    with pytest.raises(AccessError, match="in no pod"):
        access.in_cluster()


def test_nothing_of_the_credentials_is_in_a_repr(tmp_path: Path) -> None:
    """What may be logged says where the server is and nothing else; nor does a URL."""
    cluster = {
        "server": f"https://me:{WORD}@192.0.2.1",
        "proxy-url": f"http://me:{WORD}@proxy:3128",
    }
    found = access.kubeconfig(config(tmp_path / "config", {"token": WORD}, cluster))
    assert found.proxy
    assert found.proxy.url == "http://proxy:3128"
    assert found.proxy.headers
    assert WORD not in f"{found!r} {found.proxy!r} {found.server}"


PLUGIN = """#!{python}
import json, os, sys
from pathlib import Path
here = Path(__file__).parent
runs = len(list(here.glob("run-*")))
(here / f"run-{{runs}}").write_text(os.environ["KUBERNETES_EXEC_INFO"] + sys.stdin.read())
print((here / "answer").read_text().replace("RUN", str(runs)))
sys.exit(int(os.environ.get("EXIT", "0")))
"""

Runs = Callable[[], list[Any]]


@pytest.fixture
def plugin(tmp_path: Path) -> Runs:
    """Write an exec plugin; return a function that lists what each of its runs was told."""
    script = tmp_path / "plugin"
    script.write_text(PLUGIN.format(python=sys.executable))
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return lambda: [json.loads(run.read_text()) for run in sorted(tmp_path.glob("run-*"))]


def answer(directory: Path, status: dict[str, Any], version: str = V1) -> None:
    """Set what the plugin prints."""
    document = {"apiVersion": version, "kind": "ExecCredential", "status": status}
    (directory / "answer").write_text(json.dumps(document))


def plugged(directory: Path, **more: Any) -> Access:
    """An access by the plugin, found beside the kubeconfig."""
    entry = {"apiVersion": V1, "command": "./plugin", "interactiveMode": "IfAvailable", **more}
    return access.kubeconfig(config(directory / "config", {"exec": entry}))


@pytest.mark.parametrize("version", [V1, "client.authentication.k8s.io/v1beta1"])
def test_a_plugin_runs_once_until_its_token_expires(
    tmp_path: Path, plugin: Runs, version: str
) -> None:
    """It is told that nobody is there to answer, and its token serves until it expires."""
    status = {"token": f"{WORD}-RUN", "expirationTimestamp": "2999-01-01T00:00:00Z"}
    answer(tmp_path, status, version)
    found = plugged(tmp_path, apiVersion=version)
    assert headers(found) == {"Authorization": f"Bearer {WORD}-0"}
    assert headers(found) == {"Authorization": f"Bearer {WORD}-0"}
    told = {"apiVersion": version, "kind": "ExecCredential", "spec": {"interactive": False}}
    assert plugin() == [told]
    found.forget()
    assert headers(found) == {"Authorization": f"Bearer {WORD}-1"}


def test_an_expired_token_is_asked_for_again(tmp_path: Path, plugin: Runs) -> None:
    """A token that is past its expiry is not shown twice."""
    soon = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=1)
    answer(tmp_path, {"token": "t-RUN", "expirationTimestamp": soon.isoformat()})
    found = plugged(tmp_path)
    assert [headers(found)["Authorization"] for _ in range(2)] == ["Bearer t-0", "Bearer t-1"]


def test_requests_at_the_same_time_run_a_plugin_once(tmp_path: Path, plugin: Runs) -> None:
    """Many watches start together; the plugin asks its user's identity provider only once."""
    answer(tmp_path, {"token": "t-RUN"})
    found = plugged(tmp_path)

    async def together() -> list[Any]:
        return await asyncio.gather(*(found.headers() for _ in range(5)))

    assert {each["Authorization"] for each in asyncio.run(together())} == {"Bearer t-0"}
    assert len(plugin()) == 1


def test_a_plugin_may_hand_out_a_certificate(tmp_path: Path, plugin: Runs) -> None:
    """It is shown in connections that are made from then on."""
    certificate, key = (each.decode() for each in self_signed())
    answer(tmp_path, {"clientCertificateData": certificate, "clientKeyData": key})
    found = plugged(tmp_path)
    before = found.ssl
    assert headers(found) == {}
    assert found.ssl is not before
    after = found.ssl
    assert headers(found) == {}
    assert found.ssl is after


def test_a_plugin_is_told_of_the_cluster_when_it_wants(tmp_path: Path, plugin: Runs) -> None:
    """Server and extension, for plugins that serve several clusters."""
    answer(tmp_path, {"token": "t"})
    extension = {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "a"}}
    entry = {"apiVersion": V1, "command": "./plugin", "provideClusterInfo": True}
    path = config(tmp_path / "config", {"exec": entry}, {"extensions": [extension]})
    headers(access.kubeconfig(path))
    assert plugin()[0]["spec"]["cluster"] == {"server": SERVER, "config": {"audience": "a"}}


@pytest.mark.parametrize(
    ("printed", "said"),
    [
        (f"not JSON {WORD}", "printed no ExecCredential"),
        (json.dumps({"apiVersion": V1, "kind": "Token", "status": {"token": WORD}}), "printed no"),
        (json.dumps({"apiVersion": V1, "kind": "ExecCredential", "status": {}}), "no credentials"),
    ],
)
def test_what_a_plugin_prints_is_never_quoted(
    tmp_path: Path, plugin: Runs, printed: str, said: str
) -> None:
    """A plugin that went wrong may have printed a token all the same."""
    (tmp_path / "answer").write_text(printed)
    with pytest.raises(AccessError, match=said) as caught:
        headers(plugged(tmp_path))
    assert WORD not in f"{caught.value!r} {caught.value.__cause__!r}"


def test_a_plugin_that_fails_or_is_missing_is_a_clear_error(tmp_path: Path, plugin: Runs) -> None:
    """The exit status, or where to get it; and what needs a person is refused at once."""
    answer(tmp_path, {"token": WORD})
    with pytest.raises(AccessError, match="ended with status 3"):
        headers(plugged(tmp_path, env=[{"name": "EXIT", "value": "3"}]))
    with pytest.raises(AccessError, match=r"No such file.*see the manual"):
        headers(plugged(tmp_path, command="./absent", installHint="see the manual"))
    with pytest.raises(AccessError, match="wants a terminal"):
        plugged(tmp_path, interactiveMode="Always")
    with pytest.raises(AccessError, match=r"v1alpha1.* not known"):
        plugged(tmp_path, apiVersion="client.authentication.k8s.io/v1alpha1")


def test_a_plugin_that_does_not_answer_is_told_from_one_that_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may wait for a person, or for a provider that is not there."""
    monkeypatch.setattr("stoker.kube.credentials.PLUGIN_SECONDS", 0.1)
    with pytest.raises(AccessError, match="sleep' took too long"):
        headers(plugged(tmp_path, command="sleep", args=["60"]))


@pytest.mark.parametrize(
    ("server", "no_proxy", "proxied"),
    [
        ("https://api.example.com", "", True),
        ("https://api.example.com", "*", False),
        ("https://api.example.com", "example.com", False),
        ("https://api.example.com", ".example.com", False),
        ("https://example.com", ".example.com", True),
        ("https://myexample.com", "example.com", True),
        ("https://api.example.com", "example.com:6443", True),
        ("https://api.example.com:6443", "other, example.com:6443", False),
        ("https://10.96.0.1", "10.96.0.0/12", False),
        ("https://10.112.0.1", "10.96.0.0/12", True),
        ("https://10.96.0.1", "10.96.0.1", False),
        ("https://[fd00::1]:443", "fd00::/8", False),
        ("https://[fd00::1]:443", "[fd00::1]:443", False),
        ("https://localhost:6443", "", False),
        ("https://127.0.0.1:6443", "", False),
        ("http://api.example.com", "", False),
    ],
)
def test_no_proxy_is_read_as_go_reads_it(server: str, no_proxy: str, proxied: bool) -> None:
    """Clusters set networks in NO_PROXY, so that pods reach the API server directly."""
    found = proxy_for(server, {"HTTPS_PROXY": "proxy:3128", "no_proxy": no_proxy})
    assert (found.url if found else None) == ("http://proxy:3128" if proxied else None)


def test_a_proxy_that_we_cannot_use_is_refused() -> None:
    """Better an error than a connection past the proxy."""
    with pytest.raises(AccessError, match="socks5"):
        HttpProxy("socks5://proxy:1080")
