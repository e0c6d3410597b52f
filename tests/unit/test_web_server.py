"""The web server: what it answers, and TLS with certificates that change."""

import asyncio
import datetime
import errno
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from msgspec.structs import replace

from stoker.errors import FieldError
from stoker.settings import WebSettings
from stoker.web.server import WebServer

OPEN_FILES = Path("/proc/self/fd")
LOCAL = WebSettings(host="127.0.0.1", port=0)


def certify(folder: Path, name: str, *, issuer: str = "") -> None:
    """Write a certificate and its key; signed by another one of the folder, or by itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    signer, signed_by = key, subject
    if issuer:
        loaded = serialization.load_pem_private_key((folder / f"{issuer}.key").read_bytes(), None)
        assert isinstance(loaded, ec.EllipticCurvePrivateKey)
        signer = loaded
        signed_by = x509.load_pem_x509_certificate((folder / f"{issuer}.crt").read_bytes()).subject
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(signed_by)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=not issuer, path_length=None), critical=True)
        .sign(signer, hashes.SHA256())
    )
    (folder / f"{name}.crt").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    (folder / f"{name}.key").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )


def install(folder: Path, name: str) -> None:
    """Make a certificate the server's."""
    for end in ("crt", "key"):
        (folder / f"tls.{end}").write_bytes((folder / f"{name}.{end}").read_bytes())


def secure(folder: Path) -> WebSettings:
    """Settings with TLS, from files in the folder; the client CA is not asked for."""
    return replace(
        LOCAL,
        tls=True,
        cert_file=str(folder / "tls.crt"),
        key_file=str(folder / "tls.key"),
        client_ca_file=str(folder / "clients.crt"),
        reload_seconds=3600,
    )


@asynccontextmanager
async def serving(settings: WebSettings, reason: str = "") -> AsyncIterator[WebServer]:
    """A server that runs."""
    server = WebServer(settings, lambda: "up 1\n", lambda: reason)
    await server.start()
    try:
        yield server
    finally:
        await server.stop()


def trusting(folder: Path, *names: str, client: str = "") -> ssl.SSLContext:
    """What a client checks, and shows."""
    context = ssl.create_default_context()
    for name in names:
        context.load_verify_locations(folder / f"{name}.crt")
    if client:
        context.load_cert_chain(folder / f"{client}.crt", folder / f"{client}.key")
    return context


async def get(
    server: WebServer, path: str, context: ssl.SSLContext | None = None
) -> tuple[int, str, Any]:
    """Status, body and headers of an answer, over a connection of its own."""
    scheme = "https" if context else "http"
    connector = aiohttp.TCPConnector(force_close=True)
    async with (
        aiohttp.ClientSession(connector=connector) as session,
        session.get(
            f"{scheme}://127.0.0.1:{server.port}{path}",
            ssl=context or True,
            server_hostname="localhost" if context else None,
        ) as answer,
    ):
        return answer.status, await answer.text(), answer.headers


