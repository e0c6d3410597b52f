"""How Prometheus reaches an HTTP server: TLS, credentials, proxies, and the order of members."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stoker.api.common import (
    Authorization,
    BasicAuth,
    OAuth2,
    Proxy,
    SafeAuthorization,
    SafeTlsConfig,
    Sigv4,
    TlsConfig,
)
from stoker.api.decode import convert
from stoker.api.prometheus import PrometheusSpec
from stoker.generate.draft import ScraperDraft
from stoker.generate.http import authorization, basic_auth, oauth2, put_proxy, sigv4, tls_config
from stoker.generate.order import in_order
from stoker.ref import Ref
from stoker.select.assets import AssetsAtHand, Source
from stoker.select.workload import Scraper

ASSETS = AssetsAtHand(
    {
        Ref("Secret", "shop", "login"): {
            "user": "anna",
            "word": "h:unter2",
            "token": "t0k",
            "nothing": "",
        },
        Ref("ConfigMap", "shop", "client"): {"id": "shop-client"},
    }
)


def a_draft(version: str = "v3.14.0") -> ScraperDraft:
    """A draft for a resource in the namespace `shop`."""
    spec = PrometheusSpec(version=version)
    return ScraperDraft(Scraper(namespace="monitoring", name="main", spec=spec), ASSETS, "shop")


def secret(key: str, name: str = "login") -> dict[str, str]:
    """A reference to a key of a Secret."""
    return {"name": name, "key": key}


@pytest.mark.parametrize(
    "write",
    [tls_config, basic_auth, authorization, oauth2, sigv4],
    ids=lambda write: write.__name__,
)
def test_what_is_not_set_is_not_written(write: Any) -> None:
    """Each function can be given a field that is unset."""
    assert write(None, a_draft(), "spec") is None


def test_certificates_from_secrets_and_config_maps_become_files() -> None:
    """The file's name tells where the value comes from; its contents stay out of the text."""
    tls = convert(
        SafeTlsConfig,
        {
            "ca": {"configMap": {"name": "authority", "key": "ca.crt"}},
            "cert": {"secret": secret("crt", "client")},
            "keySecret": secret("key", "client"),
            "serverName": "shop.example",
            "insecureSkipVerify": False,
            "minVersion": "TLS12",
            "maxVersion": "TLS13",
        },
    )
    written = tls_config(tls, a_draft(), "spec.tlsConfig")
    assert list((written or {}).items()) == [
        ("insecure_skip_verify", False),
        ("ca_file", "/etc/prometheus/certs/1_shop_authority_ca.crt"),
        ("cert_file", "/etc/prometheus/certs/0_shop_client_crt"),
        ("key_file", "/etc/prometheus/certs/0_shop_client_key"),
        ("server_name", "shop.example"),
        ("min_version", "TLS12"),
        ("max_version", "TLS13"),
    ]


def test_files_named_by_the_user_come_after_those_from_secrets() -> None:
    """The peer writes them last."""
    tls = convert(
        TlsConfig, {"cert": {"secret": secret("crt")}, "caFile": "/ca", "serverName": "shop"}
    )
    assert list(tls_config(tls, a_draft(), "") or {}) == ["cert_file", "server_name", "ca_file"]


def test_tls_settings_that_say_nothing_are_written_empty() -> None:
    """An empty reference is no reference."""
    assert tls_config(convert(SafeTlsConfig, {"ca": {}, "cert": {}}), a_draft(), "") == {}


@pytest.mark.parametrize(
    ("version", "members", "ignored"),
    [
        ("2.34.0", [], ["tls.minVersion", "tls.maxVersion"]),
        ("2.35.0", ["min_version"], ["tls.maxVersion"]),
        ("2.41.0", ["min_version", "max_version"], []),
    ],
)
def test_tls_versions_are_left_out_and_reported_where_unknown(
    version: str, members: list[str], ignored: list[str]
) -> None:
    """Lowest and highest TLS version came with different versions of Prometheus."""
    draft = a_draft(version)
    tls = SafeTlsConfig(min_version="TLS12", max_version="TLS13")
    assert list(tls_config(tls, draft, "tls") or {}) == members
    assert [each.path for each in draft.ignored] == ignored


def test_user_name_and_password_are_written_and_their_secrets_remembered() -> None:
    """Whoever keeps the text must know which Secrets it depends on."""
    draft = a_draft()
    auth = convert(BasicAuth, {"username": secret("user"), "password": secret("word")})
    assert basic_auth(auth, draft, "") == {"username": "anna", "password": "h:unter2"}
    assert set(draft.reads) == {
        Source("Secret", "shop", "login", "user"),
        Source("Secret", "shop", "login", "word"),
    }


def test_a_reference_that_leads_nowhere_is_an_empty_value() -> None:
    """The generator does not fail: such resources are refused before, with their reason."""
    auth = convert(BasicAuth, {"username": secret("nobody"), "password": secret("x", "gone")})
    assert basic_auth(auth, a_draft(), "") == {"username": "", "password": ""}


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ({"credentials": secret("token")}, {"type": "Bearer", "credentials": "t0k"}),
        ({"type": " Token ", "credentialsFile": "/f"}, {"type": "Token", "credentials_file": "/f"}),
        ({}, {"type": "Bearer"}),
    ],
)
def test_an_authorization_has_a_type_always(given: Any, written: Any) -> None:
    """`Bearer` where the user names none."""
    assert authorization(convert(Authorization, given), a_draft(), "") == written


def test_an_authorization_without_files_has_only_credentials() -> None:
    """Kinds that tenants write cannot name files."""
    auth = convert(SafeAuthorization, {"credentials": secret("token")})
    assert authorization(auth, a_draft(), "") == {"type": "Bearer", "credentials": "t0k"}


