"""Replays the suites of `alertmanager.yaml`: files, versions, receivers, and who is left out.

Where the peer stops at one AlertmanagerConfig, we leave out that one alone (defect 18).
"""

from collections.abc import Iterator
from typing import Any, Final

from stoker.api.alertmanager import Alertmanager
from stoker.api.amconfig.v1alpha1 import AlertmanagerConfig, HttpConfig
from stoker.api.decode import convert
from stoker.errors import FieldError, ResourceError, WorkloadError
from stoker.generate.alertmanager.config import (
    base_of,
    config_source,
    joined_piece,
    piece_of,
    terms_of,
)
from stoker.generate.alertmanager.draft import AlertDraft
from stoker.generate.alertmanager.frame import whole_text
from stoker.generate.alertmanager.kept import KeptAlerting, verdict_on
from stoker.generate.alertmanager.load import loaded
from stoker.generate.alertmanager.receivers.http import HTTP, http_config
from stoker.generate.alertmanager.sanitize import sanitized
from stoker.generate.alertmanager.sections import CONFIGURATION, ROUTE
from stoker.generate.alertmanager.table import read_section
from stoker.generate.alertmanager.yamltext import words_of
from stoker.generate.alertmanager.zero import without_zero_durations
from stoker.generate.block import text_of
from stoker.generate.grammar import Section
from stoker.ref import Ref, ref_of
from stoker.settings import DEFAULT_ALERTMANAGER_VERSION
from stoker.validate.syntax import web_url_problem
from stoker.validate.verdicts import Verdict
from stoker.version import parse_version
from tests.conformance.cases import Case
from tests.conformance.compare import differences, without_nulls
from tests.conformance.configuration import contents_of
from tests.conformance.replay import (
    Context,
    Outcome,
    error_outcome,
    outcome_of,
    replays,
    text_outcome,
)
from tests.conformance.selection import encoded

_SECTIONS: Final[dict[str, Section]] = {
    "config": CONFIGURATION,
    "http_config": HTTP,
    "route": ROUTE,
}


@replays("alertmanager-load")
def own_configuration(case: Case, context: Context) -> Outcome:
    """Read a user's own file and write it again."""
    try:
        made = text_of(loaded(case.given["input"]))
    except FieldError as error:
        return error_outcome(case.expect, str(error))
    if "config" not in case.expect:
        return error_outcome(case.expect, None)
    return text_outcome(case.expect["config"], made)


@replays("alertmanager-sanitize")
def configuration_for_a_version(case: Case, context: Context) -> Outcome:
    """Leave out what a version does not know."""
    section = _SECTIONS[case.given["kind"]]
    try:
        tree = read_section(words_of(case.given["input"]), section, "")
        made = sanitized(tree, section, parse_version(case.given["version"]), [])
    except FieldError as error:
        return error_outcome(case.expect, str(error))
    if "output" not in case.expect:
        return error_outcome(case.expect, None)
    return text_outcome(case.expect["output"], text_of(made))


# --- Whole configurations -------------------------------------------------------------------------


@replays("alertmanager-config")
def whole_configuration(case: Case, context: Context) -> Outcome:
    """Add AlertmanagerConfigs to a base, or start from a global one.

    Whether an AlertmanagerConfig is selected at all is another suite.
    """
    try:
        text = configuration_text(case.given)
    except (WorkloadError, ResourceError) as error:
        return error_outcome(case.expect, str(error))
    if "config" not in case.expect:
        return error_outcome(case.expect, None)
    return text_outcome(case.expect["config"], text)


def configuration_text(given: dict[str, Any]) -> str:
    """What stoker makes of the input of a case."""
    added = given["mode"] == "add-alertmanagerconfigs"
    return _with_configs(given) if added else _from_global(given)


def _with_configs(given: dict[str, Any]) -> str:
    alertmanager, contents = _asking(given), contents_of(given)
    source = config_source(alertmanager)
    own = {source.key: given["baseConfig"]}
    contents.objects[source.ref] = own
    base = base_of(alertmanager, None, contents)
    configs = dict(map(_keyed, (given["alertmanagerConfigs"] or {}).values()))
    terms = terms_of(alertmanager)
    pieces = [piece_of(configs[key], terms, contents) for key in sorted(configs)]
    return whole_text(base.tree, [joined_piece(piece, base).tree for piece in pieces])


