"""Keys, certificates and tokens of one cluster, made afresh for each.

The certificate authority signs the API server's certificate and is then forgotten; clients verify
the server with ``ca.crt`` and show a random token that stands for an administrator.
"""

from __future__ import annotations

import datetime
import ipaddress
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

LIFETIME = datetime.timedelta(days=365)
SERVICE_NAMES = ("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc")


@dataclass(frozen=True)
class Credentials:
    """Where the files of one cluster are, and the administrator's token."""

    directory: Path
    token: str

    @property
    def ca_file(self) -> Path:
        """What clients verify the server with."""
        return self.directory / "ca.crt"

    @property
    def server_certificate(self) -> Path:
        """The API server's certificate."""
        return self.directory / "server.crt"

    @property
    def server_key(self) -> Path:
        """The key of the API server's certificate."""
        return self.directory / "server.key"

    @property
    def service_account_key(self) -> Path:
        """What signs and verifies the tokens of service accounts."""
        return self.directory / "service-accounts.key"

    @property
    def token_file(self) -> Path:
        """Who may speak to the API server: one administrator."""
        return self.directory / "tokens.csv"


def create(directory: Path, addresses: Iterable[str]) -> Credentials:
    """Write all files for a cluster whose API server has these addresses."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    made = Credentials(directory, secrets.token_hex(16))
    authority, server = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    _write(made.ca_file, _pem(_authority_certificate(authority)))
    _write(made.server_certificate, _pem(_server_certificate(authority, server, addresses)))
    _write(made.server_key, _private_pem(server))
    _write(made.service_account_key, _private_pem(ec.generate_private_key(ec.SECP256R1())))
    _write(made.token_file, f'{made.token},admin,admin,"system:masters"\n'.encode())
    return made


def _authority_certificate(key: ec.EllipticCurvePrivateKey) -> x509.Certificate:
    usage = dict.fromkeys(_USAGES, False) | {"key_cert_sign": True, "crl_sign": True}
    return (
        _builder("stoker-test-ca", key)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.KeyUsage(**usage), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )


def _server_certificate(
    authority: ec.EllipticCurvePrivateKey,
    key: ec.EllipticCurvePrivateKey,
    addresses: Iterable[str],
) -> x509.Certificate:
    names: list[x509.GeneralName] = [x509.DNSName(name) for name in SERVICE_NAMES]
    names += [x509.IPAddress(ipaddress.ip_address(address)) for address in addresses]
    issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.public_key())
    return (
        _builder("kube-apiserver", key)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.ExtendedKeyUsage([x509.OID_SERVER_AUTH]), critical=False)
        .add_extension(issuer, critical=False)
        .sign(authority, hashes.SHA256())
    )


_USAGES = (
    "digital_signature",
    "content_commitment",
    "key_encipherment",
    "data_encipherment",
    "key_agreement",
    "key_cert_sign",
    "crl_sign",
    "encipher_only",
    "decipher_only",
)


def _builder(subject: str, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    # An hour of tolerance, for clocks of containers and virtual machines that disagree.
    start = datetime.datetime.now(datetime.UTC) - datetime.timedelta(hours=1)
    return (
        x509.CertificateBuilder()
        .subject_name(_name(subject))
        .issuer_name(_name("stoker-test-ca"))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(start + LIFETIME)
    )


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _private_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )


def _write(path: Path, content: bytes) -> None:
    path.touch(mode=0o600)
    path.write_bytes(content)
