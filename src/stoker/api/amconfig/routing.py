"""Routing: which alerts go to which receiver, how they are grouped, and which mute others.

The classes have v1beta1's form; v1alpha1 adds list types and the old `regex` of matchers.
"""

from typing import Annotated, Any, TypeAlias

from stoker.api.common import NonEmptyDuration, Text
from stoker.api.declare import NO_TEXT, Model, doc, rule

NestedRoute: TypeAlias = Annotated[Any, rule(preserveUnknownFields=True)]

ROUTE = doc(
    "The first route, under which all others nest. It goes below the Alertmanager's own root "
    "route and sees, if nothing else is configured, only alerts of this object's namespace."
)
RECEIVERS = doc("Receivers that the routes of this object name.")
INHIBIT_RULES = doc("Which alerts mute which others.")
MATCH_TYPE = doc(
    "How to compare: `=` equal, `!=` not equal, `=~` matches the expression, `!~` does not. "
    "Unset: `=`.",
    enum=("!=", "=", "=~", "!~"),
)
SOURCE_MATCH = doc(
    "What an alert must match, all of it, to mute others. The operator adds a matcher for this "
    "object's namespace, as it does for routes."
)
TARGET_MATCH = doc(
    "What an alert must match, all of it, to be muted. The operator adds a matcher for this "
    "object's namespace, as it does for routes."
)
EQUAL = doc("Labels that must have the same value in both alerts. Absent and empty are the same.")
GROUP_BY = doc(
    "Labels whose values divide alerts into groups; a group is notified together. `...` alone "
    "keeps every alert apart. No label may be given twice."
)
MATCHERS = doc(
    "What an alert must match, all of it. The first route also gets a matcher for this object's "
    "namespace, unless the Alertmanager's `alertmanagerConfigMatcherStrategy` says otherwise."
)
MUTE_TIME_INTERVALS = doc("Time intervals of this object, by name, in which nothing is sent.")
ACTIVE_TIME_INTERVALS = doc(
    "Time intervals of this object, by name, outside of which nothing is sent. Unset: always "
    "active. Needs Alertmanager 0.24 or newer."
)
ROUTES = doc(
    "Nested routes of the same form, tried in order for the alerts that match this one. Their "
    "fields are checked by the operator, not by the API server."
)


class Matcher(Model):
    """A condition on one label of an alert."""

    name: Annotated[Text, doc("Label to look at.")] = NO_TEXT
    match_type: Annotated[str | None, MATCH_TYPE] = None
    value: Annotated[
        str | None,
        doc(
            "Value or RE2 expression, anchored at both ends, to compare with. Unset or empty "
            "stands for a label that is absent."
        ),
    ] = None


class InhibitRule(Model):
    """Mutes alerts (targets) while certain other alerts (sources) are firing."""

    source_match: Annotated[tuple[Matcher, ...] | None, SOURCE_MATCH] = None
    target_match: Annotated[tuple[Matcher, ...] | None, TARGET_MATCH] = None
    equal: Annotated[tuple[str, ...] | None, EQUAL] = None


class Route(Model):
    """Sends alerts that match to a receiver, or hands them to a nested route that fits better."""

    receiver: Annotated[
        str | None,
        doc("Receiver of this object, by name. The first route needs one; others inherit it."),
    ] = None
    matchers: Annotated[tuple[Matcher, ...] | None, MATCHERS] = None
    continue_: Annotated[
        bool | None,
        doc(
            "Try the following sibling routes too after a match. Unset: no. Always on for the "
            "first route, so that other objects get the alert as well."
        ),
    ] = None
    group_by: Annotated[tuple[str, ...] | None, GROUP_BY] = None
    group_wait: Annotated[
        NonEmptyDuration | None,
        doc(
            "How long to collect alerts of a new group before its first notification, for "
            "example `30s`. Unset: inherited."
        ),
    ] = None
    group_interval: Annotated[
        NonEmptyDuration | None,
        doc("How long to wait before reporting changes of a group, as `5m`. Unset: inherited."),
    ] = None
    repeat_interval: Annotated[
        NonEmptyDuration | None,
        doc(
            "How long to wait before sending the same again, as `4h`; best a multiple of "
            "`groupInterval`. Unset: inherited."
        ),
    ] = None
    mute_time_intervals: Annotated[tuple[str, ...] | None, MUTE_TIME_INTERVALS] = None
    active_time_intervals: Annotated[tuple[str, ...] | None, ACTIVE_TIME_INTERVALS] = None
    routes: Annotated[tuple[NestedRoute, ...] | None, ROUTES] = None
