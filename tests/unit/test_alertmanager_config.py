"""`alertmanager.yaml`: what tenants' objects become, what is refused, and who is left alone."""

import gzip
from contextlib import suppress
from typing import Any, get_args

import msgspec
import pytest
import yaml

from stoker.api.alertmanager import Alertmanager
from stoker.api.amconfig import v1alpha1, v1beta1
from stoker.api.common import OAuth2, SafeTlsConfig, Sigv4
from stoker.api.decode import convert
from stoker.errors import FieldError, WorkloadError
from stoker.generate.alertmanager.config import base_of, joined_piece, piece_of, terms_of
from stoker.generate.alertmanager.frame import whole_text
from stoker.generate.alertmanager.kept import KIND, KeptAlerting
from stoker.generate.alertmanager.load import loaded
from stoker.generate.alertmanager.receivers import RECEIVER
from stoker.generate.alertmanager.receivers.http import HTTP, OAUTH2, SIGV4, TLS
from stoker.generate.alertmanager.sanitize import sanitized
from stoker.generate.alertmanager.sections import CONFIGURATION
from stoker.generate.alertmanager.zero import without_zero_durations
from stoker.generate.block import text_of
from stoker.generate.draft import Ignored
from stoker.generate.fragments import OWN
from stoker.generate.grammar import Section
from stoker.ref import Ref, by_path, ref_of
from stoker.select.assets import AssetsAtHand, Missing, Source
from stoker.validate.alertmanager.config import settings_of
from stoker.validate.alertmanager.matchers import matcher_text
from stoker.version import parse_version
from tests.builders import typed

SECRETS = AssetsAtHand(
    {
        Ref("Secret", "team", "s"): {
            "url": "https://hooks.example.com/x\n",
            "token": "abc",
            "bot": "https://slack.com/api/chat.postMessage",
            "big": "x" * 400_000,
        }
    }
)
BASE = "route: {receiver: nobody}\nreceivers: [{name: nobody}]\n"


def alertmanager(**spec: Any) -> Alertmanager:
    """Declare an Alertmanager that selects AlertmanagerConfigs."""
    return typed(Alertmanager, "main", {"alertmanagerConfigSelector": {}, **spec}, "monitoring")


def config(spec: dict[str, Any], name: str = "cfg", namespace: str = "team") -> Any:
    """Declare an AlertmanagerConfig."""
    return typed(v1alpha1.AlertmanagerConfig, name, spec, namespace)


def kept(
    *configs: Any, own: str = BASE, assets: AssetsAtHand = SECRETS, **spec: Any
) -> tuple[KeptAlerting, AssetsAtHand]:
    """Keep an Alertmanager with a file of its own and AlertmanagerConfigs."""
    objects = {**assets.objects, Ref("Secret", "monitoring", "alertmanager-main"): {
        "alertmanager.yaml": own
    }}  # fmt: skip
    contents = AssetsAtHand(objects)
    made = KeptAlerting(alertmanager(**spec), contents)
    made.put_all({ref_of(each): each for each in configs}, contents)
    return made, contents


def file_of(*configs: Any, **more: Any) -> Any:
    """Read the file that an Alertmanager with these gets; all must be accepted."""
    made, _ = kept(*configs, **more)
    assert all(verdict.accepted for verdict in made.verdicts.values()), made.verdicts
    return yaml.safe_load(made.text())


def complaint(spec: dict[str, Any], **more: Any) -> str:
    """Say why an AlertmanagerConfig is left out."""
    made, _ = kept(config(spec), **more)
    verdict = made.verdicts[Ref(KIND, "team", "cfg")]
    assert not verdict.accepted
    assert "team/cfg" not in made.text()
    return verdict.message


def route(**more: Any) -> dict[str, Any]:
    """Make a spec with one receiver and a route to it."""
    return {"receivers": [{"name": "r"}], "route": {"receiver": "r", **more}}


def receiver(kind: str, **integration: Any) -> dict[str, Any]:
    """Make a spec whose one receiver has one integration."""
    return {"receivers": [{"name": "r", kind: [integration]}], "route": {"receiver": "r"}}


# --- Isolation ------------------------------------------------------------------------------------

HOSTILE = (
    'x",namespace=~".*',
    'x"} or {a="b',
    "a\nnamespace=~.*",
    "\\",
    '\\"',
    "x\\",
    "${namespace}",
    "a,b",
    "=~",
    "null",
    "é",
)


@pytest.mark.parametrize("text", HOSTILE)
def test_no_value_of_a_matcher_ends_it(text: str) -> None:
    """A tenant's value is one value, and the namespace's own matcher stands beside it."""
    matchers = [{"name": "a", "value": text}]
    found = file_of(config(route(matchers=matchers)))["route"]["routes"][0]["matchers"]
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    assert found == [f'a="{escaped}"', 'namespace="team"']


@pytest.mark.parametrize("text", HOSTILE)
def test_no_name_of_a_matcher_is_read_as_another_matcher(text: str) -> None:
    """A name that is none for the classic reader is quoted, as only the newer one reads it."""
    matchers = [{"name": text, "value": "v"}]
    found = file_of(config(route(matchers=matchers)))["route"]["routes"][0]["matchers"]
    plain = text == "null"
    assert found[0].startswith("null=" if plain else '"')
    assert found[0].endswith('="v"')
    assert found[1:] == ['namespace="team"']


@pytest.mark.parametrize("spec", [{"version": "0.26.0"}, {"enableFeatures": ["classic-mode"]}])
def test_a_name_in_quotes_is_refused_where_only_the_classic_reader_is(spec: Any) -> None:
    """The classic reader would refuse the whole file."""
    assert "matchers[0].name" in complaint(route(matchers=[{"name": "a b", "value": "v"}]), **spec)


def test_names_of_receivers_and_intervals_belong_to_their_object() -> None:
    """Two tenants with the same names have nothing in common."""
    spec = route(muteTimeIntervals=["t"]) | {
        "muteTimeIntervals": [{"name": "t", "timeIntervals": [{"years": ["2030"]}]}]
    }
    found = file_of(config(spec), config(spec, namespace="other"))
    assert [each["name"] for each in found["receivers"]] == [
        "nobody",
        "other/cfg/r",
        "team/cfg/r",
    ]
    assert [each["mute_time_intervals"] for each in found["route"]["routes"]] == [
        ["other/cfg/t"],
        ["team/cfg/t"],
    ]
    assert [each["name"] for each in found["mute_time_intervals"]] == ["other/cfg/t", "team/cfg/t"]


