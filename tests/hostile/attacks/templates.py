r"""Templates: what Go's `text/template` takes, in rules and in AlertmanagerConfigs.

Those of alerts are read when a rule file is loaded, and so are those in the URLs of webhooks and in
the types of responders; one that cannot be read makes the reader refuse the whole file.
"""

from typing import Final

from stoker.validate.findings import Reason
from tests.hostile.payload import INVALID, Attack, LeftOut, Refused, key

ATTACK: Final = Attack("templates")

GOOD: Final = (
    "{{ $labels.instance }} of {{ $value | humanize }}",
    "{{- .Labels.job -}}",
    '{{ define "x" }}a{{ end }}{{ template "x" . }}',
    '{{ block "x" . }}a{{ end }}',
    '{{ define "__alert_B" }}x{{ end }}',
    "{{/* a comment */}}",
    "{{- /* trimmed */ -}}",
    "{{ if true }}a{{ else if false }}b{{ else }}c{{ end }}",
    "{{ with $x := 5 }}{{ $x }}{{ end }}",
    "{{ range $i, $e := .Labels }}{{ $i }}{{ break }}{{ end }}",
    "{{ range .Labels }}{{ continue }}{{ end }}",
    "{{ $x := 1 }}{{ $x = 2 }}",
    '{{ printf "%d" 0x1F }}',
    "{{ 0b11 }}{{ 0o17 }}{{ 1_000 }}{{ 1e10 }}{{ 0x1p-2 }}{{ 3i }}{{ 1+2i }}",
    "{{ 'a' }}{{ '\\n' }}{{ '\\u00e9' }}",
    "{{ `raw\nstring` }}",
    '{{ "\\x41\\101\\u0041\\U00000041" }}',
    "{{ (index .Labels `a`).x }}",
    "{{ .Labels.é }}",
    "{{ $é := 1 }}{{ $é }}",
    "{{ .日本 }}",
    '{{ eq 1 1.0 "a" }}',
    "{{ not true | and false | or true }}",
    "}} { {",
    "{ {{ 1 }} }",
    "no action at all }}",
    "{{\n1\n}}",
    "{{ 1 }}" * 500,
    "{{ and " + "(" * 50 + "1" + ")" * 50 + " }}",
    "{{ if 1 }}" * 200 + "{{ end }}" * 200,
    "{{ .a.b.c.d.e }}",
    "{{ $.x }}",
    "{{ len (slice `abc` 1 2) }}",
    "{{ urlquery `a b` | js | html }}",
    "{{ true }}{{ false }}",
    "{{ template `x` }}",
    "{{ 1 | }}",
    "{{ nil }}",
    '{{ reReplaceAll "(" "" "" }}',
    '{{ printf "%100000000d" 1 }}',
)
BAD: Final = (
    # Prometheus has a template of this name itself.
    '{{ define "__alert_A" }}x{{ end }}',
    '{{ block "__alert_A" . }}x{{ end }}',
    "{{ define `__alert_A` }}x{{ end }}",
    '{{ define "__alert_\\u0041" }}x{{ end }}',
    "{{ 1e999 }}",
    "{{ .x½ }}",
    "{{ $labels.x² }}",
    "{{ .Ⅷ }}",
    "{{ 0xp11+2i }}",
    "{{ 0b11+2i }}",
    # Numbers.
    "{{ 0x }}",
    "{{ 0b2 }}",
    "{{ 0o8 }}",
    "{{ 08 }}",
    "{{ 1__0 }}",
    "{{ 1_ }}",
    "{{ 0x1p }}",
    "{{ 1e }}",
    "{{ 99999999999999999999 }}",
    "{{ 1.2.3 }}",
    "{{ 1a }}",
    "{{ ٣ }}",
    "{{ + }}",
    "{{ 0x1.8 }}",
    "{{ 1+2 }}",
    # Names and functions.
    "{{ nothing }}",
    "{{ $nothing }}",
    "{{ env `HOME` }}",
    "{{ tmpl_ }}",
    "{{ .a-b }}",
    "{{ a.b }}",
    "{{ .. }}",
    "{{ .a..b }}",
    "{{ .1 }}{{ .1a }}",
    "{{ $a:=1 }}{{ $b }}",
    "{{ Ⅷ }}",
    "{{ ² }}",
    "{{ x̂ }}",
    # Strings and characters.
    '{{ "open }}',
    "{{ `open }}",
    "{{ 'ab' }}",
    "{{ '' }}",
    "{{ '\\q' }}",
    '{{ "\\q" }}',
    '{{ "\\x4" }}',
    '{{ "\\ud800" }}',
    '{{ "\\400" }}',
    '{{ "a\nb" }}',
    "{{ '\n' }}",
    # Structure.
    "{{",
    "{{ ",
    "{{}}",
    "{{ }}",
    "{{ end }}",
    "{{ if }}a{{ end }}",
    "{{ if 1 }}",
    "{{ else }}",
    "{{ if 1 }}{{ else }}{{ else }}{{ end }}",
    "{{ if 1 }}{{ else }}{{ else if 2 }}{{ end }}",
    "{{ range }}{{ end }}",
    "{{ break }}",
    "{{ continue }}",
    "{{ if 1 }}{{ break }}{{ end }}",
    '{{ if 1 }}{{ define "x" }}{{ end }}{{ end }}',
    '{{ define "x" }}a',
    "{{ define x }}{{ end }}",
    '{{ define "x" . }}{{ end }}',
    "{{ template }}",
    "{{ template x }}",
    '{{ block "x" }}{{ end }}',
    '{{ define "x" }}a{{ end }}{{ define "x" }}b{{ end }}',
    "{{ (1 }}",
    "{{ 1) }}",
    "{{ | 1 }}",
    "{{ 1 | 2 }}",
    "{{ 1 || 2 }}",
    "{{ $x := }}",
    "{{ $x, $y := 1 }}",
    "{{ range $a, $b, $c := . }}{{ end }}",
    "{{ nil.x }}",
    "{{ true.x }}",
    "{{ -1- }}",
    "{{ 1 -}",
    "{{/* open }}",
    "{{/* a */ 1 }}",
    "{{ /* a */ }}",
    "{{ ! }}",
    "{{ @x }}",
    "{{ a\x00b }}",
    "{{ = }}",
    "{{ $x =: 1 }}",
    "{{ 1 ; 2 }}",
    "{{ [1] }}",
    "{{ {{ 1 }} }}",
    "{{ 1 2 3 }}{{ end }}",
    "{{ \u200b1 }}",
    "{{ \xa01 }}",
)

