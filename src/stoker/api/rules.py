"""PrometheusRule: recording and alerting rules."""

from typing import Annotated

from stoker.api.common import RESOURCE_COLUMNS, ConfigResource, Duration, NonEmptyDuration, Text
from stoker.api.core import IntOrString
from stoker.api.crd import Kind, KindVersion
from stoker.api.declare import NO_TEXT, Model, doc, names


class Rule(Model, rename=names(for_="for", keep_firing_for="keep_firing_for")):
    """An expression to record as a series (`record`) or to alert on (`alert`)."""

    record: Annotated[
        str | None, doc("Name of the series that gets the result. Excludes `alert`.")
    ] = None
    alert: Annotated[
        str | None,
        doc("Name of the alert that fires for each series of the result. Excludes `record`."),
    ] = None
    expr: Annotated[IntOrString, doc("PromQL expression to evaluate.")] = NO_TEXT
    for_: Annotated[
        Duration | None,
        doc("Time for which the result must persist before the alert fires. Unset: at once."),
    ] = None
    keep_firing_for: Annotated[
        NonEmptyDuration | None,
        doc("Time for which the alert goes on firing after the result is gone. Unset: none."),
    ] = None
    labels: Annotated[
        dict[str, str] | None,
        doc("Labels to set on the series or the alert. Those of an alert may be templates."),
    ] = None
    annotations: Annotated[
        dict[str, str] | None,
        doc("Texts to send with the alert, e.g. `summary`; may be templates. Alerts only."),
    ] = None


class RuleGroup(
    Model,
    rename=names(
        query_offset="query_offset", partial_response_strategy="partial_response_strategy"
    ),
):
    """Rules that are evaluated one after the other, at the same interval."""

    name: Annotated[Text, doc("Name of the group, unique in this object.")] = NO_TEXT
    rules: Annotated[
        tuple[Rule, ...] | None,
        doc("The rules, in order: a rule sees what those before it have recorded."),
    ] = None
    interval: Annotated[
        Duration | None,
        doc("Time between evaluations. Unset: `evaluationInterval` of the workload."),
    ] = None
    labels: Annotated[
        dict[str, str] | None,
        doc("Labels to add to every rule; a rule's own labels win. Needs Prometheus 3.0 or newer."),
    ] = None
    limit: Annotated[
        int | None,
        doc("Fail a rule that yields more series or alerts than this. 0 or unset: no limit."),
    ] = None
    query_offset: Annotated[
        Duration | None,
        doc(
            "Evaluate as of this long ago, so that late samples count. Unset: `ruleQueryOffset` of "
            "the Prometheus. Needs Prometheus 2.53 or newer."
        ),
    ] = None
    partial_response_strategy: Annotated[
        str | None,
        doc(
            "Whether missing stores fail the evaluation (`abort`) or not (`warn`). "
            "Thanos Ruler only; Prometheus ignores it.",
            pattern="^(?i)(abort|warn)?$",
        ),
    ] = None


class PrometheusRuleSpec(Model):
    """The rules, in groups."""

    groups: Annotated[
        tuple[RuleGroup, ...] | None,
        doc("Groups of rules. Groups run side by side.", listType="map", listMapKeys=("name",)),
    ] = None


class PrometheusRule(ConfigResource):
    """Recording and alerting rules for Prometheus or Thanos Ruler."""

    spec: Annotated[PrometheusRuleSpec, doc("The rules.")] = PrometheusRuleSpec()


PROMETHEUS_RULE = Kind(
    name="PrometheusRule",
    plural="prometheusrules",
    short="promrule",
    versions=(KindVersion("v1", PrometheusRule, columns=RESOURCE_COLUMNS),),
)
