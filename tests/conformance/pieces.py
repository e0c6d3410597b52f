"""Replays small suites about pieces of a scrape job: discovery, honoured labels, scrape classes."""

import msgspec

from stoker.api.common import AttachMetadata, NamespaceSelector, TlsConfig
from stoker.api.core import ObjectMeta
from stoker.api.decode import convert
from stoker.api.monitors import ServiceEndpoint
from stoker.api.prometheus import PrometheusSpec
from stoker.api.prometheus_common import ScrapeClass
from stoker.generate.block import Block, text_of
from stoker.generate.draft import ScraperDraft
from stoker.generate.kubernetes import kubernetes_sd_config, namespaces_of
from stoker.generate.limits import merged_tls, put_honored, put_staleness, put_timestamps
from stoker.generate.relabel import namespace_steps, relabel_configs
from stoker.select.assets import AssetsAtHand
from stoker.select.workload import Scraper
from tests.conformance.cases import Case
from tests.conformance.compare import differences, without_nulls
from tests.conformance.configuration import contents_of, workload_of
from tests.conformance.replay import Context, Outcome, outcome_of, replays, text_outcome


@replays("misc-k8s-sd-config")
def discovery_in_kubernetes(case: Case, context: Context) -> Outcome:
    """One item of `kubernetes_sd_configs`."""
    given = without_nulls(case.given)
    workload = workload_of(given)
    spec = msgspec.to_builtins(workload.spec)
    if "apiserverConfig" in given:
        spec["apiserverConfig"] = given["apiserverConfig"]
    workload = msgspec.structs.replace(
        workload, namespace=given["storeNamespace"], spec=convert(PrometheusSpec, spec)
    )
    draft = ScraperDraft(workload, contents_of(given), given["namespace"])
    attach = given.get("attachMetadata")
    made = kubernetes_sd_config(
        given["role"],
        namespaces_of(convert(NamespaceSelector, given.get("namespaceSelector", {})), draft),
        draft,
        attach=convert(AttachMetadata, attach) if attach else None,
    )
    return text_outcome(case.expect["yaml"], text_of({"kubernetes_sd_configs": [made]}))


@replays("misc-scrape-honor")
def what_is_honoured(case: Case, context: Context) -> Outcome:
    """Labels and timestamps that a target exposes."""
    draft = ScraperDraft(workload_of(case.given), AssetsAtHand(), "")
    block: Block = {}
    value = case.given["value"]
    match case.given["function"]:
        case "AddHonorLabels":
            put_honored(block, value, draft)
        case "AddHonorTimestamps":
            put_timestamps(block, value, draft, "")
        case _:
            endpoint = ServiceEndpoint(track_timestamps_staleness=value)
            put_staleness(block, endpoint, draft, "")
    return text_outcome(case.expect["yaml"], text_of(block))


@replays("misc-merge-scrapeclass-tls")
def tls_of_a_scrape_class(case: Case, context: Context) -> Outcome:
    """TLS settings of a monitor, completed by those of its class."""
    given = without_nulls(case.given)
    tls = convert(TlsConfig, given["tlsConfig"]) if "tlsConfig" in given else None
    made = merged_tls(tls, convert(ScrapeClass, given.get("scrapeClass", {})))
    expected = without_nulls(case.expect["tlsConfig"]) if case.expect["tlsConfig"] else None
    return outcome_of(differences(expected, msgspec.to_builtins(made)))


@replays("misc-enforce-namespace-relabelings")
def enforced_namespace(case: Case, context: Context) -> Outcome:
    """A user's steps, and the one that enforces the namespace after them."""
    given = without_nulls(case.given)
    members = ("enforcedNamespaceLabel", "excludedFromEnforcement")
    spec = convert(PrometheusSpec, {name: given[name] for name in members if name in given})
    draft = ScraperDraft(
        Scraper(namespace="", name="", spec=spec), AssetsAtHand(), given["namespace"]
    )
    metadata = ObjectMeta(name=given["name"], namespace=given["namespace"])
    monitor = convert(ServiceEndpoint, {"relabelings": given["relabelConfigs"]})
    made = relabel_configs(monitor.relabelings, draft, "")
    made += namespace_steps(f"{given['kind'].lower()}s", metadata, draft)
    expected = convert(ServiceEndpoint, {"relabelings": case.expect["relabelConfigs"]})
    return outcome_of(differences(relabel_configs(expected.relabelings, draft, ""), made))