def test_a_tenant_cannot_name_a_receiver_or_interval_of_others() -> None:
    """Only what the object itself declares can be named."""
    assert "no receiver `nobody`" in complaint({"route": {"receiver": "nobody"}})
    spec = route(routes=[{"receiver": "other/cfg/r"}])
    assert "spec.route.routes[0].receiver" in complaint(spec)
    assert "no time interval `t`" in complaint(route(activeTimeIntervals=["t"]))


def test_the_first_route_always_goes_on() -> None:
    """Nobody takes alerts away from those who come after, whatever they say."""
    found = file_of(config(route(**{"continue": False})))
    assert found["route"]["routes"][0]["continue"] is True


def test_both_sides_of_an_inhibition_rule_are_of_the_namespace() -> None:
    """A tenant neither mutes others nor is muted by alerts that others make up."""
    spec = {
        "inhibitRules": [
            {"sourceMatch": [{"name": "a", "value": ".*", "matchType": "=~"}], "equal": ["x"]}
        ]
    }
    (rule,) = file_of(config(spec))["inhibit_rules"]
    assert rule["source_matchers"] == ['a=~".*"', 'namespace="team"']
    assert rule["target_matchers"] == ['namespace="team"']
    own = {"name": "namespace", "value": "team", "matchType": "="}
    (rule,) = file_of(config({"inhibitRules": [{"sourceMatch": [own]}]}))["inhibit_rules"]
    assert rule["source_matchers"] == ['namespace="team"']


def test_in_an_old_mapping_the_namespace_wins() -> None:
    """Before 0.22 matchers are mappings: a tenant's own `namespace` must not replace the real."""
    spec = route(matchers=[{"name": "namespace", "value": "other"}])
    found = file_of(config(spec), version="0.21.0")["route"]["routes"][0]
    assert found["match"] == {"namespace": "team"}


@pytest.mark.parametrize(
    ("strategy", "namespace", "limited"),
    [
        ("OnNamespace", "team", True),
        ("OnNamespace", "monitoring", True),
        ("OnNamespaceExceptForAlertmanagerNamespace", "team", True),
        ("OnNamespaceExceptForAlertmanagerNamespace", "monitoring", False),
        ("None", "team", False),
        ("SomethingElse", "team", True),
    ],
)
def test_the_strategy_says_whose_alerts_are_seen(
    strategy: str, namespace: str, limited: bool
) -> None:
    """A strategy that is unknown limits, as the default does."""
    found = file_of(
        config(route(), namespace=namespace), alertmanagerConfigMatcherStrategy={"type": strategy}
    )
    assert ("matchers" in found["route"]["routes"][0]) is limited


def test_a_nested_route_with_a_typo_is_refused() -> None:
    """A matcher that nobody reads would match everything."""
    nested = {"receiver": "r", "matchers": [{"nmae": "a", "value": "b"}]}
    assert "spec.route.routes[0].matchers[0].nmae" in complaint(route(routes=[nested]))


def test_routes_cannot_be_endless() -> None:
    """A tree that is too deep is a finding, not a crash."""
    inner: dict[str, Any] = {"receiver": "r"}
    for _ in range(60):
        inner = {"routes": [inner]}
    assert "nested deeper" in complaint(route(routes=[inner]))
    for _ in range(240):
        inner = {"routes": [inner]}
    assert "--resource-limits=nesting=" in complaint(route(routes=[inner]))


def test_files_are_denied_to_tenants_if_the_owner_says_so() -> None:
    """The default is the peer's: they may be read."""
    spec = receiver("telegramConfigs", chatID=1, botTokenFile="/etc/passwd")
    assert file_of(config(spec))["receivers"][1]["telegram_configs"][0]["bot_token_file"]
    strict = KeptAlerting(alertmanager(), SECRETS, deny_files=True)
    strict.put(ref_of(config(spec)), config(spec), SECRETS)
    (verdict,) = strict.verdicts.values()
    assert verdict.findings[0].path == "spec.receivers[0].telegramConfigs[0].botTokenFile"


def test_values_cannot_make_the_file_huge() -> None:
    """A few bytes that refer to a large Secret many times are refused."""
    client = {"bearerTokenSecret": {"name": "s", "key": "big"}}
    slack = [{"apiURL": {"name": "s", "key": "url"}, "httpConfig": client}] * 12
    receivers = [{"name": "r", "slackConfigs": slack}]
    spec = {"receivers": receivers, "route": {"receiver": "r"}}
    assert "--resource-limits=configuration-bytes=" in complaint(spec)


# --- One bad object leaves the others working -----------------------------------------------------


def test_one_bad_object_is_left_out_and_reported() -> None:
    """The peer would stop for everybody."""
    bad = config(route(matchers=[{"name": "a", "matchType": "=~", "value": "("}]), name="bad")
    made, _ = kept(config(route()), bad)
    assert "team/cfg/r" in made.text()
    assert "team/bad" not in made.text()
    assert made.verdicts[ref_of(config(route()))].accepted
    assert made.verdicts[ref_of(bad)].findings[0].path == "spec.route.matchers[0].value"


def test_a_piece_goes_when_its_object_does() -> None:
    """What is left is the file without it, and the news say whom it was about."""
    first, second = config(route()), config(route(), name="second")
    made, _ = kept(first, second)
    made.take_news()
    made.remove(ref_of(second))
    assert made.take_news() == {ref_of(second)}
    assert made.text() == kept(first)[0].text()
    assert not made.verdicts.keys() - {ref_of(first)}


def test_a_secret_that_appears_makes_its_object_acceptable() -> None:
    """Only those who read it are judged again."""
    spec = receiver("slackConfigs", apiURL={"name": "late", "key": "url"})
    made, contents = kept(config(spec), config(route(), name="other"))
    assert not made.verdicts[ref_of(config(spec))].accepted
    assert Ref("Secret", "team", "late") in made.references
    made.take_news()
    contents.objects[Ref("Secret", "team", "late")] = {"url": "https://late.example.com"}
    made.touched([Ref("Secret", "team", "late")], contents)
    assert made.take_news() == {ref_of(config(spec))}
    assert "https://late.example.com" in made.text()