def open_files() -> int:
    """How many files this process has open."""
    return len(list(OPEN_FILES.iterdir()))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a certificate of the server in its place."""
    certify(tmp_path, "first")
    install(tmp_path, "first")
    return tmp_path


def test_metrics_health_and_an_index_are_served() -> None:
    """Metrics come with the version of their format; other paths are not found."""

    async def scenario() -> None:
        async with serving(LOCAL) as server:
            status, body, headers = await get(server, "/metrics")
            assert (status, body) == (200, "up 1\n")
            assert headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
            assert (await get(server, "/healthz"))[:2] == (200, '{"status": "up"}')
            assert (await get(server, "/readyz"))[:2] == (200, '{"status": "ready"}')
            assert "/metrics" in (await get(server, "/"))[1]
            assert (await get(server, "/debug"))[0] == 404

    asyncio.run(scenario())


def test_readiness_says_why_not() -> None:
    """A probe fails with the reason; health is another question."""

    async def scenario() -> None:
        async with serving(LOCAL, "the cache of secrets is not filled") as server:
            status, body, _ = await get(server, "/readyz")
            assert status == 503
            assert "the cache of secrets is not filled" in body
            assert (await get(server, "/healthz"))[0] == 200

    asyncio.run(scenario())


def test_a_stopped_server_lets_its_port_go() -> None:
    """After the stop nobody answers, and the port can be used again."""

    async def scenario() -> int:
        async with serving(LOCAL) as server:
            await get(server, "/healthz")
            return server.port

    port = asyncio.run(scenario())
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=1).close()


def test_requests_that_are_answered_end_before_the_stop() -> None:
    """Nobody's scrape is cut off."""

    async def scenario() -> None:
        server = WebServer(LOCAL, lambda: "x" * 5_000_000, lambda: "")
        await server.start()
        async with (
            aiohttp.ClientSession() as session,
            session.get(f"http://127.0.0.1:{server.port}/metrics") as answer,
        ):
            stopping = asyncio.create_task(server.stop())
            await asyncio.sleep(0)
            assert len(await answer.read()) == 5_000_000
        await stopping

    asyncio.run(scenario())


def test_a_port_in_use_is_an_error_that_names_the_flag() -> None:
    """The message says which address it is about."""

    async def scenario() -> None:
        async with serving(LOCAL) as server:
            with pytest.raises(FieldError, match=r"--web\.listen-address: cannot listen on 127"):
                await WebServer(replace(LOCAL, port=server.port), str, str).start()

    asyncio.run(scenario())


def test_without_a_host_both_families_are_served() -> None:
    """As `:8080` means in Go."""

    async def scenario() -> None:
        async with serving(replace(LOCAL, host="")) as server:
            for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
                if family == socket.AF_INET6 and not socket.has_dualstack_ipv6():
                    continue
                with closing(socket.socket(family)) as client:
                    client.connect((address, server.port))

    asyncio.run(scenario())


def test_new_certificates_are_taken_into_use(folder: Path) -> None:
    """A client that trusts only the new one gets through after the reload, not before."""

    async def scenario() -> None:
        async with serving(secure(folder)) as server:
            port = server.port
            assert (await get(server, "/healthz", trusting(folder, "first")))[0] == 200
            assert not await server.reload()
            certify(folder, "second")
            install(folder, "second")
            with pytest.raises(aiohttp.ClientConnectorCertificateError):
                await get(server, "/healthz", trusting(folder, "second"))
            assert await server.reload()
            assert server.port == port
            assert (await get(server, "/healthz", trusting(folder, "second")))[0] == 200
            with pytest.raises(aiohttp.ClientConnectorCertificateError):
                await get(server, "/healthz", trusting(folder, "first"))

    asyncio.run(scenario())


async def until_trusted(server: WebServer, context: ssl.SSLContext) -> None:
    """Wait until the server answers with a certificate that is trusted here."""
    async with asyncio.timeout(30):
        while True:
            try:
                await get(server, "/healthz", context)
            except aiohttp.ClientError:
                await asyncio.sleep(0.02)
            else:
                return


def test_files_are_looked_at_again_by_themselves(folder: Path) -> None:
    """The interval of the flag is kept; nobody has to ask for the reload."""

    async def scenario() -> None:
        async with serving(replace(secure(folder), reload_seconds=0.02)) as server:
            certify(folder, "second")
            install(folder, "second")
            await until_trusted(server, trusting(folder, "second"))

    asyncio.run(scenario())


def test_a_connection_that_cannot_be_accepted_does_not_end_the_accepting(folder: Path) -> None:
    """A process that has too many files open accepts again when it has less."""
    failures = [OSError(errno.EMFILE, "too many open files")]

    async def scenario() -> None:
        loop = asyncio.get_running_loop()
        accept = loop.sock_accept

        async def accepted(listening: socket.socket) -> tuple[socket.socket, object]:
            if failures:
                raise failures.pop()
            return await accept(listening)

        loop.sock_accept = accepted  # type: ignore[method-assign,assignment]
        async with serving(secure(folder)) as server:
            for _ in range(3):
                await get(server, "/healthz", trusting(folder, "first"))
        assert not failures

    asyncio.run(scenario())