_SUMMARY: Final = "spec.groups[0].rules[0].annotations[summary]"
ATTACK.at("PrometheusRule", _SUMMARY, *GOOD)
ATTACK.at("PrometheusRule", _SUMMARY, *BAD, then=INVALID)
ATTACK.at("PrometheusRule", "spec.groups[0].rules[0].labels[severity]", *BAD[:12], then=INVALID)
ATTACK.at("PrometheusRule", "spec.groups[0].rules[0].labels[severity]", *GOOD[:3])
# A recording rule has no templates: these are texts.
for _text in (*BAD[:2], "{{"):
    ATTACK.at(
        "PrometheusRule",
        "spec.groups[0].rules[0].labels[severity]",
        _text,
        about=f"label {_text} of a record",
    )
    ATTACK.payloads[-1].spec["groups"][0]["rules"][0] = {
        "record": "a",
        "expr": "up",
        "labels": {"severity": _text},
    }
# Each annotation is a template of its own; two may define the same name.
ATTACK.at(
    "PrometheusRule",
    "spec.groups[0].rules[0].annotations",
    dict.fromkeys("ab", '{{ define "x" }}a{{ end }}'),
)
ATTACK.at("PrometheusRule", _SUMMARY, '{{ define "__alert_" }}x{{ end }}', about="a name too short")
# Functions that an older Prometheus does not have.
for _function in ("toDuration 1", "now", "urlQueryEscape `a`"):
    ATTACK.at("PrometheusRule", _SUMMARY, f"{{{{ {_function} }}}}")
    ATTACK.at(
        "PrometheusRule",
        _SUMMARY,
        f"{{{{ {_function} }}}}",
        workload="old",
        then=LeftOut(webhook=False),
        about=f"{_function} for an old Prometheus",
    )

# --- AlertmanagerConfigs --------------------------------------------------------------------------