def test_the_kept_file_is_the_one_that_is_made_at_once() -> None:
    """However it came about, the text and what is compressed are the same."""
    configs = [config(route(), name=f"c{number}") for number in range(40)]
    made, contents = kept(*reversed(configs))
    made.put(ref_of(configs[3]), configs[3], contents)
    base = base_of(alertmanager(), None, contents)
    terms = terms_of(alertmanager())
    pieces = [
        piece_of(each, terms, contents)
        for each in sorted(configs, key=lambda each: by_path(ref_of(each)))
    ]
    assert made.text() == whole_text(base.tree, [joined_piece(one, base).tree for one in pieces])
    assert gzip.decompress(made.gzip()).decode() == made.text()


def test_routes_of_tenants_come_before_those_of_the_file() -> None:
    """The owner's own routes stay, after them, with all that the first route says."""
    own = (
        "route: {receiver: a, group_wait: 5s, routes: [{receiver: a, matchers: [x=y]}]}\n"
        "receivers: [{name: a}]\n"
    )
    found = file_of(config(route()), own=own)
    assert [each["receiver"] for each in found["route"]["routes"]] == ["team/cfg/r", "a"]
    assert found["route"]["group_wait"] == "5s"


# --- What Alertmanager would refuse ---------------------------------------------------------------

TOKEN = {"name": "s", "key": "token"}
URL = {"name": "s", "key": "url"}
TEMPLATED = {"name": "x", "type": "{{ .y }}"}


@pytest.mark.parametrize(
    ("kind", "integration", "place"),
    [
        ("slackConfigs", {}, "slackConfigs[0]"),
        ("slackConfigs", {"apiURL": TOKEN}, "apiURL"),
        ("slackConfigs", {"apiURL": URL, "updateMessage": True}, "updateMessage"),
        ("slackConfigs", {"updateMessage": True}, "slackConfigs[0]"),
        ("slackConfigs", {"apiURL": URL, "timeout": "soon"}, "timeout"),
        ("slackConfigs", {"apiURL": URL, "fields": [{"title": "x"}]}, "fields[0].value"),
        ("opsgenieConfigs", {}, "opsgenieConfigs[0]"),
        ("opsgenieConfigs", {"apiKey": TOKEN, "responders": [{"type": "team"}]}, "responders[0]"),
        (
            "opsgenieConfigs",
            {"apiKey": TOKEN, "responders": [{"id": "x", "type": "{{ toUpper .x }}"}]},
            "responders[0].type",
        ),
        ("pagerdutyConfigs", {}, "pagerdutyConfigs[0]"),
        ("pagerdutyConfigs", {"routingKey": TOKEN, "clientURL": "x"}, "clientURL"),
        ("pushoverConfigs", {"token": TOKEN}, "userKey"),
        ("victoropsConfigs", {"routingKey": "x"}, "victoropsConfigs[0]"),
        (
            "victoropsConfigs",
            {
                "routingKey": "x",
                "apiKey": TOKEN,
                "customFields": [{"key": "entity_id", "value": ""}],
            },
            "customFields[0].key",
        ),
        ("emailConfigs", {"to": "a"}, "smarthost"),
        ("emailConfigs", {"to": "a", "smarthost": "host"}, "smarthost"),
        (
            "emailConfigs",
            {
                "to": "a",
                "from": "b",
                "smarthost": "h:25",
                "headers": [{"key": "Subject", "value": "1"}, {"key": "subject", "value": "2"}],
            },
            "headers[1].key",
        ),
        ("webhookConfigs", {}, "webhookConfigs[0]"),
        ("webhookConfigs", {"url": "http://x/{{ toUpper .y }}"}, "url"),
        ("webhookConfigs", {"url": "http://x/{{ $labels.y }}"}, "url"),
        ("webhookConfigs", {"url": "http://x/'{{ toUpper `a` }}'"}, "url"),
        ("webhookConfigs", {"url": "http://x/*{{ humanize 1 }}*/"}, "url"),
        ("webhookConfigs", {"urlSecret": TOKEN}, "urlSecret"),
        ("snsConfigs", {}, "snsConfigs[0]"),
        ("snsConfigs", {"topicARN": "a", "targetARN": "b"}, "snsConfigs[0]"),
        ("telegramConfigs", {"botToken": TOKEN}, "chatID"),
        ("telegramConfigs", {"chatID": 1}, "telegramConfigs[0]"),
        ("webexConfigs", {"roomID": "x"}, "httpConfig.authorization"),
        ("wechatConfigs", {"apiSecret": TOKEN, "corpID": "x", "messageType": "y"}, "messageType"),
        ("discordConfigs", {}, "apiURL"),
        ("msteamsv2Configs", {}, "webhookURL"),
        ("rocketchatConfigs", {"token": TOKEN}, "tokenID"),
    ],
)
def test_what_alertmanager_would_refuse_is_refused_with_its_place(
    kind: str, integration: dict[str, Any], place: str
) -> None:
    """One such receiver would keep the whole file from being loaded."""
    message = complaint(receiver(kind, **integration))
    assert f"spec.receivers[0].{kind}" in message
    assert place in message


@pytest.mark.parametrize(
    ("kind", "integration", "since"),
    [
        ("webhookConfigs", {"url": "http://x/{{ .y }}"}, "0.31.0"),
        ("opsgenieConfigs", {"apiKey": TOKEN, "responders": [TEMPLATED]}, "0.25.0"),
    ],
)
def test_a_template_needs_an_alertmanager_that_reads_it_there(
    kind: str, integration: dict[str, Any], since: str
) -> None:
    """To one before, it is a URL like any other, or a type of responder that there is not."""
    before = f"0.{int(since.split('.')[1]) - 1}.0"
    said = complaint(receiver(kind, **integration), version=f"v{before}")
    assert f"Alertmanager {since} or newer" in said
    assert file_of(config(receiver(kind, **integration)), version=f"v{since}")


