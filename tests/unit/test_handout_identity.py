"""The certificate that agents on nodes are shown: made here over the years, or read from files."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from stoker.errors import FieldError
from stoker.handout import issuing
from stoker.handout.identity import IdentityInFiles, context_of
from stoker.handout.issued import (
    TRUSTED_FIRST,
    Issued,
    IssuedPair,
    Period,
    issued_in,
    renewed,
    secret_data,
)
from stoker.settings import DiscoveryFiles

NAMES = ("localhost",)
DAY = timedelta(days=1)
BEGUN = datetime(2026, 1, 1, tzinfo=UTC)


def issued(names: tuple[str, ...] = NAMES) -> Issued:
    """What is made at the start, for real."""
    return renewed(None, names, datetime.now(UTC), issuing.new_authority, issuing.new_certificate)


def shaken(server: ssl.SSLContext, trusted: str, name: str = "localhost") -> str:
    """The version of TLS in which a client that trusts these gets through."""
    client = ssl.create_default_context(cadata=trusted)
    ours, theirs = ssl.MemoryBIO(), ssl.MemoryBIO()
    here = client.wrap_bio(ours, theirs, server_hostname=name)
    there = server.wrap_bio(theirs, ours, server_side=True)
    for _ in range(4):
        for each in (here, there):
            try:
                each.do_handshake()
            except ssl.SSLWantReadError:
                continue
    return here.version() or ""


class Years:
    """An operator over the years, without real keys: `now` is where it is."""

    def __init__(self) -> None:
        self.now = BEGUN
        self.numbers = count()
        self.found: Issued | None = None

    def look(self, names: tuple[str, ...] = NAMES) -> Issued:
        """What there is after the leader looked."""
        self.found = renewed(self.found, names, self.now, self.authority, self.server)
        return self.found

    def authority(self, period: Period) -> IssuedPair:
        """An authority that is a number."""
        return IssuedPair(f"authority-{next(self.numbers)};", "", period)

    def server(self, signer: IssuedPair, names: tuple[str, ...], period: Period) -> IssuedPair:
        """A certificate that names its authority."""
        return IssuedPair(f"{next(self.numbers)} by {signer.certificate}", "", period)

    def days(self, number: int) -> Iterator[Issued]:
        """Look once a day, for so many days."""
        for _ in range(number):
            yield self.look()
            self.now += DAY


def test_a_client_may_be_a_month_behind_at_any_time() -> None:
    """Over twelve years, it trusts the certificate of the day by what it was told a month ago."""
    years = Years()
    told: list[str] = []
    authorities = set()
    for today in years.days(12 * 365):
        told.append(today.trusted)
        authorities.add(today.signed_by)
        assert today.server.period.since <= years.now < today.server.period.until
        signer = next(a for a in today.authorities if a.certificate == today.signed_by)
        assert today.server.period.until <= signer.period.until
        month = told[-min(len(told), TRUSTED_FIRST.days) :]
        assert all(today.signed_by in each for each in month)
        assert len(today.authorities) <= 2
    assert len(authorities) >= 3


def test_what_is_good_stays_as_it_is() -> None:
    """Another name is a reason for another certificate, by the same authority."""
    years = Years()
    first = years.look()
    years.now += 30 * DAY
    assert years.look() is first
    other = years.look(("elsewhere",))
    assert (other.authorities, other.names) == (first.authorities, ("elsewhere",))
    assert other.server != first.server
    years.now += 61 * DAY
    assert years.look(("elsewhere",)).server != other.server


def test_an_operator_that_was_away_for_years_begins_anew() -> None:
    """Nothing that has ended is trusted or shown."""
    years = Years()
    years.look()
    years.now += 6 * 365 * DAY
    today = years.look()
    assert [each.period.until > years.now for each in today.authorities] == [True]
    assert today.server.period.until > years.now


def test_what_is_made_is_trusted_and_speaks_tls_13() -> None:
    """By whom it is told, for its name or address, and by nobody else."""
    made = issued(("localhost", "127.0.0.1"))
    server = context_of(made.server.certificate.encode(), made.server.key.encode())
    assert shaken(server, made.trusted) == "TLSv1.3"
    assert shaken(server, issued().trusted + made.trusted, "127.0.0.1") == "TLSv1.3"
    with pytest.raises(ssl.SSLCertVerificationError, match="Hostname mismatch"):
        shaken(server, made.trusted, "stoker.example")
    with pytest.raises(ssl.SSLCertVerificationError):
        shaken(server, issued().trusted)


def test_a_secret_holds_all_of_it() -> None:
    """And what somebody else made of it is nothing."""
    made = issued()
    data = secret_data(made)
    assert issued_in({"data": data}) == made
    assert set(data) == {"state.json", "ca.crt", "tls.crt", "tls.key"}
    broken: list[Any] = [None, {}, {"data": None}, {"data": {"state.json": "!"}}, {"data": {}}]
    assert list(map(issued_in, broken)) == [None] * len(broken)


def test_a_key_of_another_certificate_is_refused() -> None:
    """The error names the flag, and nothing of the key."""
    one, other = issued(), issued()
    for key in (other.server.key, "nonsense", ""):
        with pytest.raises(FieldError, match="--node-discovery-cert-file") as refused:
            context_of(one.server.certificate.encode(), key.encode())
        assert "PRIVATE" not in str(refused.value)


def test_files_are_read_again_when_they_change(tmp_path: Path) -> None:
    """What cannot be used is passed over, and what was there stays."""
    files = DiscoveryFiles(**{each: str(tmp_path / each) for each in ("cert", "key", "ca")})
    one, other = issued(), issued()
    told: list[str] = []

    def write(made: Issued, key: str) -> None:
        for path, text in zip(
            (files.cert, files.key, files.ca),
            (made.server.certificate, key, made.trusted),
            strict=True,
        ):
            Path(path).write_text(text)

    async def follow() -> None:
        changed = asyncio.Event()

        def shown(context: ssl.SSLContext, trusted: str) -> None:
            told.append(trusted)
            changed.set()

        identity = IdentityInFiles(files, 0.01)
        running = asyncio.create_task(identity.run(shown))
        write(one, one.server.key)
        await changed.wait()
        changed.clear()
        write(other, one.server.key)
        write(other, other.server.key)
        await changed.wait()
        running.cancel()

    asyncio.run(follow())
    assert told == [one.trusted, other.trusted]
