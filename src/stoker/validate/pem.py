"""Certificates and keys as PEM text: enough reading to tell what Prometheus could not load.

Prometheus refuses a whole configuration when one of its TLS files does not load, so the material
is read before it is used. No cryptography is done: the structure of a certificate and of a private
key is walked, and the public halves are compared where the key carries its own (RSA always, EC
nearly always). A signature is never verified; neither does Prometheus when it loads a file.
"""

import binascii
from base64 import b64decode
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

_BEGIN: Final = "-----BEGIN "
_END: Final = "-----END "
_DASHES: Final = "-----"

_INTEGER, _BIT_STRING, _OCTET_STRING, _SEQUENCE = 0x02, 0x03, 0x04, 0x30
_VERSION, _EC_PUBLIC = 0xA0, 0xA1
_INDEFINITE: Final = 0x80
# No structure that is read here has more members; a hostile one may have a million.
_MEMBERS: Final = 12
_RSA: Final = bytes.fromhex("2a864886f70d010101")


class _Block(Struct, frozen=True):
    label: str
    content: bytes


class _Node(Struct, frozen=True):
    """A value in DER: its tag and what is inside."""

    tag: int
    content: memoryview


def ca_problem(text: str) -> str:
    """Why no certificate authority can be read from this; empty if one can."""
    blocks = [block for block in _blocks(text) if block.label == "CERTIFICATE"]
    if not blocks:
        return "holds no certificate in PEM form"
    if any(_public_key(block.content) is not None for block in blocks):
        return ""
    return "holds a certificate that cannot be read"


def pair_problem(certificate: str, key: str) -> str:
    """Why this certificate and this private key do not load together; empty if they do."""
    certificates = [block for block in _blocks(certificate) if block.label == "CERTIFICATE"]
    keys = [block for block in _blocks(key) if block.label.endswith("PRIVATE KEY")]
    if not certificates:
        return "the certificate holds none in PEM form"
    if not keys:
        return "the key holds no private key in PEM form"
    shown = _public_key(certificates[0].content)
    if shown is None:
        return "the certificate cannot be read"
    try:
        own = _public_half(memoryview(keys[0].content))
    except (ValueError, IndexError):
        return "the private key cannot be read (an encrypted one has to be decrypted first)"
    return "" if own in (b"", shown) else "the private key is not that of the certificate"


def _blocks(text: str) -> Iterator[_Block]:
    """The PEM blocks of a text; what is malformed is passed over, as Go does."""
    start = text.find(_BEGIN)
    while start >= 0:
        label, dashes, _ = text[start + len(_BEGIN) : start + 100].partition(_DASHES)
        end = text.find(_END, start)
        if end < 0:
            return
        if dashes and text.startswith(f"{label}{_DASHES}", end + len(_END)):
            body = text[start + len(_BEGIN) + len(label) + len(_DASHES) : end]
            content = _decoded(body)
            if content:
                yield _Block(label, content)
        start = text.find(_BEGIN, end)


def _decoded(body: str) -> bytes:
    """The bytes of a block without its headers; nothing where it is not base64."""
    lines = [line.strip() for line in body.splitlines()]
    try:
        return b64decode("".join(line for line in lines if ":" not in line), validate=True)
    except (binascii.Error, ValueError):
        return b""


def _public_key(certificate: bytes) -> bytes | None:
    """The public key in a certificate, or None where this is no certificate."""
    try:
        signed, algorithm, signature = _members(_only(memoryview(certificate)))
        fields = _members(signed)
        if fields[0].tag == _VERSION:
            del fields[0]
        tags = [field.tag for field in (*fields[:6], algorithm, signature)]
        if tags != [_INTEGER, *[_SEQUENCE] * 6, _BIT_STRING]:
            return None
        kind, bits = _members(fields[5])
        return _comparable(_members(kind)[0].content, bits.content[1:])
    except (ValueError, IndexError):
        return None


def _comparable(algorithm: memoryview, public: memoryview) -> bytes:
    """What can be compared of a public key: the modulus of RSA, the point of a curve."""
    if algorithm == _RSA:
        return bytes(_members(_only(public))[0].content)
    return bytes(public)


def _public_half(key: memoryview, *, wrapped: bool = False) -> bytes:
    """The public half that a private key carries, empty if it carries none.

    ValueError for what is none of PKCS#1, SEC 1 and PKCS#8, which wraps one of the others.
    """
    node = _only(key)
    if wrapped and node.tag == _OCTET_STRING:
        return b""  # Ed25519: just a number
    fields = _members(node)
    tags = [field.tag for field in fields]
    if tags[:3] == [_INTEGER, _SEQUENCE, _OCTET_STRING] and not wrapped:
        return _public_half(fields[2].content, wrapped=True)
    if tags[:9] == [_INTEGER] * 9:
        return bytes(fields[1].content)
    if tags[:2] == [_INTEGER, _OCTET_STRING]:
        public = [field.content for field in fields if field.tag == _EC_PUBLIC]
        return bytes(_only(public[0]).content[1:]) if public else b""
    raise ValueError("not a private key")


def _only(data: memoryview) -> _Node:
    """The one value that the data holds."""
    node, rest = _first(data)
    if rest:
        raise ValueError("more follows")
    return node


def _members(node: _Node) -> list[_Node]:
    """The first values inside a value."""
    members: list[_Node] = []
    rest = node.content
    while rest and len(members) < _MEMBERS:
        member, rest = _first(rest)
        members.append(member)
    return members


def _first(data: memoryview) -> tuple[_Node, memoryview]:
    """The first value of the data, and what follows it."""
    tag, length, start = data[0], data[1], 2
    if length > _INDEFINITE:
        start += length - _INDEFINITE
        length = int.from_bytes(data[2:start])
    elif length == _INDEFINITE:
        raise ValueError("a length is missing")
    if len(data) < start + length:
        raise ValueError("the data ends too early")
    return _Node(tag, data[start : start + length]), data[start + length :]