@pytest.mark.parametrize(
    ("period", "place"),
    [
        ({"daysOfMonth": [{"start": 29, "end": -1}]}, "daysOfMonth[0]"),
        ({"weekdays": ["saturday:monday"]}, "weekdays[0]"),
        ({"months": ["may:april"]}, "months[0]"),
        ({"years": ["2030:2020"]}, "years[0]"),
        ({"times": [{"startTime": "18:00", "endTime": "09:00"}]}, "times[0]"),
    ],
)
def test_a_time_that_alertmanager_cannot_read_is_refused(
    period: dict[str, Any], place: str
) -> None:
    """Days are compared in the shortest month, as Alertmanager does."""
    spec = {"muteTimeIntervals": [{"name": "t", "timeIntervals": [period]}]}
    assert f"spec.muteTimeIntervals[0].timeIntervals[0].{place}" in complaint(spec)


@pytest.mark.parametrize(
    ("more", "place"),
    [
        ({"groupBy": ["a", "a"]}, "groupBy[1]"),
        ({"groupBy": ["a", "..."]}, "groupBy"),
        ({"repeatInterval": "x"}, "repeatInterval"),
        ({"matchers": [{"name": "", "value": "x"}]}, "matchers[0].name"),
        ({"matchers": [{"name": "a", "matchType": "~"}]}, "matchers[0].matchType"),
    ],
)
def test_a_route_that_alertmanager_cannot_read_is_refused(more: Any, place: str) -> None:
    """The path leads to the field."""
    assert f"spec.route.{place}" in complaint(route(**more))


@pytest.mark.parametrize("zero", ["0", "0s", "0h0m"])
def test_an_interval_of_zero_is_left_out_of_a_route(zero: str) -> None:
    """Alertmanager would refuse the file; the rest of the object still counts. A wait may be 0."""
    spec = route(groupInterval=zero, groupWait="0s", routes=[{"repeatInterval": zero}])
    one = config(spec)
    made, _ = kept(one)
    (found,) = yaml.safe_load(made.text())["route"]["routes"]
    assert "group_interval" not in found
    assert (found["group_wait"], found["routes"]) == ("0s", [{}])
    assert made.ignored[ref_of(one)] == (
        Ignored("spec.route.routes[0].repeatInterval", "must not be zero"),
        Ignored("spec.route.groupInterval", "must not be zero"),
    )
    assert list(settings_of(one)) == []


def test_a_receiver_may_rely_on_the_global_section() -> None:
    """What an object lacks may be in the Alertmanager's own file."""
    own = BASE + "global: {slack_api_url: 'https://slack.com/api/chat.postMessage'}\n"
    found = file_of(config(receiver("slackConfigs", updateMessage=True)), own=own)
    # Alertmanager crashes unless the URL of a bot stands beside `update_message`.
    assert found["receivers"][1]["slack_configs"] == [
        {"api_url": "https://slack.com/api/chat.postMessage", "update_message": True}
    ]


def test_without_a_route_only_inhibition_rules_count() -> None:
    """Receivers that nobody is routed to stay out, and need not be complete."""
    spec = {
        "receivers": [{"name": "r", "emailConfigs": [{"to": "a@example.com"}]}],
        "muteTimeIntervals": [{"name": "t", "timeIntervals": [{"months": ["may"]}]}],
        "inhibitRules": [{"sourceMatch": [{"name": "a", "value": "b"}], "equal": ["x"]}],
    }
    found = file_of(config(spec))
    assert len(found["inhibit_rules"]) == 1
    assert found["receivers"] == [{"name": "nobody"}]
    assert "mute_time_intervals" not in found


def test_a_change_of_the_global_section_is_felt_by_all() -> None:
    """Who relied on it is left out when it goes, and comes back with it."""
    made, contents = kept(config(receiver("opsgenieConfigs", message="x")))
    (verdict,) = made.verdicts.values()
    assert not verdict.accepted
    secret = Ref("Secret", "monitoring", "alertmanager-main")
    contents.objects[secret] = {"alertmanager.yaml": BASE + "global: {opsgenie_api_key: x}\n"}
    made.touched([secret], contents)
    (verdict,) = made.verdicts.values()
    assert verdict.accepted
    assert "message: x" in made.text()


def test_a_name_that_the_own_file_has_is_left_to_it() -> None:
    """Two receivers of one name would keep the file from being loaded."""
    own = "route: {receiver: team/cfg/r}\nreceivers: [{name: team/cfg/r}]\n"
    made, _ = kept(config(route()), own=own)
    (verdict,) = made.verdicts.values()
    assert "own file has" in verdict.message


# --- Versions -------------------------------------------------------------------------------------


def test_what_a_version_does_not_know_is_left_out_and_reported() -> None:
    """The report has the path in the object."""
    spec = receiver("slackConfigs", apiURL=URL, timeout="5s", messageText="x")
    made, _ = kept(config(spec), version="0.30.0")
    assert made.ignored[ref_of(config(spec))] == (
        Ignored(
            "spec.receivers[0].slackConfigs[0].messageText", "needs Alertmanager 0.31.0 or newer"
        ),
    )
    assert "timeout: 5s" in made.text()


def test_an_external_id_is_told_where_alertmanager_would_not_send_it() -> None:
    """Alertmanager 0.33 reads it, and then takes on the role without it."""
    signed = {"region": "x", "roleArn": "r", "externalId": "e"}
    one = config(receiver("snsConfigs", topicARN="t", sigv4=signed))
    made, _ = kept(one, version="0.33.1")
    (ignored,) = made.ignored[ref_of(one)]
    assert ignored.path == "spec.receivers[0].snsConfigs[0].sigv4.externalId"
    assert "0.34.0" in ignored.reason
    assert "external_id" not in made.text()
    assert "external_id: e" in kept(one, version="0.34.0")[0].text()


