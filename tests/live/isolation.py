r"""What a tenant may try: AlertmanagerConfigs of `mallory` that are after the alerts of `alice`.

Each attempt is an AlertmanagerConfig that is meant to receive, mute or inhibit alerts of others, or
to make Alertmanager refuse the file in which all of them stand. `refused` is the path at which
stoker must find fault with it; without one it must be taken, and do no harm.

    MATCHERS   names, values, types and regular expressions
    ROUTES     order, `continue`, nesting, grouping, durations
    INHIBITION sources, targets, labels to compare
    INTERVALS  names of others, ranges that no calendar has
    NAMES      of receivers and of the objects themselves
    RECEIVERS  templates, URLs, Secrets, files, every integration
"""

from collections.abc import Iterable, Mapping
from itertools import product
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from stoker.limits import DEFAULTS
from tests.hostile.tricky import TRICKY

Json = dict[str, Any]

SINK: Final = "http://SINK"
"""Stands for the address of the server that all receivers call."""


class Attempt(Struct, frozen=True):
    """An AlertmanagerConfig of somebody who means harm."""

    about: str
    spec: Json
    refused: str = ""
    namespace: str = "mallory"
    name: str = ""


def hook(path: str = "HERE", **more: Any) -> Json:
    """A receiver `mine`, whose calls can be told from all others: HERE is the attempt's own."""
    return {"name": "mine", "webhookConfigs": [{"url": f"{SINK}/{path}", **more}]}


def routed(route: Json | None = None, **more: Any) -> Json:
    """A spec with a receiver and a route that leads to it soon."""
    pace = {"groupWait": "500ms", "groupInterval": "3s", "groupBy": ["namespace"]}
    return {"receivers": [hook()], "route": {"receiver": "mine", **pace, **(route or {})}, **more}


def matching(name: str, kind: str, value: str) -> Json:
    """A spec with one matcher."""
    return routed({"matchers": [{"name": name, "matchType": kind, "value": value}]})


# --- Matchers -------------------------------------------------------------------------------------

TYPES: Final = ("=", "!=", "=~", "!~")
OVER: Final = (
    "alice", "mallory", "", ".*", ".+", "alice|mallory", "(?i)ALICE", "^alice$", "(?s).*", "|",
)  # fmt: skip
LARGE: Final = 200_000
EXPRESSIONS: Final = {
    "(?i:.*)": "",
    "^.*$": "",
    ".*|": "",
    r"\z": "",
    r"\Qa\E.*": "",
    "(?P<n>.*)": "",
    "(?P<n>a)(?P<n>b)|.*": "",
    r"[\]\"].*|.*": "",
    "(a|b)*" * 100: "",
    r"\Qa": "value",
    r".*\Q": "value",
    ".*)|(.*": "value",
    "(?P<é>.*)": "value",
    "(" * 500 + "a" + ")*" * 500: "value",
    "(" * 999 + ")" * 999: "value",
    "a{1001}": "value",
    "((a{100}){100}){100}": "value",
    "(?=x)": "value",
    r"(a)\1": "value",
    r"\C": "value",
    "(": "value",
    "[": "value",
    "*": "value",
    "\\": "value",
}
BAD_TYPES: Final = ('=~".*",namespace!=', "==", "~", " =", "=\n", "=~.*")


def _matchers() -> Iterable[Attempt]:
    for kind, value in product(TYPES, OVER):
        yield Attempt(f"namespace {kind} {value}", matching("namespace", kind, value))
    for text in TRICKY:
        yield Attempt(f"name {text[:30]!r}", matching(text, "!=", "y"))
        yield Attempt(f"name {text[:30]!r} with =~", matching(text, "=~", ".*"))
        yield Attempt(f"value {text[:30]!r}", matching("severity", "!=", text))
    for text, refused in EXPRESSIONS.items():
        path = f"spec.route.matchers[0].{refused}" if refused else ""
        yield Attempt(f"expression {text[:30]!r}", matching("namespace", "=~", text), path)
    for kind in BAD_TYPES:
        where = "spec.route.matchers[0].matchType"
        yield Attempt(f"type {kind!r}", matching("namespace", kind, "alice"), where)
    nameless = matching("", "=~", ".*")
    yield Attempt("no name", nameless, "spec.route.matchers[0].name")
    old = [{"name": "namespace", "value": "alice|mallory", "regex": True}]
    yield Attempt("the old regex", routed({"matchers": old}))
    twice = [{"name": "namespace", "matchType": "=", "value": each} for each in ("alice", "bob")]
    yield Attempt("two namespaces", routed({"matchers": twice}))


