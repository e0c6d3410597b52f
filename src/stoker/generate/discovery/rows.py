"""What the tables of the discoveries are made of: rows and writers that several of them share.

The rows of a table stand in the order in which the peer writes the members. It differs from one
discovery to the next and means nothing to Prometheus, but as long as it is kept, taking over from
the peer changes no byte of a configuration.
"""

import re
from collections.abc import Callable
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from stoker.api.core import SecretKeySelector
from stoker.api.scrapeconfig.client import GrantOAuth2, HttpHeader
from stoker.api.scrapeconfig.discovery.shared import Filter
from stoker.errors import ResourceError
from stoker.generate.block import Block
from stoker.generate.draft import ScraperDraft
from stoker.generate.grammar import Member, Table, Write, put
from stoker.generate.http import PROXY, authorization, basic_auth, oauth2, tls_config
from stoker.generate.order import in_order
from stoker.generate.values import items, lower, members
from stoker.version import parse_version

__all__ = [
    "AUTHORIZATION",
    "BASIC_AUTH",
    "CREDENTIALS",
    "FILTERS",
    "FOLLOW_REDIRECTS",
    "HEADERS",
    "OAUTH2",
    "PROXY",
    "REFRESH",
    "REQUESTS",
    "TLS",
    "Each",
    "OneOf",
    "Shaped",
    "items",
    "lower",
    "members",
    "secret",
    "since",
]


def secret(reference: SecretKeySelector, draft: ScraperDraft, path: str) -> str:
    """The value of a Secret's key, without which the discovery could not work.

    ResourceError where there is none: a discovery that fails to log in finds no targets, which
    looks as if they were gone.
    """
    return draft.needed(reference, path)


def plain(text: str, _draft: ScraperDraft, _path: str) -> str:
    """The text as it is."""
    return text


class Shaped(Struct, frozen=True):
    """Writes a text that must have a form, or Prometheus would refuse the whole file.

    `read` finds the text. It may be a Secret's, so the complaint says only what it should be.
    """

    form: re.Pattern[str]
    words: str
    read: Write = plain

    def __call__(self, value: Any, draft: ScraperDraft, path: str) -> str:
        """The text, or a ResourceError."""
        text: str = self.read(value, draft, path)
        if not self.form.fullmatch(text):
            raise ResourceError(path, f"is not {self.words}")
        return text


class OneOf(Struct, frozen=True):
    """Writes one of a few words; `newer` are rows of those that not all versions know.

    A word that the version does not know is left out and reported, so that Prometheus takes its
    default; an `essential` one has no default that would do, and stops the resource.
    """

    newer: Table
    spelling: Callable[[str], str] = str
    essential: bool = False

    def __call__(self, word: str, draft: ScraperDraft, path: str) -> str | None:
        """The word as Prometheus spells it, or None."""
        row = next((one for one in self.newer if one.name == word), None)
        if row is None or row.known_to(draft.version):
            return self.spelling(word)
        reason = f"`{word}` {row.lacking(draft.program)}"
        if self.essential:
            raise ResourceError(path, reason)
        draft.ignore(path, reason)
        return None


class Each(Struct, frozen=True):
    """Writes a list of objects, each by the same table.

    `more` adds rows that depend on the object; `tidy` is what is done to it once it is written.
    """

    table: Table
    more: Callable[[Any], Table] | None = None
    tidy: Callable[[Block, ScraperDraft, str], None] | None = None

    def __call__(
        self, values: tuple[Any, ...], draft: ScraperDraft, path: str
    ) -> list[Block] | None:
        """A block for each object, or None where there are no objects."""
        blocks = []
        for index, value in enumerate(values):
            block: Block = {}
            here = f"{path}[{index}]"
            put(block, self.table, value, draft, here)
            if self.more:
                put(block, self.more(value), value, draft, here)
            if self.tidy:
                self.tidy(block, draft, here)
            blocks.append(block)
        return blocks or None


def since(version: str, *table: Member) -> Table:
    """The same rows for a discovery that got them later than others did."""
    return tuple(replace(one, since=max(one.since, version, key=_precedence)) for one in table)


def _precedence(version: str) -> Any:
    return parse_version(version or "0")


def _headers(headers: dict[str, HttpHeader], draft: ScraperDraft, path: str) -> Block | None:
    """The values of each header, those of Secrets after the others."""
    written = {name: _values(header, draft, path) for name, header in headers.items()}
    return in_order(written) or None


def _values(header: HttpHeader, draft: ScraperDraft, path: str) -> Block:
    block: Block = {}
    if header.values:
        block["values"] = list(header.values)
    if header.secrets:
        block["secrets"] = [secret(each, draft, path) for each in header.secrets]
    return block


JWT_BEARER: Final = "JWTBearer"
_GRANTS: Final = {
    "ClientCredentials": "client_credentials",
    JWT_BEARER: "urn:ietf:params:oauth:grant-type:jwt-bearer",
}


def _grant(grant: str, _draft: ScraperDraft, _path: str) -> str:
    return _GRANTS.get(grant, grant)


_GRANT: Final[Table] = tuple(
    replace(one, since="3.8.0")
    for one in (
        Member("grant_type", write=_grant),
        Member("client_certificate_key", write=secret),
        Member("client_certificate_key_id"),
        Member("signature_algorithm"),
        Member("iss", "issuer"),
        Member("audience"),
        Member("claims", write=members),
    )
)


def _oauth2(client: GrantOAuth2, draft: ScraperDraft, path: str) -> Block | None:
    """An `oauth2`; a client that signs its tokens has no secret to send."""
    block = oauth2(client, draft, path)
    if block is None:
        return None
    if client.grant_type == JWT_BEARER:
        block.pop("client_secret", None)
    put(block, _GRANT, client, draft, path)
    return block


BASIC_AUTH: Final = Member("basic_auth", write=basic_auth)
AUTHORIZATION: Final = Member("authorization", since="2.26.0", write=authorization)
OAUTH2: Final = Member("oauth2", since="2.27.0", write=_oauth2)
CREDENTIALS: Final = (BASIC_AUTH, AUTHORIZATION, OAUTH2)
TLS: Final = Member("tls_config", write=tls_config)
FOLLOW_REDIRECTS: Final = Member("follow_redirects", since="2.26.0")
HEADERS: Final = Member("http_headers", since="2.55.0", write=_headers)
REQUESTS: Final = (FOLLOW_REDIRECTS, Member("enable_http2", since="2.35.0"), HEADERS)
REFRESH: Final = Member("refresh_interval")

_each_filter = Each((Member("name"), Member("values", write=items)))


def _filters(filters: tuple[Filter, ...], draft: ScraperDraft, path: str) -> list[Block] | None:
    """Filters by name: they must all hold, so their order means nothing."""
    written = _each_filter(filters, draft, path)
    return written and sorted(written, key=_name)


def _name(block: Block) -> str:
    return str(block.get("name", ""))


FILTERS: Final = Member("filters", write=_filters)