@pytest.mark.parametrize(
    ("kind", "integration", "version"),
    [
        ("discordConfigs", {"apiURL": URL}, "0.24.0"),
        ("snsConfigs", {"topicARN": "x"}, "0.22.0"),
        ("webhookConfigs", {"url": "http://x", "payload": "y"}, "0.31.0"),
        ("webhookConfigs", {"url": "http://{{ .x }}"}, "0.30.0"),
    ],
)
def test_what_cannot_be_left_out_is_refused(kind: str, integration: Any, version: str) -> None:
    """Something else would be sent, or the file not loaded."""
    assert "needs Alertmanager" in complaint(
        receiver(kind, **integration), version=version
    ) or "need Alertmanager" in complaint(receiver(kind, **integration), version=version)


def test_a_users_own_file_is_cut_to_the_version() -> None:
    """Each field that is left out is reported as the Alertmanager's own."""
    own = BASE + "global: {telegram_bot_token: x}\n"
    made, _ = kept(own=own, version="0.30.0")
    assert "telegram_bot_token" not in made.text()
    (ignored,) = made.ignored[OWN]
    assert ignored.path == "alertmanager.yaml: global.telegram_bot_token"


def test_a_no_is_written_where_prometheus_operator_writes_it() -> None:
    """It changes nothing, and so moving from there changes nothing in the file."""
    token = {"name": "s", "key": "token"}
    spec = receiver("pushoverConfigs", userKey=token, token=token, html=False, monospace=False)
    found = file_of(config(spec))["receivers"][1]["pushover_configs"][0]
    assert (found["html"], found["monospace"]) == (False, False)
    spec = receiver("opsgenieConfigs", apiKey=token, updateAlerts=False)
    found = file_of(config(spec))["receivers"][1]["opsgenie_configs"][0]
    assert found["update_alerts"] is False


def test_days_are_hours_where_go_reads_a_duration() -> None:
    """`time.ParseDuration` knows no days, Kubernetes users do."""
    spec = receiver("webhookConfigs", url="http://x", timeout="1d")
    found = file_of(config(spec))["receivers"][1]["webhook_configs"][0]
    assert found["timeout"] == "86400s"


# --- A user's own file ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("route: {receiver: a, reciever: b}\nreceivers: [{name: a}]", "route.reciever"),
        ("route: {receiver: a}\nreceivers: [{name: a}, {name: a}]", "receivers[1].name"),
        ("route: {receiver: b}\nreceivers: [{name: a}]", "route.receiver"),
        (
            "route: {receiver: a}\n"
            "receivers: [{name: a, pushover_configs: [{user_key: u, token: t, retry: 60}]}]",
            "receivers[0].pushover_configs[0].retry",
        ),
        (BASE + "tracing: {endpoint: e, compression: zstd}", "tracing.compression"),
        (BASE + "tracing: {}", "tracing.endpoint"),
        (BASE + "global: {http_config: {oauth2: {}}}", "global.http_config.oauth2.client_id"),
        (
            BASE + "global: {http_config: {basic_auth: {}, bearer_token: x}}",
            "global.http_config.bearer_token",
        ),
        *(
            (
                f"route: {{receiver: a}}\nreceivers: [{{name: a, {kind}_configs: "
                "[{webhook_url: 'http://a', webhook_url_file: /a}]}]",
                f"receivers[0].{kind}_configs[0].webhook_url_file",
            )
            for kind in ("discord", "msteams", "msteamsv2")
        ),
        (BASE + "event_recorder: true", "event_recorder"),
        ("receivers: [{name: a}]", "route"),
        ("route: {receiver: a, matchers: [a=b]}\nreceivers: [{name: a}]", "route.matchers"),
        ("route: {receiver: a, continue: true}\nreceivers: [{name: a}]", "route.continue"),
        (
            "route: {receiver: a, routes: [{mute_time_intervals: [x]}]}\nreceivers: [{name: a}]",
            "route.routes[0].mute_time_intervals[0]",
        ),
        (
            "route: {receiver: a}\nreceivers: [{name: a, webhook_configs: [{}]}]",
            "receivers[0].webhook_configs[0]",
        ),
        (
            "route: {receiver: a}\nreceivers: [{name: a, slack_configs: [{update_message: true}]}]"
            "\nglobal: {slack_api_url: 'https://slack.com/api/chat.postMessage'}",
            "receivers[0].slack_configs[0].update_message",
        ),
        ("route: {receiver: a}\nroute: {receiver: b}", ""),
        ("invalid", ""),
    ],
)
def test_an_own_file_is_read_as_strictly_as_alertmanager_does(text: str, path: str) -> None:
    """The error has the path in the file."""
    with pytest.raises(FieldError) as raised:
        loaded(text)
    assert raised.value.path == path


def own_route(members: str) -> str:
    """A file whose first route has more members."""
    return f"route: {{receiver: nobody, {members}}}\nreceivers: [{{name: nobody}}]\n"


def own_client(members: str) -> str:
    """A file in which all receivers are reached by such an HTTP client."""
    return BASE + f"global: {{http_config: {{{members}}}}}\n"


def own_receiver(kind: str, members: str) -> str:
    """A file with one receiver."""
    return f"route: {{receiver: a}}\nreceivers: [{{name: a, {kind}_configs: [{{{members}}}]}}]\n"