# --- Routes ---------------------------------------------------------------------------------------

ALICE: Final = {"name": "namespace", "matchType": "=", "value": "alice"}
ALL: Final = {"name": "namespace", "matchType": "=~", "value": ".*"}


def _deep(depth: int) -> Json:
    route: Json = {"matchers": [ALL]}
    for _ in range(depth):
        route = {"matchers": [ALL], "routes": [route]}
    return routed({"routes": [route]})


def _nested(**route: Any) -> Json:
    return routed({"routes": [route]})


def _routes() -> Iterable[Attempt]:
    inner = "spec.route.routes[0]"
    yield Attempt("no matcher", routed())
    yield Attempt("takes and ends", routed({"continue": False, "matchers": [ALL]}))
    yield Attempt("goes on", routed({"continue": True}))
    yield Attempt("nested: alice", _nested(matchers=[ALICE]))
    yield Attempt("nested: all", _nested(matchers=[ALL], receiver="mine"))
    yield Attempt("nested: takes and ends", _nested(matchers=[ALL], **{"continue": False}))
    yield Attempt("nested: goes on", _nested(matchers=[ALICE], **{"continue": True}))
    yield Attempt("nested: no receiver", _nested(receiver=""))
    yield Attempt("nested: null", _nested(receiver=None, matchers=None, routes=None))
    yield Attempt("many routes", routed({"routes": [{"matchers": [ALL]}] * 100}))
    yield Attempt("deep", _deep(45))
    yield Attempt("too deep", _deep(60), inner)
    yield Attempt("nested: alice's receiver", _nested(receiver="alice/config/phone"), inner)
    yield Attempt("nested: climbs out", _nested(receiver="../../alice/config/phone"), inner)
    for name in ("alice/config/phone", "phone", "base", "null"):
        yield Attempt(f"receiver {name}", routed({"receiver": name}), "spec.route.receiver")
    yield Attempt("no receiver", routed({"receiver": ""}), "spec.route.receiver")
    yield Attempt("no route", {"receivers": [hook()]})
    # Fields of the file that an AlertmanagerConfig does not have.
    for field in ("match", "match_re", "matchers_", "labels", "continu", "group_by"):
        yield Attempt(f"nested: {field}", _nested(**{field: {"namespace": "alice"}}), inner)
    yield Attempt("nested: a text", routed({"routes": ["namespace=~.*"]}), inner)
    yield Attempt("nested: a matcher as text", _nested(matchers=["namespace=~.*"]), inner)
    yield Attempt("nested: a matcher too much", _nested(matchers=[ALL | {"a": 1}]), inner)
    yield Attempt("nested: bad type", _nested(matchers=[ALL | {"matchType": "=="}]), inner)
    yield Attempt("nested: bad expression", _nested(matchers=[ALL | {"value": r"\Q"}]), inner)
    for labels in (["..."], ["namespace"], ["alertname", 'a"', "é"], ["{{ .x }}"], ["x" * 5000]):
        yield Attempt(f"grouped by {labels[0][:20]}", routed({"groupBy": labels}))
    for labels in (["...", "a"], ["a", "a"], [""], ["...", "..."]):
        yield Attempt(f"grouped by {labels}", routed({"groupBy": labels}), "spec.route.groupBy")
    for key, value in (
        ("groupWait", "-1s"), ("groupWait", "1"), ("groupWait", "9999999y"), ("groupWait", "1s\n"),
        ("groupInterval", ""), ("repeatInterval", "1h "),
    ):  # fmt: skip
        yield Attempt(f"{key} {value!r}", routed({key: value}), f"spec.route.{key}")
    # Alertmanager would refuse the file for these; the fields are left out of it.
    for key, value in (("groupInterval", "0s"), ("repeatInterval", "0")):
        yield Attempt(f"{key} {value!r}", routed({key: value}))


