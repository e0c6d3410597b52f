"""What a ScrapeConfig can say about HTTP requests beyond what all kinds can.

Headers, and tokens that the client signs; its job and its discoveries share these.
"""

from typing import Annotated, Any, TypeAlias

from stoker.api.common import OAuth2, Text
from stoker.api.core import SecretKeySelector
from stoker.api.declare import Model, doc, names, rule

Anything: TypeAlias = Annotated[Any, rule(preserveUnknownFields=True)]


class HttpHeader(Model):
    """The values of a header; it is sent once for each of them."""

    values: Annotated[
        tuple[str, ...] | None, doc("Values that anybody may see.", listType="atomic")
    ] = None
    secrets: Annotated[
        tuple[SecretKeySelector, ...] | None,
        doc("Secret keys that hold more values.", listType="atomic"),
    ] = None


HttpHeaders: TypeAlias = Annotated[
    dict[str, HttpHeader] | None,
    doc(
        "Headers to add to each request. Headers that Prometheus sets itself, e.g. "
        "`Authorization`, cannot be added. Needs Prometheus 2.55 or newer."
    ),
]


class GrantOAuth2(
    OAuth2,
    rename=names(client_certificate_key_id="clientCertificateKeyID"),
):
    """OAuth 2.0 with client credentials or with a token that the client signs (RFC 7523)."""

    grant_type: Annotated[
        str | None,
        doc(
            "How the client shows who it is. Unset: `ClientCredentials`. "
            "`JWTBearer` needs Prometheus 3.8 or newer.",
            enum=("ClientCredentials", "JWTBearer"),
        ),
    ] = None
    client_certificate_key: Annotated[
        SecretKeySelector | None,
        doc("Secret key with the private key that signs the token. Needed for `JWTBearer`."),
    ] = None
    client_certificate_key_id: Annotated[
        Text | None, doc("Id of that key (`kid`). `JWTBearer` only.")
    ] = None
    signature_algorithm: Annotated[
        str | None,
        doc(
            "How the token is signed. Unset: `RS256`. `JWTBearer` only.",
            enum=("RS256", "RS384", "RS512"),
        ),
    ] = None
    issuer: Annotated[
        Text | None, doc("Who issues the token (`iss`). Unset: `clientId`. `JWTBearer` only.")
    ] = None
    audience: Annotated[
        Text | None, doc("Whom the token is for (`aud`). Unset: `tokenUrl`. `JWTBearer` only.")
    ] = None
    claims: Annotated[
        dict[str, Anything] | None,
        doc("More claims to put into the token. `JWTBearer` only."),
    ] = None


OAuth2GrantClient: TypeAlias = Annotated[
    GrantOAuth2 | None,
    doc("OAuth 2.0 client whose token is sent. Excludes `authorization` and `basicAuth`."),
]