_URL: Final = "spec.receivers[0].webhookConfigs[0].url"
URLS: Final = (
    # The action is one whatever stands around it.
    "http://a/'{{ toUpper `a` }}'",
    'http://a/"{{ toUpper 1 }}"',
    "http://a/*{{ humanize 1 }}*/",
    "http://a/`{{ toUpper 1 }}`",
    "http://a/{{/* '*/}}{{ toUpper 1 }}{{/* ' */}}",
    "http://a/{{ `'` }}{{ toUpper 1 }}{{ `'` }}",
    "http://a/{{ toUpper .x }}",
    "http://a/{{ join `,` .x }}",
    "http://a/{{ end }}{{ if . }}",
    "http://a/{{ $x }}",
    "http://a/{{",
    "{{ break }}",
    "{{ end }}",
    '{{ define "x" }}a{{ end }}{{ define `x` }}b{{ end }}',
    "http://a/{{ 1e999 }}",
    "http://a/{{ .x½ }}",
    "http://a/{{ .Ⅷ }}",
    "http://a/{{ 0xp11+2i }}",
    "http://a/{{ nothing }}",
    "http://a/{{ $labels.x }}",
    "http://a/{{ 'ab' }}",
    'http://a/{{ "\\q" }}',
)
ATTACK.at("AlertmanagerConfig", _URL, *URLS, then=INVALID)
ATTACK.at(
    "AlertmanagerConfig",
    _URL,
    "http://a/{{ .GroupLabels.namespace }}",
    "{{ .x }}",
    "http://a/'{{ .x }}'",
    "http://a/*{{ len `a` }}*/",
    "http://a/{{ `toUpper` }}",
    "http://a/{{/* toUpper */}}",
    "http://a/{{ .toUpper }}",
    "http://a/{{ printf `%s` .x | urlquery }}",
    "javascript:{{ 1 }}",
    '{{ define "x" }}a{{ end }}{{ template "x" }}',
    "http://a/{{ .é }}",
)
ATTACK.at(
    "AlertmanagerConfig",
    _URL,
    "http://a/{{ .x }}",
    workload="old",
    then=LeftOut(Reason.UNSUPPORTED_VERSION, webhook=False),
    about="a template in a URL for an old Alertmanager",
)
_HOOKS: Final = "spec.receivers[0].webhookConfigs[0].urlSecret"
for _number, _text in enumerate(URLS):
    ATTACK.at(
        "AlertmanagerConfig",
        _HOOKS,
        key(f"hostile-{_number}"),
        beside={"url": None},
        vault={f"hostile-{_number}": _text},
        then=LeftOut(webhook=False),
        about=f"urlSecret with {_text!a}",
    )
_RESPONDER: Final = "spec.receivers[0].opsgenieConfigs[0]"
for _text in (
    "'{{ toUpper `a` }}'",
    "{{ 1e999 }}",
    "{{ .x½ }}",
    "{{ end }}",
    "*{{ humanize 1 }}*/",
):
    ATTACK.at(
        "AlertmanagerConfig",
        _RESPONDER,
        {"apiKey": key("token"), "responders": [{"name": "x", "type": _text}]},
        then=Refused(f"{_RESPONDER}.responders[0].type"),
        about=f"a responder of the type {_text}",
    )
for _place in ("pagerdutyConfigs[0].clientURL", "pushoverConfigs[0].url"):
    _beside = (
        {"routingKey": key("token")}
        if _place.startswith("pager")
        else {"userKey": key("token"), "token": key("token")}
    )
    ATTACK.at(
        "AlertmanagerConfig",
        f"spec.receivers[0].{_place}",
        *URLS[:3],
        "http://a/{{ 1e999 }}",
        beside=_beside,
        then=INVALID,
    )
# Texts of notifications are read when something is sent, and fail for who wrote them.
_CHAT: Final = {"apiURL": "http://chat.example", "botToken": key("token"), "chatID": 1}
ATTACK.at(
    "AlertmanagerConfig",
    "spec.receivers[0].telegramConfigs[0].message",
    "{{",
    "{{ nothing }}",
    '{{ define "__subject" }}taken{{ end }}',
    "{{ env `HOME` }}",
    '{{ define "a" }}{{ template "a" . }}{{ end }}{{ template "a" . }}',
    beside=_CHAT,
)