# --- Inhibition -----------------------------------------------------------------------------------


def inhibiting(source: Iterable[Json], target: Iterable[Json], equal: Iterable[str] = ()) -> Json:
    """A spec with one inhibition rule, whose source may be any alert."""
    rule = {"sourceMatch": list(source), "targetMatch": list(target), "equal": list(equal)}
    return routed(inhibitRules=[rule])


def matcher(name: str, kind: str, value: str) -> Json:
    """One condition."""
    return {"name": name, "matchType": kind, "value": value}


def _inhibition() -> Iterable[Attempt]:
    mine = [matcher("alertname", "=", "Source")]
    targets = {
        "alice": [ALICE],
        "all": [ALL],
        "nothing": [],
        "not mallory": [matcher("namespace", "!=", "mallory")],
        "any severity": [matcher("severity", "=~", ".+")],
        "empty": [matcher("nothing", "=", "")],
        "alice by name": [matcher("alertname", "=~", "Down|Slow")],
    }
    for (about, target), equal in product(targets.items(), ((), ("namespace",), ("nothing",))):
        yield Attempt(f"inhibits {about}, equal {equal}", inhibiting(mine, target, equal))
    yield Attempt("inhibits by alice's own", inhibiting([ALICE], [ALICE]))
    yield Attempt("inhibits all by all", inhibiting([], []))
    yield Attempt("inhibits by what is not there", inhibiting([matcher("x", "=", "")], [ALL]))
    for text in TRICKY[:16]:
        hard = [matcher(text, "!=", "y")]
        yield Attempt(f"target name {text[:30]!r}", inhibiting(mine, hard))
        yield Attempt(f"source name {text[:30]!r}", inhibiting(hard, [ALL]))
        yield Attempt(f"target value {text!r}", inhibiting(mine, [matcher("x", "!=", text)]))
        yield Attempt(f"equal {text[:30]!r}", inhibiting(mine, [ALL], [text]))
    rule = "spec.inhibitRules[0]"
    yield Attempt("equal nothing", inhibiting(mine, [ALL], [""]), f"{rule}.equal[0]")
    bad = [matcher("a", "=~", r"\Q")]
    yield Attempt("bad source", inhibiting(bad, [ALL]), f"{rule}.sourceMatch[0].value")
    yield Attempt("bad target", inhibiting(mine, bad), f"{rule}.targetMatch[0].value")
    nameless = inhibiting(mine, [matcher("", "=", "")])
    yield Attempt("target without a name", nameless, f"{rule}.targetMatch[0].name")
    many = routed(inhibitRules=[{"sourceMatch": mine, "targetMatch": [ALICE]}] * 200)
    yield Attempt("many rules", many)


# --- Time intervals -------------------------------------------------------------------------------

ALWAYS: Final = {"times": [{"startTime": "00:00", "endTime": "24:00"}]}
IN_ROUTE: Final = ("muteTimeIntervals", "activeTimeIntervals")


def timed(name: str, period: Json, uses: str = "muteTimeIntervals", **route: Any) -> Json:
    """A spec with a time interval that its own route uses."""
    interval = {"name": name, "timeIntervals": [period]}
    return routed({uses: [name], **route}, muteTimeIntervals=[interval])