_CLIENT = "global.http_config"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (BASE + "global: {smtp_from: [me]}", "global.smtp_from: must be a text"),
        (
            BASE + "global: {smtp_require_tls: 1}",
            "global.smtp_require_tls: must be `true` or `false`",
        ),
        (BASE + "global: {resolve_timeout: soon}", "global.resolve_timeout: `soon` is not a"),
        (BASE + "global: [a]", "global: must be a mapping"),
        (BASE + "templates: a.tmpl", "templates: must be a list"),
        (BASE + "tracing: {endpoint: e, sampling_fraction: all}", "_fraction: must be a number"),
        (BASE + "tracing: {endpoint: e, headers: [a]}", "tracing.headers: must be a mapping"),
        (
            BASE + "global: {slack_app_token: x, slack_api_url: 'http://s'}",
            "global: `slack_app_token` and `slack_api_url` exclude each other",
        ),
        (own_receiver("webhook", "url: 'http://x', max_alerts: some"), "must be a whole number"),
        (own_receiver("webhook", "url: 'http://x', max_alerts: -1"), "must not be negative"),
        (own_receiver("webhook", "url: 'http://x', timeout: 1d"), "`1d` is not a duration such as"),
        (own_route("group_by: ['...', a]"), "route.group_by: `...` must stand alone"),
        (own_route("group_by: [a, '']"), "route.group_by[1]: is no name of a label"),
        (own_route("group_by: [a, a]"), "route.group_by[1]: stands here twice"),
        (own_route("group_interval: 0s"), "route.group_interval: must not be zero"),
        (own_route("routes: [{matchers: ['a=b', 'a=~(']}]"), "route.routes[0].matchers[1]: "),
        (own_route("routes: [{match: {a-b: c}}]"), "match[a-b]: is no name of a label"),
        (own_route("routes: [{match_re: {a: (}}]"), "match_re[a]: is no regular expression"),
        (
            BASE + "time_intervals: [{name: n, time_intervals: [{weekdays: [someday]}]}]",
            "time_intervals[0].time_intervals[0].weekdays[0]: ",
        ),
        (
            BASE + "time_intervals: [{name: n, time_intervals: "
            "[{times: [{start_time: '10:00', end_time: '09:00'}]}]}]",
            "time_intervals[0].time_intervals[0].times[0]: ",
        ),
        (
            BASE + "time_intervals: [{name: n, time_intervals: [{times: always}]}]",
            "time_intervals[0].times: must be a list",
        ),
        (
            own_client("tls_config: {cert_file: /c}"),
            f"{_CLIENT}.tls_config: a client certificate and its key need each other",
        ),
        (
            own_client("authorization: {type: ' Basic'}"),
            f"{_CLIENT}.authorization.type: use `basic_auth`",
        ),
        (
            own_client("proxy_from_environment: true, no_proxy: a"),
            f"{_CLIENT}.no_proxy: excludes `proxy_from_environment`",
        ),
        (
            own_client("proxy_connect_header: {a: [b]}"),
            f"{_CLIENT}.proxy_connect_header: needs `proxy_url` or",
        ),
        (own_client("proxy_connect_header: [a]"), "proxy_connect_header: must be a mapping"),
        (own_client("proxy_url: 'http://a b'"), f"{_CLIENT}.proxy_url: "),
        (own_client("http_headers: {Host: {values: [a]}}"), "http_headers[Host]: must not be set"),
        (own_client("http_headers: [Host]"), "http_headers: must be a mapping"),
        ("route: {}\nreceivers: [{name: a}]", "route.receiver: the first route needs a receiver"),
        (own_receiver("email", "to: a, smarthost: nowhere"), "[0].smarthost: "),
        (
            own_receiver("email", "to: a, from: b, smarthost: 'h:1', headers: {a: x, A: y}"),
            "headers[a]: is given twice",
        ),
        (own_receiver("sns", ""), "needs one of `topic_arn`, `target_arn` and"),
        (own_receiver("slack", "api_url: 'http://s', actions: [{type: b, text: c}]"), "actions[0]"),
        (
            own_receiver(
                "victorops", "api_key: a, routing_key: b, custom_fields: {monitoring_tool: x}"
            ),
            "custom_fields[monitoring_tool]: is a field of VictorOps itself",
        ),
        (
            own_receiver("opsgenie", "api_key: a, responders: [{id: b, type: friend}]"),
            "responders[0].type: is not one of",
        ),
        (
            own_receiver("webex", "room_id: a, http_config: {}"),
            "http_config.authorization: must be set",
        ),
        (
            own_receiver("sns", "topic_arn: a, sigv4: {access_key: k}"),
            "sigv4: `access_key` and `secret_key` need each other",
        ),
    ],
)
def test_a_value_that_alertmanager_cannot_use_is_refused_with_its_place(
    text: str, said: str
) -> None:
    """And with what is wrong about it, before an Alertmanager stops because of it."""
    with pytest.raises(FieldError) as raised:
        loaded(text)
    assert said in str(raised.value)


def test_the_bot_of_webex_may_have_its_token_in_the_old_way() -> None:
    """Alertmanager reads `bearer_token` as an authorization."""
    for client in ("{bearer_token: t}", "{bearer_token_file: /f}"):
        webex = f"webex_configs: [{{room_id: x, http_config: {client}}}]"
        loaded(f"route: {{receiver: a}}\nreceivers: [{{name: a, {webex}}}]")
    token = {"bearerTokenSecret": {"name": "s", "key": "token"}}
    found = file_of(config(receiver("webexConfigs", roomID="x", httpConfig=token)))
    assert found["receivers"][1]["webex_configs"][0]["http_config"] == {"bearer_token": "abc"}


def test_a_text_that_looks_like_a_number_stays_what_was_written() -> None:
    """Alertmanager takes the characters of the file, zeros included."""
    tree = loaded("route: {receiver: 0123}\nreceivers: [{name: 0123}]")
    assert tree["route"]["receiver"] == "0123"


@pytest.mark.parametrize(
    "line", ["", "{}", " { } ", r"a=\"b\"", r"a=b\,c=~\"d", "a=b\\", "a=" + "\\x" * 5000]
)
def test_a_line_of_matchers_that_alertmanager_reads_is_read(line: str) -> None:
    """None at all, which every alert has, and quotes that only their escape makes a letter."""
    made, _ = kept(
        own=f"route: {{receiver: a, routes: [matchers: ['{line}']]}}\nreceivers: [name: a]"
    )
    assert yaml.safe_load(made.text())["route"]["routes"][0]["matchers"] == [line]


def test_merges_and_aliases_of_yaml_are_understood() -> None:
    """What is shared by `<<` is found in each."""
    tree = loaded(
        "x: &x {send_resolved: false}\n".replace("x: &x", "global: &x").replace(
            "{send_resolved: false}", "{smtp_from: a, smtp_smarthost: 'h:1'}"
        )
        + "route: {receiver: r}\nreceivers:\n- name: r\n  webhook_configs:\n"
        "  - &one {url: http://x, max_alerts: 1}\n  - {<<: *one, url: http://y}\n"
    )
    assert tree["receivers"][0]["webhook_configs"][1] == {"url": "http://y", "max_alerts": 1}


