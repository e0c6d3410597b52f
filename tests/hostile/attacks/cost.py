"""Cost: texts, lists and values that are long, many or deep, beyond what one object may be.

Sizes come from the table of limits, so that a limit that is raised is still tried.
"""

from typing import Any, Final

from stoker.limits import DEFAULTS
from tests.hostile.payload import HOOK, USED, Attack, Json, LeftOut, Outcome, key

ATTACK: Final = Attack("cost")

OVER: Final = "OverBudget"
_SAID: Final = (OVER,)
_END: Final = "spec.endpoints[0]"
_RULE: Final = "spec.groups[0].rules[0]"


def over(path: str, *, webhook: bool = True) -> LeftOut:
    """Left out for its cost, somewhere below a path."""
    return LeftOut(_SAID, path, webhook)


def most(limit: str) -> int:
    """What a limit is."""
    return DEFAULTS[limit]


def many(limit: str, item: Any) -> list[Any]:
    """One more of them than there may be."""
    return [item] * (most(limit) + 1)


def text(limit: str, repeated: str = "x") -> str:
    """A text that is longer than it may be."""
    return repeated * (most(limit) // len(repeated) + 1)


def at(
    kind: str, place: str, value: Any, about: str, then: Outcome | None = None, **more: Any
) -> None:
    """One payload; where nothing else is said, it costs too much at its place."""
    ATTACK.at(kind, place, value, about=about, then=then or over(place), **more)


# --- How many -------------------------------------------------------------------------------------

at("ServiceMonitor", "spec.endpoints", many("endpoints", {"port": "a"}), "endpoints")
at("PodMonitor", "spec.podMetricsEndpoints", many("endpoints", {}), "endpoints")
_STEP: Final = {"targetLabel": "a"}
at("ServiceMonitor", f"{_END}.relabelings", many("relabelings", _STEP), "relabelings")
at("ScrapeConfig", "spec.metricRelabelings", many("relabelings", _STEP), "relabelings of samples")
_HALF: Final = [{"relabelings": [_STEP] * (most("relabelings") // 10)}] * 11
at("ServiceMonitor", "spec.endpoints", _HALF, "relabelings of many endpoints")
at("Probe", "spec.targets.staticConfig.static", many("targets", "a"), "targets")
_TARGETS: Final = [f"a{number}" for number in range(most("targets") + 1)]
at("ScrapeConfig", "spec.staticConfigs[0].targets", _TARGETS, "targets")
at(
    "ScrapeConfig",
    "spec.staticConfigs",
    many("discoveries", {"targets": ["a"]}),
    "lists of targets",
)
at("ScrapeConfig", "spec.httpSDConfigs", many("discoveries", {"url": "http://a"}), "discoveries")
_GROUPS: Final = [{"name": f"g{number}"} for number in range(most("groups") + 1)]
at("PrometheusRule", "spec.groups", _GROUPS, "groups")
at("PrometheusRule", "spec.groups[0].rules", many("rules", {"record": "a", "expr": "1"}), "rules")
_LABELS: Final = {f"l{number}": "x" for number in range(most("members") + 1)}
at("PrometheusRule", f"{_RULE}.labels", _LABELS, "labels")
_NAMES: Final = [f"l{number}" for number in range(most("items") + 1)]
at("AlertmanagerConfig", "spec.route.groupBy", _NAMES, "labels to group by")
at("ServiceMonitor", "spec.targetLabels", _NAMES, "labels to copy")
at("ServiceMonitor", "spec.namespaceSelector.matchNames", _NAMES, "namespaces")
at("ServiceMonitor", f"{_END}.relabelings[0].sourceLabels", _NAMES, "labels to read", beside=_STEP)
_RECEIVERS: Final = [{"name": f"r{number}"} for number in range(most("receivers") + 1)]
at("AlertmanagerConfig", "spec.receivers", _RECEIVERS, "receivers", then=over("spec.receivers"))
at(
    "AlertmanagerConfig",
    "spec.receivers[0].webhookConfigs",
    many("integrations", HOOK),
    "integrations",
)
at("AlertmanagerConfig", "spec.route.routes", many("routes", {}), "routes")
_MATCHER: Final = {"name": "a", "matchType": "=", "value": "b"}
at("AlertmanagerConfig", "spec.route.matchers", many("matchers", _MATCHER), "matchers")
at("AlertmanagerConfig", "spec.inhibitRules", many("inhibit-rules", {}), "inhibition rules")
_INTERVALS: Final = [{"name": f"i{number}"} for number in range(most("time-intervals") + 1)]
at("AlertmanagerConfig", "spec.muteTimeIntervals", _INTERVALS, "time intervals")

# --- How long -------------------------------------------------------------------------------------

at("ServiceMonitor", f"{_END}.path", text("text-length"), "a path")
at("PrometheusRule", "spec.groups[0].name", text("text-length"), "the name of a group")
at("AlertmanagerConfig", "spec.route.groupBy[0]", text("text-length", "é"), "a label to group by")
at(
    "PrometheusRule",
    f"{_RULE}.annotations",
    {text("text-length"): "x"},
    "the name of an annotation",
)
_FOUR: Final = text("text-length")[:-2]
_PARTS: Final = {f"p{number}": _FOUR for number in range(most("object-length") // len(_FOUR) + 1)}
at("PrometheusRule", f"{_RULE}.annotations", _PARTS, "annotations together")
at("PrometheusRule", f"{_RULE}.expr", text("expression-length", "1 "), "an expression")
at(
    "PrometheusRule",
    f"{_RULE}.expr",
    "a" + "+a" * (most("expression-tokens") // 2 + 1),
    "a sum",
)
at("PrometheusRule", f"{_RULE}.expr", "(" * most("expression-tokens") + "a", "brackets")
_SUMMARY: Final = f"{_RULE}.annotations[summary]"
_BELOW: Final = over(f"{_RULE}.annotations.summary")
at("PrometheusRule", _SUMMARY, "{{ 1 }}" + text("template-length"), "a template", _BELOW)
at("PrometheusRule", _SUMMARY, text("template-length", "{{ 1 }}"), "actions of a template", _BELOW)
at("PrometheusRule", _SUMMARY, text("template-length", "{{if 1}}"), "blocks of a template", _BELOW)
at("PrometheusRule", _SUMMARY, "{{ " + text("template-length", "("), "a deep pipeline", _BELOW)
for _about, _name in {"": text("name-length"), " of a megabyte": "x" * 400_000}.items():
    _reference = {"name": _name, "key": "a"}
    at("ServiceMonitor", f"{_END}.bearerTokenSecret", _reference, f"the name of a Secret{_about}")
at(
    "AlertmanagerConfig",
    "spec.receivers[0].webhookConfigs[0].urlSecret",
    {"name": "a", "key": text("name-length")},
    "the name of a key",
)

# --- How heavy ------------------------------------------------------------------------------------

_KEEP: Final = {"action": "keep", "sourceLabels": ["a"]}
# Dear to RE2, which compiled them; Go makes a thousand steps of each, which share their ranges.
_SHARED: Final = r"\PN{1000}"
# Go copies the ranges for each of the steps, as long as there are less than a thousand.
_COPIED: Final = r"[\pL\pN]{100}"
for _about, _pattern, _then in (("shared", _SHARED, USED), ("copied", _COPIED, None)):
    _patterns = [f"{number}{_pattern}" for number in range(150)]
    _steps = [_KEEP | {"regex": each} for each in _patterns]
    _about = f"150 patterns with {_about} ranges"
    at("ServiceMonitor", f"{_END}.relabelings", _steps, _about, _then)
    at("ScrapeConfig", "spec.relabelings", _steps, _about, _then)
    _quoted = [each.replace("\\", "\\\\") for each in _patterns]
    _selector = ",".join(f'a{number}=~"{each}"' for number, each in enumerate(_quoted))
    at("PrometheusRule", f"{_RULE}.expr", f"up{{{_selector}}}", _about, _then)
    _in_am = [_MATCHER | {"matchType": "=~", "value": each} for each in _patterns]
    at("AlertmanagerConfig", "spec.route.matchers", _in_am, _about, _then)
for _about, _pattern in {
    "a repeated class": r"[\pL\pM\PN]{900}",
    "nested repetition": "((x{30}){30})" * 60,
    "a long alternative": "|".join(f"{number}x" for number in range(most("pattern-weight") // 4)),
    "folded ranges": r"(?i)[\x{80}-\x{10fffe}]" * 6,
}.items():
    at("ServiceMonitor", f"{_END}.relabelings[0].regex", _pattern, _about, beside=_KEEP)

# --- How deep -------------------------------------------------------------------------------------


def _nested(depth: int) -> Json:
    route: Json = {}
    for _ in range(depth):
        route = {"routes": [route]}
    return route


_DEEP: Final = LeftOut((OVER, "InvalidValue"), "spec.route.routes[0]")
at(
    "AlertmanagerConfig",
    "spec.route.routes[0]",
    _nested(60),
    "60 routes deep",
    LeftOut(path=f"spec.route{'.routes[0]' * 51}"),
)
at(
    "AlertmanagerConfig",
    "spec.route.routes[0]",
    _nested(most("nesting")),
    "routes without end",
    _DEEP,
)

# --- What Secrets make of it ----------------------------------------------------------------------

_LARGE: Final = {"bearerTokenSecret": key("large")}
_TIMES: Final = most("configuration-bytes") // 900_000 + 1
at(
    "ServiceMonitor",
    "spec.endpoints",
    [_LARGE] * _TIMES,
    "a large Secret many times",
    over("spec", webhook=False),
)
at(
    "ServiceMonitor",
    "spec.endpoints",
    [_LARGE] * 600,
    "a large Secret 600 times",
    over("spec", webhook=False),
)
_HEADER: Final = {"secrets": [key("large")] * _TIMES}
at("ScrapeConfig", "spec.httpHeaders[X]", _HEADER, "a large header", over("spec", webhook=False))
_OPS: Final = [{"apiKey": key("large")}] * _TIMES
at(
    "AlertmanagerConfig",
    "spec.receivers[0].opsgenieConfigs",
    _OPS,
    "a large Secret many times",
    over("spec", webhook=False),
)

# --- What honest people write, and more -----------------------------------------------------------

at("ServiceMonitor", "spec.endpoints", [{"port": "a"}] * 100, "a hundred endpoints", USED)
at(
    "PrometheusRule",
    "spec.groups[0].rules",
    [{"record": "a", "expr": "sum(up)"}] * 500,
    "500 rules",
    USED,
)
at("ScrapeConfig", "spec.staticConfigs[0].targets", _TARGETS[:2000], "2000 targets", USED)
at("AlertmanagerConfig", "spec.route.groupBy", _NAMES[:500], "500 labels to group by", USED)
at("PrometheusRule", _SUMMARY, "{{ $value }} " * 2000, "a long annotation", USED)
at("PrometheusRule", f"{_RULE}.expr", "a" + "+a" * 500, "a long sum", USED)
at(
    "ServiceMonitor",
    f"{_END}.relabelings[0].regex",
    "|".join(["namespace-of-somebody"] * 400),
    "many names",
    USED,
    beside=_KEEP,
)