def _intervals() -> Iterable[Attempt]:
    for name in ("nights", "alice/config/nights", "base-hours", "../nights", "null", "a\nb", '"'):
        yield Attempt(f"interval {name!r}", timed(name, ALWAYS))
        nowhere = [{"matchers": [ALL], "muteTimeIntervals": [name]}]
        yield Attempt(f"interval {name!r} nested", timed(name, ALWAYS, routes=nowhere))
    for name, uses in product(("nights", "alice/config/nights", "base-hours"), IN_ROUTE):
        yield Attempt(f"{uses}: {name} of others", routed({uses: [name]}), f"spec.route.{uses}[0]")
    never = {"years": ["1970"]}
    yield Attempt("active in 1970", timed("then", never, "activeTimeIntervals"))
    yield Attempt("an empty interval", timed("x", {}))
    yield Attempt("no name", timed("", ALWAYS), "spec.muteTimeIntervals[0].name")
    two = [{"name": "x", "timeIntervals": [ALWAYS]}] * 2
    where = "spec.muteTimeIntervals[1].name"
    yield Attempt("one name twice", routed(muteTimeIntervals=two), where)
    bad: Mapping[str, Any] = {
        "months": ["13", "0", "january:13", "december:january", "1:2:3", "", "1\n"],
        "weekdays": ["someday", "saturday:monday", "", "monday:"],
        "years": ["2030:2020", "x", "2020:", "99999999999999999999"],
        "daysOfMonth": [(0, 1), (1, 32), (-32, -1), (-1, 1), (5, 2), (-1, -5), (29, -1), (29, -30)],
        "times": [("25:00", "26:00"), ("9:00", "10:00"), ("10:00", "09:00"), ("", ""), ("a", "b")],
    }
    for kind, values in bad.items():
        for value in values:
            period = {kind: [_range(kind, value)]}
            where = f"spec.muteTimeIntervals[0].timeIntervals[0].{kind}[0]"
            yield Attempt(f"{kind} {value!r}", timed("x", period), where)


def _range(kind: str, value: Any) -> Any:
    names = {"daysOfMonth": ("start", "end"), "times": ("startTime", "endTime")}.get(kind)
    return dict(zip(names, value, strict=True)) if names else value


# --- Names ----------------------------------------------------------------------------------------


def called(name: str) -> Json:
    """A spec whose receiver has that name."""
    return routed({"receiver": name}) | {"receivers": [hook() | {"name": name}]}


def _names() -> Iterable[Attempt]:
    for name in (
        "phone", "alice/config/phone", "../config/phone", "/", "base", "null", "~", "true", "1e3",
        "*a", "&a b", "!!str x", "a: b", "- a", "a\nb", "\n- name: x", '"', "'", "{{ .x }}",
        "é 💥", "\x00", "x" * 1000, " ", "$(POD_NAME)",
    ):  # fmt: skip
        yield Attempt(f"receiver called {name[:30]!r}", called(name))
    yield Attempt("receiver without a name", called(""), "spec.receivers[0].name")
    two = routed() | {"receivers": [hook(), hook()]}
    yield Attempt("two receivers of one name", two, "spec.receivers[1].name")
    for namespace, name in (
        ("alice-config", "phone"), ("a", "lice-config"), ("al", "ice.config"),
        ("alice-x", "config"), ("mallory", "alice-config"),
        ("mallory", "alice.config"), ("mallory", "base"),
        ("mallory-a", "b"), ("mallory", "a-b"), ("mallory", "config"), ("zz", "config"),
        ("aaa", "first"), ("null", "null"), ("true", "1"), ("0", "0"), ("1e3", "0x1"),
    ):  # fmt: skip
        spec = called("phone")
        yield Attempt(f"is {namespace}/{name}", spec, namespace=namespace, name=name)


# --- Receivers ------------------------------------------------------------------------------------


def receiving(integration: str, *configs: Json) -> Json:
    """A spec whose receiver calls the sink and has more integrations."""
    receiver = hook()
    receiver[integration] = [*receiver.get(integration, ()), *configs]
    return routed() | {"receivers": [receiver]}


def key(name: str, at: str = "key") -> Json:
    """A reference to a key of a Secret."""
    return {"name": name, "key": at}