def test_what_a_merge_brings_is_as_it_was_written() -> None:
    """Mappings in it too, and the characters of what looks like a number."""
    tree = loaded(
        "route: {receiver: r}\nreceivers:\n- name: r\n  webhook_configs:\n"
        "  - &one {url: http://x, http_config: {basic_auth: {username: 0123}}}\n"
        "  - {<<: *one, url: http://y}\n"
    )
    first, second = tree["receivers"][0]["webhook_configs"]
    assert first["http_config"]["basic_auth"]["username"] == "0123"
    assert second == first | {"url": "http://y"}


def test_a_file_that_cannot_be_read_stops_the_alertmanager_alone() -> None:
    """Its own status tells why; the verdicts of tenants are not touched by it."""
    made, _ = kept(config(route()), own="route: {receiver: x}")
    with pytest.raises(WorkloadError, match=r"route\.receiver"):
        made.text()
    assert made.verdicts[ref_of(config(route()))].accepted


def test_without_a_selector_the_own_file_is_handed_on_as_it_is() -> None:
    """Comments and all: nobody asked us to change it."""
    own = "# mine\nroute: {receiver: x}\n"
    made, _ = kept(own=own, alertmanagerConfigSelector=None)
    assert made.text() == own
    assert gzip.decompress(made.gzip()).decode() == own


def test_without_a_file_alerts_go_nowhere() -> None:
    """A Secret that is missing is one that says nothing, and is waited for."""
    made = KeptAlerting(alertmanager(), AssetsAtHand())
    assert yaml.safe_load(made.text())["route"] == {"receiver": "null"}
    assert Ref("Secret", "monitoring", "alertmanager-main") in made.references


def test_a_secret_that_may_not_be_read_is_not_taken_for_missing() -> None:
    """Notifications must not stop because of an error of access."""

    class Forbidden:
        def value(self, source: Source) -> str | Missing:
            return Missing(source, object_exists=True, problem="forbidden")

    made = KeptAlerting(alertmanager(), Forbidden())
    with pytest.raises(WorkloadError, match="forbidden"):
        made.text()


# --- A global AlertmanagerConfig ------------------------------------------------------------------


def test_the_file_can_start_from_an_alertmanager_config() -> None:
    """It sees the alerts of all namespaces, and is not added again if it is selected too."""
    root = config(
        route(routes=[{"receiver": "r", "matchers": [{"name": "a", "value": "b"}]}]),
        name="root",
        namespace="monitoring",
    )
    start = {
        "name": "root",
        "global": {"resolveTimeout": "1m"},
        "templates": [
            {
                "configMap": {"name": "t", "key": "a.tmpl"},
                "secret": {"name": "t", "key": "b.tmpl"},
            },
        ],
    }
    asking = alertmanager(alertmanagerConfiguration=start)
    made = KeptAlerting(asking, SECRETS, root=root)
    made.put_all({ref_of(each): each for each in (root, config(route()))}, SECRETS)
    found = yaml.safe_load(made.text())
    assert found["global"] == {"resolve_timeout": "1m"}
    assert found["route"]["receiver"] == "monitoring/root/r"
    assert [each["receiver"] for each in found["route"]["routes"]] == [
        "team/cfg/r",
        "monitoring/root/r",
    ]
    assert found["templates"] == [f"/etc/alertmanager/templates/{each}.tmpl" for each in "ab"]
    assert made.template_files == ("a.tmpl", "b.tmpl")
    assert "matchers" not in found["route"]


def test_a_slack_bot_of_a_global_config_names_its_url_too() -> None:
    """Alertmanager crashes where the URL for messages that change is only in `global`."""
    beside = AssetsAtHand(
        {Ref("Secret", "monitoring", "s"): SECRETS.objects[Ref("Secret", "team", "s")]}
    )
    root = config(receiver("slackConfigs", updateMessage=True), "root", "monitoring")

    def made(key: str) -> KeptAlerting:
        settings = {"slackApiUrl": {"name": "s", "key": key}}
        start = {"name": "root", "global": settings}
        return KeptAlerting(alertmanager(alertmanagerConfiguration=start), beside, root=root)

    (found,) = yaml.safe_load(made("bot").text())["receivers"][0]["slack_configs"]
    assert found == {"api_url": "https://slack.com/api/chat.postMessage", "update_message": True}
    with pytest.raises(WorkloadError, match="update_message"):
        made("url").text()


def test_a_global_config_that_is_missing_is_told() -> None:
    """The configuration that runs stays until it is there."""
    made = KeptAlerting(alertmanager(alertmanagerConfiguration={"name": "root"}), SECRETS)
    with pytest.raises(WorkloadError, match="there is no AlertmanagerConfig monitoring/root"):
        made.text()
    made.set_root(config(route(), "root", "monitoring"), SECRETS)
    assert "monitoring/root/r" in made.text()


def test_a_secret_that_the_global_settings_lack_is_waited_for() -> None:
    """Once it is there, so is the configuration."""
    reference = {"name": "slack", "key": "url"}
    start = {"name": "root", "global": {"slackApiUrl": reference}}
    root, contents = config(route(), "root", "monitoring"), AssetsAtHand({})
    made = KeptAlerting(alertmanager(alertmanagerConfiguration=start), contents, root=root)
    with pytest.raises(WorkloadError) as raised:
        made.text()
    assert raised.value.path == "spec.alertmanagerConfiguration.global.slackApiUrl"
    secret = Ref("Secret", "monitoring", "slack")
    assert secret in made.references
    contents.objects[secret] = {"url": "https://slack.example.com"}
    made.touched([secret], contents)
    assert "slack_api_url: https://slack.example.com" in made.text()


# --- Tables ---------------------------------------------------------------------------------------

# Fields that are written by hand and not by a row.
BY_HAND = {"url_secret", "deprecated_proxy_url", "name", "type"}


def fields_of(model: Any) -> set[str]:
    """List the attributes of a declared type."""
    return {field.name for field in msgspec.structs.fields(model)}


def struct_in(declared: Any) -> Any:
    """Find the declared type inside of a list that may be absent."""
    if isinstance(declared, type) and issubclass(declared, msgspec.Struct):
        return declared
    return next((found for each in get_args(declared) if (found := struct_in(each))), None)


