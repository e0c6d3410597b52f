"""The requests of a monitor's scrapes, as members of a ScrapeConfig.

Most members have the same name on both sides; `RENAMED` has the others. What a ScrapeConfig has no
member for is reported.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from msgspec import structs

from stoker.api.common import OAuth2, SafeAuthorization, SafeTlsConfig, TlsConfig
from stoker.api.core import SecretKeySelector
from stoker.api.scrape import ScrapeSettings
from stoker.api.scrapeconfig.client import GrantOAuth2
from stoker.api.scrapeconfig.v1alpha1 import ScrapeConfigSpec
from stoker.consolidate.terms import Inexpressible
from stoker.errors import below
from stoker.generate.limits import own_authorization, says_nothing
from stoker.select.assets import source_of

RENAMED: Final = {"interval": "scrape_interval", "path": "metrics_path"}
# What is said in other words, or is found in the job that the monitor has.
_ELSEWHERE: Final = {
    "authorization",
    "bearer_token_file",
    "bearer_token_secret",
    "oauth2",
    "relabelings",
    "tls_config",
}
_FILES: Final = {"ca_file": "caFile", "cert_file": "certFile", "key_file": "keyFile"}
_NO_FILES: Final = "a ScrapeConfig names no files of the container; keep the value in a Secret"


def settings_of(settings: ScrapeSettings) -> dict[str, Any]:
    """Class, limits, protocols and histograms."""
    return _same(settings, (*ScrapeSettings.__struct_fields__, "body_size_limit"))


def request_of(source: Any) -> dict[str, Any]:
    """Everything else that an endpoint (or Probe, or prober) says of requests and samples."""
    return _same(source, type(source).__struct_fields__)


def _same(source: Any, names: tuple[str, ...]) -> dict[str, Any]:
    """What is there under these names, and has a member of the ScrapeConfig to go to."""
    found = {
        RENAMED.get(name, name): getattr(source, name, None)
        for name in names
        if name not in _ELSEWHERE
    }
    known = ScrapeConfigSpec.__struct_fields__
    # An empty list says nothing, and a ScrapeConfig cannot have one.
    return {name: value for name, value in found.items() if name in known and value not in ("", ())}


def credentials_of(source: Any) -> dict[str, Any]:
    """TLS and authentication of an endpoint or Probe."""
    client = source.oauth2
    return {
        "tls_config": source.tls_config and _without_files(source.tls_config),
        "oauth2": client and GrantOAuth2(**_members(client)),
        "authorization": source.authorization or _bearer(source.bearer_token_secret),
    }


def _without_files(tls: SafeTlsConfig) -> SafeTlsConfig:
    made = SafeTlsConfig(**{name: getattr(tls, name) for name in SafeTlsConfig.__struct_fields__})
    if isinstance(tls, TlsConfig) and says_nothing(made):
        # Said by a ServiceMonitor it takes the files of the class; nothing at all would take more.
        return structs.replace(made, insecure_skip_verify=False)
    return made


def _members(client: OAuth2) -> Mapping[str, Any]:
    return structs.asdict(client)


def _bearer(reference: SecretKeySelector | None) -> SafeAuthorization | None:
    """A token; Prometheus takes `bearer_token` for this, too."""
    return SafeAuthorization(credentials=reference) if _names_something(reference) else None


def _names_something(reference: SecretKeySelector | None) -> bool:
    return source_of(reference, "") is not None


def request_problems(
    source: Any, path: str, *, class_authenticates: bool
) -> Iterator[Inexpressible]:
    """What of an endpoint's (or Probe's) requests no ScrapeConfig can say."""
    if getattr(source, "bearer_token_file", None):
        yield Inexpressible(below(path, "bearerTokenFile"), _NO_FILES)
    for name, json_name in _FILES.items():
        if getattr(source.tls_config, name, None):
            yield Inexpressible(below(below(path, "tlsConfig"), json_name), _NO_FILES)
    token = source.bearer_token_secret
    if token is None:
        return
    here = below(path, "bearerTokenSecret")
    if not _names_something(token):
        if class_authenticates and not own_authorization(source):
            yield Inexpressible(here, "names no Secret, which keeps the scrape class' token away")
    elif source.authorization or source.basic_auth or source.oauth2:
        yield Inexpressible(here, "there is another authentication beside it")