SECRETS: Final = {
    "token": "t0ken",
    "url": f"{SINK}/HERE/secret",
    "lines": "a\nnamespace: alice\n- b\n",
    "quotes": "\"'`\\",
    "nul": "a\x00b",
    "control": "\x85\u2028\ufeff\x1b",
    "large": "x" * LARGE,
    "template": "{{ end }}{{ if . }}",
    "words": "not a url",
    "broken-url": "http://[::1%25]/",
}
"""The Secrets of everybody who tries, by name."""
REDEFINED: Final = '{{ define "__subject" }}taken{{ end }}{{ template "__subject" . }}'
LOOPING: Final = '{{ define "a" }}{{ template "b" . }}{{ end }}{{ define "b" }}{{ end }}'
BAD_URLS: Final = (
    "http://x/{{ end }}{{ if . }}",
    "http://x/{{ $x }}",
    "http://x/{{",
    "http://x/{{ toUpper .x }}",
    '{{ define "x" }}a{{ end }}{{ define `x` }}b{{ end }}',
    "{{ break }}",
    "{{ end }}",
    "http://[::1%25]/",
    "http://[::1%25a][::1]/",
    "http://x/?#%zz",
    "http://x/%zz",
    "http://x:port/",
    "http://",
    "//x/",
    "ftp://x/",
    "file:///etc/passwd",
    "http://x/\n",
    "x",
    ":",
)
BAD_HOSTS: Final = ("[:25", "]:25", "a[]:25", "a:b[", "a:b:25", "a", "a:", "[::1]")


def _receivers() -> Iterable[Attempt]:
    first = "spec.receivers[0]"
    for url in BAD_URLS:
        spec = routed() | {"receivers": [{"name": "mine", "webhookConfigs": [{"url": url}]}]}
        yield Attempt(f"webhook {url!r}", spec, f"{first}.webhookConfigs[0].url")
    for host in BAD_HOSTS:
        email = {"to": "a@b", "from": "c@d", "smarthost": host, "hello": "x"}
        where = f"{first}.emailConfigs[0].smarthost"
        yield Attempt(f"mail server {host!r}", receiving("emailConfigs", email), where)
    for name in ("template", "words", "broken-url", "nul", "lines"):
        where = f"{first}.webhookConfigs[1].urlSecret"
        spec = receiving("webhookConfigs", {"urlSecret": key(name)})
        yield Attempt(f"webhook of Secret {name}", spec, where)
    yield from _others_secrets(first)
    yield from _fields(first)
    yield from _templates()
    yield from _files(first)


def _others_secrets(first: str) -> Iterable[Attempt]:
    """Secrets of others, by names that might lead there."""
    where = f"{first}.slackConfigs[0].apiURL"
    for name, at in (
        ("alice-token", "key"), ("alice/alice-token", "key"), ("../alice/alice-token", "key"),
        ("alice_alice-token", "key"), ("token", "none"), ("token", "../../alice-token/key"),
    ):  # fmt: skip
        spec = receiving("slackConfigs", {"apiURL": key(name, at)})
        yield Attempt(f"Secret {name} {at}", spec, where)
    tls = {"tlsConfig": {"ca": {"secret": key("alice_alice-token")}}}
    yield Attempt(
        "certificate of alice",
        routed() | {"receivers": [hook(httpConfig=tls)]},
        f"{first}.webhookConfigs[0].httpConfig.tlsConfig.ca",
    )


