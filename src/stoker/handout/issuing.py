"""Makes certificates: an authority of our own, and what it signs. Needs `cryptography`.

It is imported when something is to be made, which is once in a few weeks and by one replica.
"""

from collections.abc import Iterable
from datetime import datetime
from ipaddress import ip_address

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from stoker.handout.issued import IssuedPair, Period

_AUTHORITY = "stoker node discovery"


def new_authority(period: Period) -> IssuedPair:
    """An authority that signs itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    serial = x509.random_serial_number()
    # Two that follow each other have names of their own, so that nobody takes one for the other.
    name = _name(f"{_AUTHORITY} {serial:x}"[:64])
    usage = x509.KeyUsage(
        digital_signature=True, key_cert_sign=True, crl_sign=True, content_commitment=False,
        key_encipherment=False, data_encipherment=False, key_agreement=False,
        encipher_only=False, decipher_only=False,
    )  # fmt: skip
    made = (
        _begun(name, name, period, key.public_key(), serial)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(_identifier(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    return _pair(made, key, period)


def new_certificate(signer: IssuedPair, names: Iterable[str], period: Period) -> IssuedPair:
    """A certificate of a server with these names or addresses."""
    authority = x509.load_pem_x509_certificate(signer.certificate.encode())
    signing = serialization.load_pem_private_key(signer.key.encode(), None)
    if not isinstance(signing, ec.EllipticCurvePrivateKey):
        raise TypeError("the authority's key is none that we made")
    key = ec.generate_private_key(ec.SECP256R1())
    known = x509.SubjectAlternativeName([_general(each) for each in names])
    of = x509.AuthorityKeyIdentifier.from_issuer_public_key(signing.public_key())
    made = (
        _begun(_name("stoker"), authority.subject, period, key.public_key())
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(known, critical=False)
        .add_extension(of, critical=False)
        .sign(signing, hashes.SHA256())
    )
    return _pair(made, key, period)


def _begun(
    subject: x509.Name,
    issuer: x509.Name,
    period: Period,
    key: ec.EllipticCurvePublicKey,
    serial: int | None = None,
) -> x509.CertificateBuilder:
    begun = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key)
    begun = begun.serial_number(serial or x509.random_serial_number())
    return begun.not_valid_before(_utc(period.since)).not_valid_after(_utc(period.until))


def _pair(made: x509.Certificate, key: ec.EllipticCurvePrivateKey, period: Period) -> IssuedPair:
    pem = serialization.Encoding.PEM
    form, no = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    text = key.private_bytes(pem, form, no).decode()
    return IssuedPair(made.public_bytes(pem).decode(), text, period)


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _identifier(key: ec.EllipticCurvePublicKey) -> x509.SubjectKeyIdentifier:
    return x509.SubjectKeyIdentifier.from_public_key(key)


def _general(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _utc(when: datetime) -> datetime:
    return when.replace(microsecond=0)