def test_an_open_connection_survives_a_reload(folder: Path) -> None:
    """Who is connected stays connected, and nobody is refused meanwhile."""

    async def scenario() -> None:
        async with serving(secure(folder)) as server, aiohttp.ClientSession() as session:
            url = f"https://127.0.0.1:{server.port}/healthz"
            context = trusting(folder, "first")
            for reload in (True, False):
                async with session.get(url, ssl=context, server_hostname="localhost") as answer:
                    assert answer.status == 200
                if reload:
                    certify(folder, "second")
                    install(folder, "second")
                    assert await server.reload()

    asyncio.run(scenario())


@pytest.mark.skipif(not OPEN_FILES.exists(), reason="open files are counted in /proc")
def test_the_acceptor_with_old_certificates_is_taken_off(folder: Path) -> None:
    """However often certificates change, one acceptor listens, and no file stays open."""

    async def scenario() -> None:
        async with serving(secure(folder)) as server:
            before = open_files()
            for number in range(5):
                certify(folder, f"new-{number}")
                install(folder, f"new-{number}")
                assert await server.reload()
            assert open_files() == before

    asyncio.run(scenario())


def test_unusable_new_certificates_leave_the_old_ones_at_work(folder: Path) -> None:
    """Half a replacement, or garbage, is reported and tried again later."""

    async def scenario() -> None:
        async with serving(secure(folder)) as server:
            certify(folder, "second")
            (folder / "tls.key").write_bytes((folder / "second.key").read_bytes())
            assert not await server.reload()
            (folder / "tls.crt").unlink()
            assert not await server.reload()
            assert (await get(server, "/healthz", trusting(folder, "first")))[0] == 200
            install(folder, "second")
            assert await server.reload()

    asyncio.run(scenario())


@pytest.mark.parametrize("missing", ["tls.crt", "tls.key"])
def test_a_server_without_its_certificate_does_not_start(folder: Path, missing: str) -> None:
    """The flag of the file that is missing is named."""
    (folder / missing).unlink()
    flag = "--web.cert-file" if missing == "tls.crt" else "--web.key-file"
    with pytest.raises(FieldError, match=flag):
        asyncio.run(WebServer(secure(folder), str, str).start())


def test_a_key_that_is_encrypted_is_refused(folder: Path) -> None:
    """Nobody is asked for its password on a terminal that may not be there."""
    key = serialization.load_pem_private_key((folder / "tls.key").read_bytes(), None)
    private = serialization.PrivateFormat.PKCS8
    locked = serialization.BestAvailableEncryption(b"word")
    (folder / "tls.key").write_bytes(key.private_bytes(serialization.Encoding.PEM, private, locked))
    with pytest.raises(FieldError, match=r"--web\.cert-file: .*the key is encrypted"):
        asyncio.run(WebServer(secure(folder), str, str).start())


def test_clients_must_show_a_certificate_of_the_client_ca(folder: Path) -> None:
    """Without one, or with one of somebody else, there is no answer."""
    certify(folder, "clients")
    certify(folder, "known", issuer="clients")
    certify(folder, "stranger")

    async def scenario() -> None:
        async with serving(secure(folder)) as server:
            known = trusting(folder, "first", client="known")
            assert (await get(server, "/metrics", known))[0] == 200
            for context in (
                trusting(folder, "first"),
                trusting(folder, "first", client="stranger"),
            ):
                with pytest.raises((aiohttp.ClientError, ssl.SSLError, OSError)):
                    await get(server, "/metrics", context)

    asyncio.run(scenario())


