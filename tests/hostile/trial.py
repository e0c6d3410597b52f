"""One payload beside a well-behaved neighbour, through the functions that all commands use.

A trial says what is not as it must be, in sentences; none is said where all is well:

- the API server's schema refuses what must be refused, and nothing else;
- what is left out is left out for the reason and at the path that the payload names, and the
  configuration is to the byte what it is without the attacker;
- what is used adds a part of its own: everything of the neighbour is there as before, no key and no
  name is the tenant's to choose, and without the object nothing of it stays behind;
- nothing that was read from a Secret is said about it.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final

import yaml
from msgspec import Struct

from stoker.api.admit import Admission, admit
from stoker.api.convert import typed
from stoker.api.kinds import version_of
from stoker.errors import DecodeError
from stoker.plan import Kept, kept_of
from stoker.ref import ref_of
from stoker.select.assets import AssetsAtHand
from stoker.settings import Capabilities
from stoker.validate.findings import Reason
from stoker.validate.verdicts import Verdict
from tests.fuzz.enforcement import safe
from tests.hostile.payload import ATTACKER, Json, LeftOut, Payload, Pruned, Refused
from tests.hostile.world import CANARY, LABEL, contents, neighbours, workload

_JOBS: Final = {
    "ServiceMonitor": "serviceMonitor",
    "PodMonitor": "podMonitor",
    "Probe": "probe",
    "ScrapeConfig": "scrapeConfig",
}


class Made(Struct, frozen=True):
    """What a workload makes: its configuration, its rule files, and the files to mount."""

    text: str
    rules: Mapping[str, str]
    assets: Mapping[str, str]


def problems(payload: Payload) -> list[str]:
    """What is not as the payload says."""
    admission = _admitted(payload)
    refused = list(_of_schema(payload, admission))
    if isinstance(payload.outcome, Refused) or refused:
        return refused + _stored_anyway(payload)
    return list(_of_workload(payload, typed(_uid(admission.stored))))


def _admitted(payload: Payload) -> Admission:
    given = payload.manifest()
    version = version_of(given["apiVersion"], given["kind"])
    assert version
    return admit(version, given)


def _of_schema(payload: Payload, admission: Admission) -> Iterator[str]:
    paths = [finding.path for finding in admission.findings]
    if isinstance(payload.outcome, Refused):
        if payload.path not in paths:
            yield f"the schema refuses {paths}, not {payload.path}"
    elif paths:
        yield f"the schema refuses it at {paths}: {admission.findings[0].message}"
    if isinstance(payload.outcome, Pruned) and not admission.unknown:
        yield "nothing is pruned"


def _stored_anyway(payload: Payload) -> list[str]:
    """What the schema refuses may be older than the schema: nothing may break on it."""
    try:
        resource = typed(_uid(payload.manifest()))
    except DecodeError:
        return []
    return list(_beside_neighbour(payload, resource, None))


def _uid(manifest: Json) -> Json:
    """The object with a UID, as an API server would give it one."""
    uid = {"uid": "00000000-0000-4000-8000-00000000000a"}
    return manifest | {"metadata": manifest["metadata"] | uid}


# --- Beside the neighbour -------------------------------------------------------------------------


def _of_workload(payload: Payload, resource: Any) -> Iterator[str]:
    yield from _beside_neighbour(payload, resource, payload)


def _beside_neighbour(payload: Payload, resource: Any, judged: Payload | None) -> Iterator[str]:
    """What is wrong when the object is added and taken away again.

    Without `judged` it may be used or left out, if only the neighbour has what it had.
    """
    kind = "Alertmanager" if payload.kind == "AlertmanagerConfig" else "Prometheus"
    kept, before = _kept(kind, payload.workload)
    assets, key = AssetsAtHand(contents(payload.vault)), ref_of(resource)
    kept.put_all({key: resource}, assets)
    found = kept.verdict(key)
    assert found
    after = _made(kept, assets)
    kept.remove(key, assets)
    verdict, ignored = found
    if judged:
        yield from _of_verdict(judged, verdict)
    if any(finding.reason is Reason.UNFORESEEN for finding in verdict.findings):
        yield verdict.message
    said = "".join((verdict.message, *map(str, ignored)))
    if CANARY in said:
        yield f"the value of a Secret is told: {said[:200]}"
    yield from _of_neighbour(before, after, verdict)
    if verdict.accepted:
        yield from _of_own(payload, before, after)
    if _made(kept, assets) != before:
        yield "something of it stays behind"


def _of_verdict(payload: Payload, verdict: Verdict) -> Iterator[str]:
    found = [(str(finding.reason), finding.path) for finding in verdict.findings]
    if isinstance(payload.outcome, LeftOut):
        if not any(is_meant(payload, *each) for each in found):
            wanted = f"{'/'.join(payload.outcome.reasons)} at {payload.path}"
            yield f"must be left out for {wanted}, and is {found[:3] or 'used'}"
    elif found:
        yield f"must be used, and is left out: {verdict.message[:200]}"


def is_meant(payload: Payload, reason: str, path: str) -> bool:
    """Whether a finding is the one that the payload names; what costs too much is found below."""
    reasons = payload.outcome.reasons if isinstance(payload.outcome, LeftOut) else ()
    below = len(reasons) > 1 or "OverBudget" in reasons
    return reason in reasons and (path == payload.path or (below and path.startswith(payload.path)))


@cache
def _kept(kind: str, name: str) -> tuple[Kept, Made]:
    """A workload that has taken the neighbour's objects, and what it makes of them."""
    given: Any = typed(workload(kind, name))
    assets = AssetsAtHand(contents({}))
    kept = kept_of(given, Capabilities(), assets, None)
    resources: list[Any] = [typed(_uid(_stored(each))) for each in neighbours()]
    alerting = kind == "Alertmanager"
    wanted = [
        each for each in resources if (type(each).__name__ == "AlertmanagerConfig") == alerting
    ]
    kept.put_all({ref_of(each): each for each in wanted}, assets)
    assert all(verdict.accepted for verdict in kept.verdicts.values()), kept.verdicts
    return kept, _made(kept, assets)


