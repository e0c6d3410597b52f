"""The certificates that the operator makes for itself: what there is, and what is due.

    day 0            4 years            4 years + 30 days          5 years
    authority A ─────────────────────────────────────────────────────┤
                     authority B, trusted ┬ B signs ─────────────────────────…

An authority is trusted for a month before it signs anything, and until it ends: no pod meets a
certificate that it does not trust yet, and none that was signed is ever without its authority.
Dates stand beside the certificates, so that these need not be read to know what is due.
"""

from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final

import msgspec
from msgspec import Struct

AUTHORITY_LIFE: Final = timedelta(days=5 * 365)
SUCCESSOR_LEFT: Final = timedelta(days=365)
TRUSTED_FIRST: Final = timedelta(days=30)
LIFE: Final = timedelta(days=90)
RENEWED_LEFT: Final = timedelta(days=30)
# Clocks differ.
_BEFORE: Final = timedelta(hours=1)

_STATE: Final = "state.json"
_CA: Final = "ca.crt"
_CERTIFICATE: Final = "tls.crt"
_KEY: Final = "tls.key"  # a name, no key


class Period(Struct, frozen=True):
    """Since when something is valid, and until when."""

    since: datetime
    until: datetime


class IssuedPair(Struct, frozen=True):
    """A certificate and its key as PEM, and when it is valid."""

    certificate: str
    key: str
    period: Period


class Issued(Struct, frozen=True):
    """All that was made: authorities, the oldest first, and what the server shows, for `names`.

    `signed_by` is the authority's place among them.
    """

    authorities: tuple[IssuedPair, ...]
    server: IssuedPair
    names: tuple[str, ...]
    signed_by: str

    @property
    def trusted(self) -> str:
        """The authorities to trust, as PEM."""
        return "".join(each.certificate for each in self.authorities)


NewAuthority = Callable[[Period], IssuedPair]
NewCertificate = Callable[[IssuedPair, tuple[str, ...], Period], IssuedPair]


def is_due(found: Issued | None, names: tuple[str, ...], now: datetime) -> bool:
    """Whether something is to be made, or let go of."""
    if found is None or found.names != names:
        return True
    authorities = _lasting(found.authorities, now)
    if authorities != found.authorities or _needs_successor(authorities, now):
        return True
    signer = _signer(authorities, now)
    return _left(found.server, now) < RENEWED_LEFT or found.signed_by != signer.certificate


def renewed(
    found: Issued | None,
    names: tuple[str, ...],
    now: datetime,
    new_authority: NewAuthority,
    new_certificate: NewCertificate,
) -> Issued:
    """What there is to be now; what is good as it is stays so."""
    if found is not None and not is_due(found, names, now):
        return found
    authorities = _lasting(found.authorities if found else (), now)
    if _needs_successor(authorities, now):
        authorities += (new_authority(Period(now - _BEFORE, now + AUTHORITY_LIFE)),)
    signer = _signer(authorities, now)
    until = min(now + LIFE, signer.period.until)
    server = new_certificate(signer, names, Period(now - _BEFORE, until))
    return Issued(authorities, server, names, signer.certificate)


def _lasting(authorities: tuple[IssuedPair, ...], now: datetime) -> tuple[IssuedPair, ...]:
    return tuple(each for each in authorities if each.period.until > now)


def _needs_successor(authorities: tuple[IssuedPair, ...], now: datetime) -> bool:
    return not authorities or _left(authorities[-1], now) < SUCCESSOR_LEFT


def _signer(authorities: tuple[IssuedPair, ...], now: datetime) -> IssuedPair:
    """The newest that everybody trusts by now; the oldest where none is known for so long."""
    known = [each for each in authorities if now - each.period.since >= TRUSTED_FIRST]
    return known[-1] if known else authorities[0]


def _left(pair: IssuedPair, now: datetime) -> timedelta:
    return pair.period.until - now


# --- As a Secret has it ---------------------------------------------------------------------------


def secret_data(issued: Issued) -> dict[str, str]:
    """The data of a Secret: all of it in one member, and for people and tools in the usual ones."""
    members = {
        _STATE: msgspec.json.encode(issued).decode(),
        _CA: issued.trusted,
        _CERTIFICATE: issued.server.certificate,
        _KEY: issued.server.key,
    }
    return {name: b64encode(text.encode()).decode() for name, text in members.items()}


def issued_in(secret: Mapping[str, Any] | None) -> Issued | None:
    """What a Secret holds; None where that is not what was written."""
    try:
        return msgspec.json.decode(
            b64decode(((secret or {}).get("data") or {})[_STATE]), type=Issued
        )
    except (KeyError, TypeError, ValueError, msgspec.DecodeError):
        return None
