"""Alerts that ask Prometheus in their texts: `query` is held to the namespace, as the rule is.

`{{ query "up" }}` in a label or an annotation reads what any other query reads. Where the query is
written out it gets the label; where it is made when the alert fires, what it reads cannot be known
beforehand, so the rule is refused. No other function of these templates reads anything. The labels
of a group become labels of its alerts, so they are templates as well.
"""

from typing import Final, TypeAlias

from msgspec.structs import replace

from stoker.api.rules import Rule, RuleGroup
from stoker.errors import OverBudgetError
from stoker.golang.calls import Call, calls
from stoker.golang.literals import quoted, unquoted
from stoker.golang.template import RefusedTemplateError
from stoker.promql import ParseError, enforce_label, parse, to_text
from stoker.validate.budget import Meter, stopped
from stoker.validate.findings import Finding, Reason
from stoker.validate.rules import RuleReader
from stoker.validate.templates import alert_setting

AlertTexts: TypeAlias = dict[str, str] | None

_QUERY: Final = "query"


class UnheldError(Exception):
    """The texts that cannot be held to a namespace."""

    def __init__(self, *findings: Finding) -> None:
        super().__init__(*map(str, findings))
        self.findings = findings


class Hold:
    """Holds the texts of alerts to a namespace, and keeps in `findings` where that cannot be."""

    def __init__(self, label: str, namespace: str, reader: RuleReader) -> None:
        self.findings: list[Finding] = []
        self._label = label
        self._namespace = namespace
        self._reader = reader
        self._meter = Meter(reader.limits)

    def alert(self, rule: Rule, path: str) -> Rule:
        """An alert whose queries see the namespace alone; its texts must be templates."""
        labels = self._texts(rule.labels, rule.alert, f"{path}.labels")
        annotations = self._texts(rule.annotations, rule.alert, f"{path}.annotations")
        return replace(rule, labels=labels, annotations=annotations)

    def group(self, group: RuleGroup, path: str) -> RuleGroup:
        """A group whose alerts get its labels, and with them what they ask.

        Prometheus does not look whether these are templates until an alert fires.
        """
        if not any(rule.alert for rule in group.rules or ()):
            return group
        return replace(group, labels=self._texts(group.labels, "", f"{path}.labels"))

    def _texts(self, texts: AlertTexts, alert: str | None, path: str) -> AlertTexts:
        if not texts:
            return texts
        return {name: self._text(text, alert, f"{path}[{name}]") for name, text in texts.items()}

    def _text(self, text: str, alert: str | None, path: str) -> str:
        if _QUERY not in text or "{{" not in text:
            return text
        setting = alert_setting(alert or "", self._reader.version, self._reader.thanos)
        parts: list[str] = []
        place = 0
        try:
            for start, end in sorted(map(_place, calls(text, setting, _QUERY))):
                self._meter.spend("alert-queries-length", end - start, path)
                parts += (text[place:start], self._literal(text[start:end]))
                place = end
        except OverBudgetError as error:
            self.findings.append(stopped(error))
        except (RefusedTemplateError, _CannotError) as error:
            self.findings.append(Finding(path, Reason.INVALID_VALUE, f"as a template: {error}"))
        return "".join((*parts, text[place:]))

    def _literal(self, literal: str) -> str:
        try:
            node = parse(unquoted(literal).decode(), self._reader.promql)
        except (ParseError, UnicodeDecodeError) as error:
            message = f"{literal[:80]} is not a PromQL expression: {error}"
            raise _CannotError(message) from None
        return quoted(to_text(enforce_label(node, self._label, self._namespace)), like=literal)


class _CannotError(Exception):
    """Why a text cannot be held."""


def _place(call: Call) -> tuple[int, int]:
    """Where the query of a call is written."""
    if call.literal is None:
        raise _CannotError(
            "the namespace is enforced, so `query` needs its query written out as one string, as"
            ' in `query "up"`; this one is made when the alert fires'
        )
    return call.literal.start, call.literal.end