def _stored(given: Json) -> Json:
    version = version_of(given["apiVersion"], given["kind"])
    assert version
    return admit(version, given).stored


def _made(kept: Kept, assets: AssetsAtHand) -> Made:
    held = kept.contents(assets)
    files = {name: text for each in getattr(held, "rule_files", ()) for name, text in each.items()}
    return Made(kept.text(), files, dict(held.asset_files))


def _of_neighbour(before: Made, after: Made, verdict: Verdict) -> Iterator[str]:
    if not verdict.accepted and after != before:
        yield "it is left out, and yet changes what is written"
    if not is_within(before.text, after.text):
        yield "lines of the neighbour are gone from the configuration"
    for name, text in before.rules.items():
        if after.rules.get(name) != text:
            yield f"rule file {name} of the neighbour is another"
    for name, text in before.assets.items():
        if after.assets.get(name) != text:
            yield f"file {name} of the neighbour is another"


def is_within(before: str, after: str) -> bool:
    """Whether all lines are still there, in their order."""
    rest = iter(after.split("\n"))
    return all(line in rest for line in before.split("\n"))


def inserted(before: str, after: str) -> str | None:
    """The lines that stand between the others in one piece; None where that is not all."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    start = next((at for at, line in enumerate(old) if line != new[at]), len(old))
    end = start + len(new) - len(old)
    return "".join(new[start:end]) if new[:start] + new[end:] == old else None


# --- What is the attacker's own -------------------------------------------------------------------


def _of_own(payload: Payload, before: Made, after: Made) -> Iterator[str]:
    own = f"{ATTACKER}/{payload.name}"
    if payload.kind == "PrometheusRule":
        yield from _of_rules(payload, before, after)
    elif payload.kind == "AlertmanagerConfig":
        yield from _of_alerting(_read(before.text), _read(after.text), f"{own}/")
    else:
        yield from _of_jobs(payload, inserted(before.text, after.text), own)


def _of_jobs(payload: Payload, text: str | None, own: str) -> Iterator[str]:
    if text is None:
        yield "more than jobs in one place was added"
        return
    start = f"{_JOBS[payload.kind]}/{own}"
    for job in _read(text):
        name = job["job_name"]
        if name != start and not name.startswith(f"{start}/"):
            yield f"a job of the name {name[:80]!r}"
        if payload.workload == "enforced":
            yield from _of_label(payload, job)


def _of_label(payload: Payload, job: Json) -> Iterator[str]:
    enforced = {"target_label": LABEL, "replacement": ATTACKER}
    if not safe(job.get("metric_relabel_configs") or [], enforced):
        yield "the enforced label can be changed on samples"
    if not safe(job["relabel_configs"], enforced):
        yield "the enforced label can be changed on targets"


def _of_alerting(old: Json, new: Json, prefix: str) -> Iterator[str]:
    for section in ("receivers", "mute_time_intervals", "time_intervals"):
        before, after = old.pop(section, []), new.pop(section, [])
        if [each for each in after if not each["name"].startswith(prefix)] != before:
            yield f"names in {section} are not the attacker's own"
    rules = [each for each in new.pop("inhibit_rules", []) if each not in old["inhibit_rules"]]
    del old["inhibit_rules"]
    for rule in rules:
        for side in ("source_matchers", "target_matchers"):
            if f'{LABEL}="{ATTACKER}"' not in rule.get(side, []):
                yield f"an inhibition rule without the namespace in {side}"
    routes = new["route"].pop("routes", [])
    for route in [each for each in routes if each not in old["route"].get("routes", [])]:
        if f'{LABEL}="{ATTACKER}"' not in route.get("matchers", []) or not route.get("continue"):
            yield "a route that is not held to its namespace"
    old["route"].pop("routes", None)
    if old != new:
        yield "something else changed"


def _of_rules(payload: Payload, before: Made, after: Made) -> Iterator[str]:
    (name,) = after.rules.keys() - before.rules.keys() or {""}
    if before.text != after.text:
        yield "a rule changes more than rules"
    groups = _read(after.rules.get(name, "")).get("groups", [])
    given = payload.spec.get("groups") or []
    if [each["name"] for each in groups] != [each["name"] for each in given]:
        yield "the groups are others than those that were written"
    if payload.workload == "enforced":
        for group in groups:
            yield from _of_enforced_rules(group)
        return
    for written, read in zip(given, groups, strict=True):
        for own, rule in zip(written.get("rules") or (), read.get("rules") or (), strict=True):
            for field in ("alert", "record", "labels", "annotations"):
                if (own.get(field) or None) != rule.get(field):
                    yield f"{field} is read as {rule.get(field)!r:.80}"


def _of_enforced_rules(group: Json) -> Iterator[str]:
    for rule in group["rules"]:
        if rule["labels"].get(LABEL) != ATTACKER:
            yield "the label of the rule is another"
        texts = [rule["expr"], *(rule.get("annotations") or {}).values(), *rule["labels"].values()]
        for text in texts:
            plain = text.replace("\\", "")
            reads = (
                text is rule["expr"] or "query" in text.replace("`query`", "").partition("/*")[0]
            )
            if "info(" in text and plain.count(f'{LABEL}="{ATTACKER}"') < 2:
                yield f"info() reads others: {text[:100]}"
            if reads and f'{LABEL}="{ATTACKER}"' not in plain:
                yield f"reads others: {text[:100]}"


def _read(text: str) -> Any:
    return yaml.load(text, yaml.CSafeLoader) or {}
