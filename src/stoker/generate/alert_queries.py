"""Alerts that ask Prometheus in their texts: `query` is held to the namespace, as the rule is.

`{{ query "up" }}` in a label or an annotation reads what any other query reads. Where the query is
written out it gets the label; where it is made when the alert fires nobody can tell beforehand what
it reads, so the rule is refused. No other function of these templates reads anything.
"""

from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from stoker.api.rules import PrometheusRuleSpec, Rule
from stoker.golang.calls import Call, calls
from stoker.golang.literals import quoted, unquoted
from stoker.promql import ParseError, enforce_label, parse, to_text
from stoker.validate.findings import Finding, Findings, Reason
from stoker.validate.rules import Reader
from stoker.validate.templates import alert_setting

_QUERY: Final = "query"


class UnheldError(Exception):
    """Why a text cannot be held to a namespace."""


class Hold(Struct, frozen=True):
    """The label that all queries must have, its value, and the program that will ask them."""

    label: str
    namespace: str
    reader: Reader

    def alert(self, rule: Rule) -> Rule:
        """An alert whose texts are held; UnheldError where that cannot be."""
        labels, annotations = (
            {name: self.text(text, rule.alert or "") for name, text in texts.items()}
            if texts
            else texts
            for texts in (rule.labels, rule.annotations)
        )
        return replace(rule, labels=labels, annotations=annotations)

    def text(self, text: str, alert: str) -> str:
        """A text of an alert, which must be a template, with its queries held to the namespace."""
        if _QUERY not in text or "{{" not in text:
            return text
        setting = alert_setting(alert, self.reader.version, self.reader.thanos)
        parts: list[str] = []
        place = 0
        for start, end in sorted(map(_place, calls(text, setting, _QUERY))):
            parts += (text[place:start], self._literal(text[start:end]))
            place = end
        return "".join((*parts, text[place:]))

    def _literal(self, literal: str) -> str:
        try:
            query = unquoted(literal).decode()
            node = parse(query, self.reader.promql)
        except (ParseError, UnicodeDecodeError) as error:
            message = f"as a template: {literal[:80]} is not a PromQL expression: {error}"
            raise UnheldError(message) from None
        return quoted(to_text(enforce_label(node, self.label, self.namespace)), like=literal)


def _place(call: Call) -> tuple[int, int]:
    """Where the query of a call is written."""
    if call.literal is None:
        raise UnheldError(
            "as a template: the namespace is enforced, so `query` needs its query written out as "
            'one string, as in `query "up"`; this one is made when the alert fires'
        )
    return call.literal.start, call.literal.end


def unheld_queries(spec: PrometheusRuleSpec, hold: Hold) -> Findings:
    """The queries in texts of alerts that cannot be held to the namespace."""
    for index, group in enumerate(spec.groups or ()):
        for number, rule in enumerate(group.rules or ()):
            if rule.alert:
                yield from _unheld_in(rule, hold, f"spec.groups[{index}].rules[{number}]")


def _unheld_in(rule: Rule, hold: Hold, path: str) -> Findings:
    for field in ("labels", "annotations"):
        for name, text in (getattr(rule, field) or {}).items():
            try:
                hold.text(text, rule.alert or "")
            except UnheldError as error:
                yield Finding(f"{path}.{field}[{name}]", Reason.INVALID_VALUE, str(error))
