"""Replays what the peer selects, accepts and rejects, and the small checks behind it.

The peer stops at the first mistake in a resource; we name all of them, and so may have read more by
then. What a rejected resource was judged by must therefore *contain* what the peer read, and what
an accepted one was judged by must equal it. A reference without a name leads nowhere: we report it
and read nothing.
"""

from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from stoker.api.amconfig.intervals import DayOfMonthRange
from stoker.api.amconfig.paging import OpsgenieResponder
from stoker.api.amconfig.receivers import Http
from stoker.api.common import (
    Authorization,
    BasicAuth,
    OAuth2,
    Proxy,
    RelabelConfig,
    SafeTlsConfig,
    SecretOrConfigMap,
    Sigv4,
    TlsConfig,
)
from stoker.api.convert import to_internal
from stoker.api.core import ConfigMapKeySelector, LabelSelector, SecretKeySelector
from stoker.api.decode import convert
from stoker.api.monitors import ProbeTargets
from stoker.api.prometheus import Prometheus
from stoker.api.prometheus_common import TracingConfig, Tsdb
from stoker.api.remote import AzureAd, RemoteWrite
from stoker.api.workload import WebTlsConfig
from stoker.select.assets import source_of
from stoker.select.choice import MONITOR_KINDS
from stoker.select.labels import problems, selector_of
from stoker.select.workload import Scraper
from stoker.validate import alerting, http
from stoker.validate import workload as own
from stoker.validate.findings import Finding
from stoker.validate.monitors import interval_and_timeout, probe_targets
from stoker.validate.reading import ScraperReading
from stoker.validate.relabel import relabelings
from stoker.validate.verdicts import Selection, Verdict, judge
from tests.conformance.cases import Case
from tests.conformance.compare import differences, without_nulls
from tests.conformance.configuration import contents_of
from tests.conformance.done_without import selection_changed
from tests.conformance.replay import PASSED, Context, Outcome, error_outcome, outcome_of, replays


def asking(workload: dict[str, Any] | None = None) -> Scraper:
    """The workload of a case."""
    decoded = convert(Prometheus, without_nulls(workload or {}))
    namespace, name = decoded.metadata.namespace or "", decoded.metadata.name or ""
    return Scraper(namespace=namespace, name=name, spec=decoded.spec)


def scope(given: dict[str, Any], namespace: str = "") -> ScraperReading:
    """What the checks of a case may use."""
    return ScraperReading(asking(given.get("workload")), contents_of(given), namespace)


def verdict_outcome(case: Case, findings: Iterable[Finding]) -> Outcome:
    """Compare *that* something is refused."""
    message = "; ".join(map(str, findings))
    return error_outcome(case.expect, message or None)