def _from_global(given: dict[str, Any]) -> str:
    root = convert(AlertmanagerConfig, without_nulls(given["alertmanagerConfig"]))
    start = {"name": root.metadata.name, "global": given["globalConfig"]}
    alertmanager = _asking(given, alertmanagerConfiguration=without_nulls(start))
    return KeptAlerting(alertmanager, contents_of(given), root=root).text()


def _asking(given: dict[str, Any], **more: Any) -> Alertmanager:
    declared = without_nulls(given["alertmanager"])
    spec = {**declared["spec"], "version": given["version"], "alertmanagerConfigSelector": {}}
    return convert(Alertmanager, {**declared, "spec": spec | more})


def _keyed(value: dict[str, Any]) -> tuple[Ref, AlertmanagerConfig]:
    config = convert(AlertmanagerConfig, without_nulls(value))
    return ref_of(config), config


@replays("alertmanager-provision")
def choice_of_a_base(case: Case, context: Context) -> Outcome:
    """Choose between a user's own file, handed on or read, and the one that says nothing.

    The Secret that it becomes is made elsewhere.
    """
    contents = contents_of(case.given)
    alertmanager = convert(Alertmanager, without_nulls(case.given["alertmanager"]))
    try:
        text = KeptAlerting(alertmanager, contents).text()
    except WorkloadError as error:
        return error_outcome(case.expect, str(error))
    if "config" not in case.expect:
        return error_outcome(case.expect, None)
    return text_outcome(case.expect["config"], text)


@replays("alertmanager-config-selection")
def verdict_on_a_config(case: Case, context: Context) -> Outcome:
    """Judge an AlertmanagerConfig with the values that it refers to."""
    spec = {"version": case.given["version"], "alertmanagerConfigSelector": {}}
    contents = contents_of(case.given)
    _, config = _keyed(case.given["alertmanagerConfig"])
    metadata = {"name": "test", "namespace": "test"}
    terms = terms_of(convert(Alertmanager, {"metadata": metadata, "spec": spec}))
    verdict, _ = verdict_on(config, terms, contents)
    return outcome_of(_other_verdict(case.expect, verdict))


def _other_verdict(expect: dict[str, Any], verdict: Verdict) -> Iterator[str]:
    if verdict.accepted != expect["accepted"]:
        yield f"expected {expect.get('error') or 'acceptance'}, got {verdict.message or 'it'}"
    if not (verdict.accepted and expect["accepted"]):
        return
    read = sorted({f"{one.kind}/{one.namespace}/{one.name}" for one in verdict.reads})
    yield from differences(expect["references"] or [], read, "references")
    yield from differences(expect["tlsAssets"] or {}, encoded(verdict.files.items()), "files")


# --- Parts ----------------------------------------------------------------------------------------


@replays("misc-alertmanager-httpconfig")
def http_client(case: Case, context: Context) -> Outcome:
    """Write an HTTP client. The peer leaves out what is too new only later, so here nothing is."""
    client = convert(HttpConfig, without_nulls(case.given["httpConfig"]))
    newest = parse_version(DEFAULT_ALERTMANAGER_VERSION)
    draft = AlertDraft(newest, contents_of(case.given), case.given["namespace"])
    return text_outcome(case.expect["yaml"], text_of(http_config(client, draft, "")))


@replays("misc-alertmanager-validate-url")
def url(case: Case, context: Context) -> Outcome:
    """Tell whether a text is a URL."""
    return error_outcome(case.expect, web_url_problem(case.given["url"]) or None)


@replays("misc-alertmanager-zero-durations")
def zero_durations(case: Case, context: Context) -> Outcome:
    """Leave out durations of zero."""
    given = convert(Alertmanager, without_nulls(case.given["workload"]))
    expected = convert(Alertmanager, without_nulls(case.expect["workload"]))
    spec, ignored = without_zero_durations(given.spec)
    named = [each.path.removeprefix("spec.") for each in ignored]
    wanted = [text.split(" ")[0] for text in case.expect["ignoredFields"] or ()]
    found = [*differences(wanted, named, "ignored")]
    return Outcome("\n".join(found) if spec == expected.spec else "another spec")