OAUTH2 = {
    "clientId": {"configMap": {"name": "client", "key": "id"}},
    "clientSecret": secret("word"),
    "tokenUrl": "https://login.example/token",
    "scopes": ["read"],
    "endpointParams": {"part10": "c", "part2": "b", "Part": "a"},
    "proxyUrl": "http://proxy.example",
    "noProxy": "localhost",
    "tlsConfig": {"insecureSkipVerify": True},
}


def test_oauth2_reaches_its_token_server_with_settings_of_its_own() -> None:
    """Client id from a ConfigMap, parameters in the order of the peer, then proxy and TLS."""
    written = oauth2(convert(OAuth2, OAUTH2), a_draft(), "spec.oauth2") or {}
    assert list(written) == [
        "client_id",
        "client_secret",
        "token_url",
        "scopes",
        "endpoint_params",
        "proxy_url",
        "no_proxy",
        "tls_config",
    ]
    assert written["client_id"] == "shop-client"
    assert list(written["endpoint_params"]) == ["Part", "part2", "part10"]
    assert written["tls_config"] == {"insecure_skip_verify": True}


def test_oauth2_before_2_43_has_neither_proxy_nor_tls() -> None:
    """They are reported instead."""
    draft = a_draft("2.42.0")
    written = oauth2(convert(OAuth2, OAUTH2), draft, "oauth2") or {}
    assert not {"proxy_url", "no_proxy", "tls_config"} & written.keys()
    assert [each.path for each in draft.ignored] == [
        "oauth2.proxyUrl",
        "oauth2.noProxy",
        "oauth2.tlsConfig",
    ]


def test_proxy_settings_keep_an_explicit_false() -> None:
    """Headers for the proxy come from Secrets, several for a name."""
    proxy = convert(
        Proxy,
        {
            "proxyUrl": "http://proxy.example",
            "proxyFromEnvironment": False,
            "proxyConnectHeader": {"b": [secret("user"), secret("gone")], "a": [secret("token")]},
        },
    )
    block: dict[str, Any] = {}
    put_proxy(block, proxy, a_draft(), "")
    assert block == {
        "proxy_url": "http://proxy.example",
        "proxy_from_environment": False,
        "proxy_connect_header": {"a": ["t0k"], "b": ["anna", ""]},
    }
    assert list(block["proxy_connect_header"]) == ["a", "b"]


def test_only_the_address_of_a_proxy_is_known_before_2_43() -> None:
    """The rest is reported."""
    draft, block = a_draft("2.42.0"), dict[str, Any]()
    put_proxy(block, Proxy(proxy_url="http://p", no_proxy="a"), draft, "spec")
    assert block == {"proxy_url": "http://p"}
    assert [each.path for each in draft.ignored] == ["spec.noProxy"]


def test_sigv4_without_settings_uses_the_surroundings() -> None:
    """An empty mapping means the default credentials of AWS."""
    assert sigv4(Sigv4(), a_draft(), "") == {}


@pytest.mark.parametrize("empty", ["accessKey", "secretKey"])
def test_sigv4_without_one_of_its_keys_has_none(empty: str) -> None:
    """A Secret may hold an empty value, for which Prometheus would refuse the whole file."""
    keys = {"accessKey": secret("user"), "secretKey": secret("word"), empty: secret("nothing")}
    draft = a_draft()
    assert sigv4(convert(Sigv4, {"region": "eu", **keys}), draft, "sigv4") == {"region": "eu"}
    assert [each.path for each in draft.ignored] == ["sigv4.accessKey", "sigv4.secretKey"]


def test_sigv4_takes_keys_and_role() -> None:
    """Newer members only where Prometheus knows them."""
    value = convert(
        Sigv4,
        {
            "region": "eu",
            "accessKey": secret("user"),
            "secretKey": secret("word"),
            "roleArn": "arn:x",
            "externalId": "e",
            "useFIPSSTSEndpoint": True,
        },
    )
    draft = a_draft("3.10.0")
    assert sigv4(value, draft, "sigv4") == {
        "region": "eu",
        "access_key": "anna",
        "secret_key": "h:unter2",
        "role_arn": "arn:x",
        "use_fips_sts_endpoint": True,
    }
    assert [each.path for each in draft.ignored] == ["sigv4.externalId"]


@pytest.mark.parametrize("half", ["accessKey", "secretKey"])
def test_half_a_pair_of_aws_keys_is_left_out(half: str) -> None:
    """Prometheus would refuse the whole configuration for it."""
    draft = a_draft()
    assert sigv4(convert(Sigv4, {half: secret("user")}), draft, "sigv4") == {}
    assert [each.path for each in draft.ignored] == [f"sigv4.{half}"]


@pytest.mark.parametrize(
    "names",
    [
        ["a", "b"],
        ["a2", "a10"],
        ["a_b", "aB", "ab"],
        ["a", "a0"],
        ["1_", "12", "1a"],
        ["10", "11", "100"],
        ["x.1", "x1", "xa"],
        ["a01", "a1"][::-1],
    ],
    ids=" ".join,
)
def test_names_are_ordered_with_numbers_in_them(names: list[str]) -> None:
    """Whatever order a mapping arrives in."""
    for order in (names, names[::-1]):
        assert list(in_order(dict.fromkeys(order))) == names


@given(st.sets(st.text("ab_", min_size=1, max_size=4), min_size=2))
def test_names_of_small_letters_are_ordered_as_all_others(names: set[str]) -> None:
    """Letters come after `_`, and what is shorter comes first: also where no number is near."""
    ordered = list(in_order(dict.fromkeys(names)))
    assert [name for name in in_order(dict.fromkeys((*names, "A"))) if name != "A"] == ordered