def _fields(first: str) -> Iterable[Attempt]:
    """Every integration, with texts that could end their line, and with what it cannot do."""
    hostile = 'x"\n- name: y\n  a: {b: [c'
    pairs = [{"key": text[:2000], "value": text} for text in TRICKY[:38]]
    fine: Mapping[str, Json] = {
        "slackConfigs": {"apiURL": key("url"), "channel": hostile, "text": hostile},
        "opsgenieConfigs": {
            "apiKey": key("lines"), "apiURL": f"{SINK}/HERE/og/", "message": hostile,
            "details": pairs, "responders": [{"name": hostile, "type": "team"}],
        },
        "pagerdutyConfigs": {
            "routingKey": key("quotes"), "url": f"{SINK}/HERE/pd", "details": pairs,
            "severity": hostile, "pagerDutyLinkConfigs": [{"href": f"{SINK}/a", "alt": hostile}],
        },
        "victoropsConfigs": {
            "apiKey": key("nul"), "apiUrl": f"{SINK}/HERE/vo/", "routingKey": hostile,
            "customFields": pairs,
        },
        "pushoverConfigs": {"userKey": key("control"), "token": key("nul"), "title": hostile,
                            "url": f"{SINK}/HERE/po", "retry": "1d"},
        "telegramConfigs": {"apiURL": f"{SINK}/HERE/tg", "botToken": key("lines"), "chatID": -1,
                            "message": hostile},
        "webexConfigs": {"apiURL": f"{SINK}/HERE/wx", "roomID": hostile, "message": hostile,
                         "httpConfig": {"authorization": {"credentials": key("token")}}},
        "wechatConfigs": {"apiURL": f"{SINK}/HERE/wc/", "apiSecret": key("quotes"), "corpID": "c",
                          "message": hostile},
        "discordConfigs": {"apiURL": key("url"), "title": hostile, "message": hostile},
        "msteamsConfigs": {"webhookUrl": key("url"), "title": hostile, "text": hostile},
        "msteamsv2Configs": {"webhookURL": key("url"), "title": hostile, "text": hostile},
        "rocketchatConfigs": {"apiURL": f"{SINK}/HERE/rc", "token": key("token"),
                              "tokenID": key("token"), "text": hostile,
                              "fields": [{"title": hostile, "value": hostile}]},
        "snsConfigs": {"apiURL": f"{SINK}/HERE/sns", "topicARN": hostile, "message": hostile,
                       "attributes": {hostile: hostile}, "sigv4": {"region": "x"}},
        "emailConfigs": {"to": hostile, "from": hostile, "smarthost": "127.0.0.1:1", "hello": "x",
                         "authPassword": key("lines"), "html": hostile,
                         "headers": [{"key": f"X-{n}", "value": hostile} for n in range(3)]},
    }  # fmt: skip
    for integration, config in fine.items():
        yield Attempt(f"{integration} with hostile texts", receiving(integration, config))
    for payload in (hostile, REDEFINED, "{{", "null", "{}"):
        spec = receiving("webhookConfigs", _hooked(payload=payload))
        yield Attempt(f"webhook with payload {payload[:20]!r}", spec)
    large = [{"apiURL": key("url"), "title": "x" * 50_000}] * 5
    yield Attempt("large texts", receiving("discordConfigs", *large))
    large_secret = {"apiKey": key("large"), "apiURL": f"{SINK}/HERE/og/"}
    many = DEFAULTS["configuration-bytes"] // LARGE + 1
    spec = receiving("opsgenieConfigs", *[large_secret] * many)
    yield Attempt("a large Secret many times", spec, f"{first}.opsgenieConfigs[")
    bad: Iterable[tuple[str, Json, str]] = (
        ("slackConfigs", {"channel": "alice"}, ""),
        ("opsgenieConfigs", {"message": "x"}, ""),
        ("pagerdutyConfigs", {}, ""),
        ("pushoverConfigs", {}, ""),
        ("telegramConfigs", {"botToken": key("token")}, ".chatID"),
        ("victoropsConfigs", {"apiKey": key("token")}, ".routingKey"),
        ("webexConfigs", {"roomID": "x"}, ".httpConfig"),
        ("wechatConfigs", {"message": "x"}, ""),
        ("emailConfigs", {"to": "x"}, ""),
        ("snsConfigs", {"message": "x"}, ""),
        ("discordConfigs", {"apiURL": key("words")}, ".apiURL"),
        ("msteamsConfigs", {"webhookUrl": key("missing")}, ".webhookUrl"),
        ("slackConfigs", {"apiURL": key("url"), "updateMessage": True}, ".updateMessage"),
        ("slackConfigs", {"apiURL": key("url"), "actions": [{"type": "", "text": ""}]}, ".actions"),
        ("webhookConfigs", _hooked(timeout="x"), ".timeout"),
        ("webhookConfigs", _hooked(maxAlerts=-1), ".maxAlerts"),
        ("webhookConfigs", {}, ""),
        ("webhookConfigs", _client(proxyUrl="http://[::1%25]"), ".httpConfig.proxyUrl"),
        ("webhookConfigs", _client(proxyURL="%zz"), ".httpConfig.proxyURL"),
        ("webhookConfigs", _client(noProxy="x"), ".httpConfig"),
        ("webhookConfigs", _client(authorization={"type": "Basic"}), ".httpConfig.authorization"),
        ("webhookConfigs", _client(tlsConfig={"minVersion": "TLS9"}), ".httpConfig.tlsConfig"),
        ("webhookConfigs", _client(tlsConfig={"ca": {"secret": key("words")}}), ".httpConfig"),
        ("opsgenieConfigs", _responder("{{ end }}{{ if . }}"), ".responders[0].type"),
        ("opsgenieConfigs", _responder("nobody"), ".responders[0].type"),
        ("victoropsConfigs", _custom("message_type"), ".customFields[0].key"),
        ("emailConfigs", _headers("Subject", "subject"), ".headers[1].key"),
        ("snsConfigs", {"topicARN": "x", "sigv4": {"accessKey": key("token")}}, ".sigv4"),
    )
    for integration, config, path in bad:
        at = 1 if integration == "webhookConfigs" else 0
        spec = receiving(integration, config)
        yield Attempt(f"bad {integration}{path}", spec, f"{first}.{integration}[{at}]{path}")