def encoded(files: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Files as they are recorded."""
    return {name: b64encode(text.encode()).decode() for name, text in files}


@replays(*(f"selection-{kind.name.lower()}" for kind in MONITOR_KINDS))
def selection(case: Case, context: Context) -> Outcome:
    """Judge each resource that the selectors matched."""
    kind = next(one for one in MONITOR_KINDS if case.suite.endswith(f"-{one.name.lower()}"))
    workload, assets = asking(case.given["workload"]), contents_of(case.given)
    model: Any = kind.model
    resources = [convert(model, to_internal(without_nulls(one))) for one in case.given["objects"]]
    selected = Selection(tuple(judge(workload, resource, assets) for resource in resources))
    return outcome_of(_disagreement(case.expect, selected))


def _disagreement(expect: dict[str, Any], selected: Selection) -> Iterator[str]:
    actual = {verdict.ref.path: verdict for verdict in selected.verdicts}
    for name, recorded in expect["resources"].items():
        yield from _other_verdict(name, recorded, actual[name])
    yield from differences(expect["tlsAssets"] or {}, encoded(selected.files.items()), "files")
    read = {"/".join(one) for one in selected.references}
    recorded = {one for one in expect["references"] or () if not one.endswith("/")}
    unexpected = set() if selected.rejected else read - recorded
    yield from (f"{one}: was not read" for one in sorted(recorded - read))
    yield from (f"{one}: was read" for one in sorted(unexpected))


def _other_verdict(name: str, recorded: dict[str, Any], verdict: Verdict) -> Iterator[str]:
    if verdict.accepted != recorded["accepted"]:
        yield f"{name}: expected {recorded['error'] or 'acceptance'}, got {verdict.message or 'it'}"
    elif verdict.reason != recorded["reason"]:
        yield f"{name}: expected reason {recorded['reason']}, got {verdict.reason}"


Structural = Callable[[Any, str], Iterable[Finding]]
_SETTINGS: Final[dict[str, tuple[Any, Structural]]] = {
    "Authorization": (Authorization, http.authorization_settings),
    "OAuth2": (OAuth2, http.oauth2_settings),
    "ProbeTargets": (ProbeTargets, probe_targets),
    "SafeTLSConfig": (SafeTlsConfig, http.tls_settings),
    "SecretOrConfigMap": (SecretOrConfigMap, http.secret_or_config_map_settings),
    "TLSConfig": (TlsConfig, http.tls_settings),
    "TSDBSpec": (Tsdb, own.tsdb),
    "TracingConfig": (
        TracingConfig,
        lambda config, path: own.share(config.sampling_fraction, path),
    ),
    "WebTLSConfig": (WebTlsConfig, own.web_tls),
    "DayOfMonthRange": (DayOfMonthRange, alerting.day_of_month_range),
    "HTTPConfig": (Http, alerting.http_client),
    "OpsGenieConfigResponder": (OpsgenieResponder, alerting.opsgenie_responder),
}


@replays("api-validate")
def settings(case: Case, context: Context) -> Outcome:
    """Check one declared type on its own."""
    model, check = _SETTINGS[case.given["type"]]
    given = case.given["object"]
    value = None if given is None else convert(model, without_nulls(given))
    return verdict_outcome(case, check(value, ""))


Referring = Callable[[Any, ScraperReading, str], Iterable[Finding]]
_READERS: Final[dict[str, tuple[Any, Referring]]] = {
    "AddAuthorizationCredentials": (Authorization, http.authorization),
    "AddSafeAuthorizationCredentials": (Authorization, http.authorization),
    "AddAzureOAuth": (
        AzureAd,
        lambda azure, scope, path: scope.unresolved(azure.oauth.client_secret, path),
    ),
    "AddBasicAuth": (BasicAuth, http.basic_auth),
    "AddOAuth2": (OAuth2, http.oauth2),
    "AddProxyConfig": (Proxy, http.proxy_references),
    "AddSafeTLSConfig": (SafeTlsConfig, http.tls_config),
    "AddSigV4": (Sigv4, http.sigv4),
    "AddTLSConfig": (TlsConfig, http.tls_config),
    "GetConfigMapKey": (
        ConfigMapKeySelector,
        lambda key, scope, path: scope.unresolved(key, path),
    ),
    "GetSecretKey": (SecretKeySelector, lambda key, scope, path: scope.unresolved(key, path)),
    "GetKey": (SecretOrConfigMap, lambda key, scope, path: scope.unresolved(key, path)),
}


@replays("assets-store")
def references(case: Case, context: Context) -> Outcome:
    """Read what one declared type refers to."""
    given, expect = case.given, case.expect
    model, check = _READERS[given["function"]]
    argument = given["argument"]
    value = None if argument is None else convert(model, without_nulls(argument))
    used = scope(given, given["namespace"])
    findings = list(check(value, used, "")) if value is not None else []
    if findings or "error" in expect:
        return verdict_outcome(case, findings)
    return outcome_of(_unlike_reads(expect, used, value))


def _unlike_reads(expect: dict[str, Any], used: ScraperReading, value: Any) -> Iterator[str]:
    read = sorted({f"{one.kind}/{one.namespace}/{one.name}" for one in used.reads})
    yield from differences(expect.get("references", read), read, "references")
    if "tlsAssets" in expect:
        yield from differences(expect["tlsAssets"], encoded(used.files.items()), "files")
    if "value" in expect:
        yield from differences(expect["value"], used.value(value), "value")


@replays("misc-validate-relabelconfig")
def relabeling(case: Case, context: Context) -> Outcome:
    """Check one relabeling step."""
    step = convert(RelabelConfig, without_nulls(case.given["relabelConfig"]))
    used = scope({"workload": {"spec": {"version": case.given["version"]}}})
    return verdict_outcome(case, relabelings((step,), used, ""))


@replays("misc-validate-remotewrite")
def remote_write(case: Case, context: Context) -> Outcome:
    """Check how remote write authenticates."""
    item = convert(RemoteWrite, without_nulls(case.given["remoteWrite"]))
    login = own.azure_ad(item.azure_ad, scope(case.given), "azureAd")
    return verdict_outcome(case, [*http.one_kind_of_credentials(item, ""), *login])


@replays("misc-scrape-timeout")
def timeout(case: Case, context: Context) -> Outcome:
    """Compare a timeout with its interval."""
    given = case.given
    used = scope(given)
    findings = interval_and_timeout(given["scrapeInterval"], given["scrapeTimeout"], used, "")
    return verdict_outcome(case, findings)


@replays("misc-load-secret-ref")
def optional_reference(case: Case, context: Context) -> Outcome:
    """Read a key that may be optional."""
    selector = case.given["selector"]
    reference = None if selector is None else convert(SecretKeySelector, without_nulls(selector))
    namespace = case.given["secrets"][0]["metadata"]["namespace"]
    used = scope(case.given, namespace)
    findings = list(used.unresolved_unless_optional(reference, ""))
    if findings or "error" in case.expect:
        return verdict_outcome(case, findings)
    actual = used.value(reference) if source_of(reference, namespace) else None
    return outcome_of(differences(case.expect.get("value"), actual))


@replays("misc-label-selection-changed")
def selection_change(case: Case, context: Context) -> Outcome:
    """Tell whether a change of labels matters to a selector."""
    given = case.given["selector"]
    declared = None if given is None else convert(LabelSelector, without_nulls(given))
    wrong = [problem.message for problem in problems(declared)]
    if wrong or "error" in case.expect:
        return error_outcome(case.expect, "; ".join(wrong) or None)
    changed = selection_changed(selector_of(declared), case.given["old"], case.given["current"])
    return PASSED if changed is case.expect["changed"] else Outcome(f"got {changed}")