def models() -> list[Any]:
    """Pair each integration with its table."""
    tables = {row.field: row.kind.section for row in RECEIVER.members if row.field}
    found = []
    for version in (v1alpha1, v1beta1):
        for field in msgspec.structs.fields(version.Receiver):
            if field.name != "name":
                item = struct_in(field.type)
                found.append(pytest.param(item, tables[field.name], id=item.__qualname__))
    return found


@pytest.mark.parametrize(("model", "section"), models())
def test_every_field_of_an_integration_becomes_something(model: Any, section: Section) -> None:
    """A field that no row mentions would be lost without a word."""
    rows = {row.field for row in section.members if row.field}
    assert fields_of(model) - rows - BY_HAND == set()
    assert rows - fields_of(model) - {"update_alerts"} == set()


def test_every_field_of_a_client_becomes_something() -> None:
    """Also inside of it."""
    pairs: tuple[tuple[Any, Section], ...] = (
        (v1alpha1.HttpConfig, HTTP),
        (OAuth2, OAUTH2),
        (SafeTlsConfig, TLS),
        (Sigv4, SIGV4),
    )
    for model, section in pairs:
        rows = {row.field for row in section.members if row.field}
        assert fields_of(model) - rows - BY_HAND == set(), model


def test_both_versions_make_the_same_file() -> None:
    """A manifest of the newer version needs no conversion to be rendered."""
    newer = convert(
        v1beta1.AlertmanagerConfig,
        {
            "metadata": {"name": "cfg", "namespace": "team"},
            "spec": receiver("slackConfigs", apiURL=URL)
            | {"timeIntervals": [{"name": "t", "timeIntervals": [{"years": ["2030"]}]}]},
        },
    )
    older = config(
        receiver("slackConfigs", apiURL=URL)
        | {"muteTimeIntervals": [{"name": "t", "timeIntervals": [{"years": ["2030"]}]}]}
    )
    assert not list(settings_of(newer))
    assert kept(newer)[0].text() == kept(older)[0].text()


def test_matchers_read_as_they_were_meant() -> None:
    """A plain name stays plain, so that older Alertmanagers read it."""
    assert matcher_text("a", "=~", "x.*") == 'a=~"x.*"'
    assert matcher_text("a b", "=", '"') == '"a b"="\\""'


def test_a_value_goes_before_its_file() -> None:
    """Both would be refused; what gave way is reported."""
    tree = loaded("route: {receiver: a}\nreceivers: [{name: a}]\nglobal: {opsgenie_api_key: x}")
    tree["global"]["opsgenie_api_key_file"] = "/x"
    ignored: list[Ignored] = []
    made = sanitized(tree, CONFIGURATION, parse_version("0.34.0"), ignored)
    assert "api_key_file" not in text_of(made)
    assert ignored[0].path == "global.opsgenie_api_key_file"


def slack_of(settings: str, version: str = "0.34.0") -> Any:
    """What an Alertmanager gets of the settings of a Slack receiver in a user's own file."""
    slack = f"receivers: [{{name: a, slack_configs: [{{channel: c, {settings}}}]}}]"
    tree = loaded(f"route: {{receiver: a}}\n{slack}")
    made = sanitized(tree, CONFIGURATION, parse_version(version), [])
    return made["receivers"][0]["slack_configs"][0]


@pytest.mark.parametrize(
    ("kind", "written"),
    [
        ("slack", "{channel: a, text: b, actions: [], timeout: 5s, message_text: c}"),
        ("rocketchat", "{token_id: a, token: b, channel: c}"),
        ("wechat", "{api_secret: a, corp_id: b, agent_id: c, to_user: d, message: e}"),
        ("jira", "{http_config: {}, send_resolved: true, project: a, issue_type: b}"),
        ("mattermost", "{webhook_url: 'http://a', text: a, icon_emoji: b, color: c}"),
        ("mattermost", "{webhook_url: 'http://a', attachments: [{pretext: a, text: b, title: c}]}"),
    ],
)
def test_members_of_receivers_come_as_the_peer_writes_them(kind: str, written: str) -> None:
    """A file of the same order is not written anew at a takeover."""
    tree = loaded(
        f"route: {{receiver: a}}\nreceivers: [{{name: a, {kind}_configs: [{written}]}}]\n"
        "global: {slack_api_url: 'http://a', jira_api_url: 'http://a'}"
    )
    made = sanitized(tree, CONFIGURATION, parse_version("0.34.0"), [])
    (found,) = made["receivers"][0][f"{kind}_configs"]
    given = yaml.safe_load(written)
    assert [name for name in found if name in given] == [name for name in given if name in found]
    if "attachments" in given:
        assert list(found["attachments"][0]) == list(given["attachments"][0])
    assert len(found) > 1


def test_the_token_of_a_slack_app_goes_before_its_file() -> None:
    """As with all values and files; Alertmanager would refuse both."""
    assert slack_of("app_token: t, app_token_file: /t") == {"app_token": "t", "channel": "c"}


@pytest.mark.parametrize("url", ["api_url: 'https://a'", "api_url_file: /a"])
@pytest.mark.parametrize("token", ["app_token: t", "app_token_file: /t"])
def test_slack_is_reached_as_an_app_or_by_a_webhook(token: str, url: str) -> None:
    """Not both."""
    with pytest.raises(FieldError, match=r"api_url\w*: excludes `app_token"):
        slack_of(f"{token}, {url}")


def test_durations_of_zero_are_left_out_of_an_alertmanager() -> None:
    """Alertmanager would not start with them."""
    spec, ignored = without_zero_durations(alertmanager(retention="0s").spec)
    assert spec.retention is None
    assert [each.path for each in ignored] == ["spec.retention"]


def test_every_receiver_of_v1beta1_is_written() -> None:
    """It has not every field that v1alpha1 has, such as Opsgenie's `updateAlerts`."""
    for field in msgspec.structs.fields(v1beta1.Receiver):
        if field.encode_name.endswith("Configs"):
            spec = {
                "receivers": [{"name": "r", field.encode_name: [{}]}],
                "route": {"receiver": "r"},
            }
            metadata = {"name": "x", "namespace": "team"}
            given = convert(v1beta1.AlertmanagerConfig, {"metadata": metadata, "spec": spec})
            with suppress(FieldError):
                piece_of(given, terms_of(alertmanager()), SECRETS)