def _hooked(**more: Any) -> Json:
    return {"url": f"{SINK}/HERE/more", **more}


def _client(**http: Any) -> Json:
    return _hooked(httpConfig=http)


def _responder(kind: str) -> Json:
    return {"apiKey": key("token"), "responders": [{"name": "x", "type": kind}]}


def _custom(name: str) -> Json:
    pair = {"key": name, "value": "x"}
    return {"apiKey": key("token"), "routingKey": "x", "customFields": [pair]}


def _headers(*names: str) -> Json:
    headers = [{"key": name, "value": "x"} for name in names]
    return {"to": "a@b", "from": "c@d", "smarthost": "h:25", "hello": "x", "headers": headers}


def _templates() -> Iterable[Attempt]:
    """Templates of notifications: they may fail, but only for who wrote them."""
    for text in (
        REDEFINED,
        LOOPING,
        '{{ define "a" }}{{ template "a" . }}{{ end }}{{ template "a" . }}',
        "{{ range .Alerts }}{{ .Labels.namespace }}{{ end }}",
        "{{ .Nothing.There }}",
        "{{ call .Alerts }}",
        "{{ index .Alerts 1000 }}",
        '{{ reReplaceAll "(" "" "" }}',
        '{{ printf "%100000000d" 1 }}',
        "{{",
        "{{ env `HOME` }}",
    ):
        chat = {"apiURL": f"{SINK}/HERE/tg", "botToken": key("token"), "chatID": 1}
        spec = receiving("telegramConfigs", chat | {"message": text})
        yield Attempt(f"template {text[:40]}", spec)
    url = {"url": f"{SINK}/HERE/{{{{ .GroupLabels.namespace }}}}"}
    yield Attempt("a URL by template", receiving("webhookConfigs", url))


def _files(first: str) -> Iterable[Attempt]:
    """Files of Alertmanager's container, where they are denied."""
    config = "/etc/alertmanager/config_out/alertmanager.env.yaml"
    cases: Iterable[tuple[str, Json, str]] = (
        ("telegramConfigs", {"chatID": 1, "apiURL": f"{SINK}/HERE"}, "botTokenFile"),
        ("pushoverConfigs", {"token": key("token")}, "userKeyFile"),
        ("pushoverConfigs", {"userKey": key("token")}, "tokenFile"),
    )
    for integration, given, field in cases:
        for file in (config, "/etc/alertmanager/certs/0_alice_alice-token_key", "../x"):
            spec = receiving(integration, given | {field: file})
            yield Attempt(f"{field} {file}", spec, f"{first}.{integration}[0].{field}")


GROUPS: Final[Mapping[str, tuple[Attempt, ...]]] = {
    "matchers": tuple(_matchers()),
    "routes": tuple(_routes()),
    # They would inhibit what the others are to hear of, so they are somebody else's.
    "inhibition": tuple(replace(attempt, namespace="molly") for attempt in _inhibition()),
    "intervals": tuple(_intervals()),
    "names": tuple(_names()),
    "receivers": tuple(_receivers()),
}