@pytest.mark.parametrize("content", [None, "", "no certificate"])
def test_a_client_ca_that_was_asked_for_and_is_unusable_stops_the_server(
    folder: Path, content: str | None
) -> None:
    """Fails closed: nobody is let in because a file is missing, empty or broken."""
    if content is not None:
        (folder / "clients.crt").write_text(content)
    settings = replace(secure(folder), client_ca_required=True)
    with pytest.raises(FieldError, match=r"--web\.client-ca-file"):
        asyncio.run(WebServer(settings, str, str).start())


def test_a_default_client_ca_that_is_there_but_broken_stops_the_server_too(folder: Path) -> None:
    """Only a file that is absent means that clients need no certificate."""
    (folder / "clients.crt").write_text("broken")
    with pytest.raises(FieldError, match=r"--web\.client-ca-file"):
        asyncio.run(WebServer(secure(folder), str, str).start())


def test_a_client_ca_that_was_in_use_is_never_dropped(folder: Path) -> None:
    """A file that disappears, by mistake or not, opens the door to nobody."""
    certify(folder, "clients")
    certify(folder, "known", issuer="clients")

    async def scenario() -> None:
        async with serving(secure(folder)) as server:
            (folder / "clients.crt").unlink()
            certify(folder, "second")
            install(folder, "second")
            assert not await server.reload()
            with pytest.raises((aiohttp.ClientError, ssl.SSLError, OSError)):
                await get(server, "/metrics", trusting(folder, "first"))
            known = trusting(folder, "first", client="known")
            assert (await get(server, "/metrics", known))[0] == 200

    asyncio.run(scenario())


def test_a_client_ca_that_appears_is_asked_for_from_then_on(folder: Path) -> None:
    """The default file may come later than the server."""

    async def scenario() -> None:
        async with serving(secure(folder)) as server:
            assert (await get(server, "/metrics", trusting(folder, "first")))[0] == 200
            certify(folder, "clients")
            assert await server.reload()
            with pytest.raises((aiohttp.ClientError, ssl.SSLError, OSError)):
                await get(server, "/metrics", trusting(folder, "first"))

    asyncio.run(scenario())


def handshake(port: int, folder: Path, **limits: Any) -> tuple[str | None, str]:
    """The version and the cipher suite that a client with these limits gets."""
    context = trusting(folder, "first")
    for name, value in limits.items():
        if callable(found := getattr(context, name)):
            found(value)
        else:
            setattr(context, name, value)
    with (
        socket.create_connection(("127.0.0.1", port), timeout=10) as plain,
        context.wrap_socket(plain, server_hostname="localhost") as client,
    ):
        cipher = client.cipher()
        return client.version(), cipher[0] if cipher else ""


def test_versions_suites_and_curves_are_those_of_the_flags(folder: Path) -> None:
    """TLS 1.3 alone unless an older version is allowed, then with the suites and curves given."""
    old = {"maximum_version": ssl.TLSVersion.TLSv1_2}

    async def scenario() -> None:
        async with serving(secure(folder)) as server:
            version, _ = await asyncio.to_thread(handshake, server.port, folder)
            assert version == "TLSv1.3"
            with pytest.raises((ssl.SSLError, OSError)):
                await asyncio.to_thread(handshake, server.port, folder, **old)
        settings = replace(
            secure(folder),
            min_version="VersionTLS12",
            cipher_suites=(
                "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
                "TLS_AES_128_GCM_SHA256",
            ),
            curves=("CurveP384",),
        )
        async with serving(settings) as server:
            found = await asyncio.to_thread(handshake, server.port, folder, **old)
            assert found == ("TLSv1.2", "ECDHE-ECDSA-CHACHA20-POLY1305")
            await asyncio.to_thread(handshake, server.port, folder, set_ecdh_curve="secp384r1")
            with pytest.raises((ssl.SSLError, OSError)):
                await asyncio.to_thread(handshake, server.port, folder, set_ecdh_curve="prime256v1")

    asyncio.run(scenario())
