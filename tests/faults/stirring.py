"""Users and accidents that keep operators busy while harm is done to them, and leave no trace.

What the operator made is deleted or damaged by hand, again and again: it must put that right, which
takes reads and writes that can fail. What users want stays as it is, so the state that must come of
it is the same.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress

from tests.faults.mirror import Object
from tests.faults.oracle import Trial
from tests.faults.state import CONTENTS, SETS
from tests.faults.world import World
from tools.api import ApiError, KeptApi

_PAUSE = 0.15
_AT_ONCE = 4
_KINDS = CONTENTS | {"services"}
_OURS = "stoker"
_SELECTORS = frozenset(
    f"{kind}Selector" for kind in ("serviceMonitor", "podMonitor", "probe", "scrapeConfig")
)


def stir(world: World, trial: Trial, dice: random.Random, seconds: float) -> int:
    """Delete and damage for so many seconds, a few at a time; how often something was."""
    end, count = time.monotonic() + seconds, 0
    cluster = world.cluster
    with closing(KeptApi(cluster.url, cluster.token, cluster.ca_file)) as hand:
        while time.monotonic() < end:
            found = list(_made(world, trial))
            for kind, chosen in dice.sample(found, min(len(found), dice.randint(1, _AT_ONCE))):
                trial.excuse(kind, chosen)
                path = world.at(world.place(chosen)).path(kind, chosen["metadata"]["name"])
                _harm(hand, path, chosen, dice)
                count += 1
            world.wait(_PAUSE)
    return count


def _made(world: World, trial: Trial) -> Iterator[tuple[str, Object]]:
    """What operators made and look after now, and will when all is over."""
    found = world.ground.mirror.objects(world.namespaces)
    owners = {each["metadata"]["uid"]: (kind, each) for kind, each in found}
    now = used({world.key(kind, each): each for kind, each in found})
    of_use = now & used(trial.objects)
    for kind, each in sorted(found, key=lambda one: (one[0], one[1]["metadata"]["name"])):
        metadata = each["metadata"]
        references = metadata.get("ownerReferences") or ()
        owned = [owners.get(one["uid"]) for one in references]
        managers = {one["manager"] for one in metadata.get("managedFields") or ()}
        # What a user wrote to it would be lost with it.
        if kind not in _KINDS or managers != {_OURS} or not owned:
            continue
        if world.key(kind, each) not in of_use:
            # It is left as it is, until it goes or is of use again.
            continue
        if all(one and _is_kept(each, one[1], trial.wanted(*one)) for one in owned):
            yield kind, each


def _is_kept(found: Object, owner: Object, later: Object | None) -> bool:
    """Whether somebody puts right what becomes of this, while its owner is like that."""
    # One whose specification was broken just now does not say so yet.
    return all(map(is_looked_after, (owner, later))) and not is_users_own(found, owner)


def used(found: Mapping[str, Object]) -> set[str]:
    """Of objects by their keys, the keys of what StatefulSets and DaemonSets among them name."""
    sets = [(key, each["spec"]) for key, each in found.items() if key.split("/")[1] in SETS]
    return {
        f"{key.split('/')[0]}/{kind}/{name}" for key, spec in sets for kind, name in _named(spec)
    }


def _named(spec: Object) -> Iterator[tuple[str, str]]:
    if service := spec.get("serviceName"):
        yield "services", service
    volumes = spec["template"]["spec"].get("volumes") or ()
    joined = [one for each in volumes for one in (each.get("projected") or {}).get("sources") or ()]
    for one in (*volumes, *joined):
        for kind, plural in (("secret", "secrets"), ("configMap", "configmaps")):
            source = one.get(kind) or {}
            if name := source.get("secretName") or source.get("name"):
                yield plural, name


def is_users_own(found: Object, owner: Object) -> bool:
    """Whether this is the place for a configuration of a user's own: made once, and left alone."""
    if found["metadata"]["name"] != f"prometheus-{owner['metadata']['name']}":
        return False
    return not any(name in _SELECTORS for name in owner.get("spec") or {})


def is_looked_after(owner: Object | None) -> bool:
    """Whether an operator would put right what belongs to this."""
    if owner is None or "deletionTimestamp" in owner.get("metadata", {}):
        return False
    spec = owner.get("spec") or {}
    conditions = (owner.get("status") or {}).get("conditions") or ()
    failed = any(one["type"] == "Reconciled" and one["status"] != "True" for one in conditions)
    return not spec.get("paused") and not failed


def _harm(hand: KeptApi, path: str, found: Object, dice: random.Random) -> None:
    """Delete an object that is at a path, or damage it."""
    version = {"resourceVersion": found["metadata"]["resourceVersion"]}
    damage: Object = {"metadata": {**version, "labels": None}}
    if "data" in found:
        damage = {"metadata": version, "data": None}
    # Somebody may have written to it since, or it may be gone already.
    with suppress(ApiError):
        if dice.random() < 0.5:
            hand.request("DELETE", path, {"preconditions": version})
        else:
            words = f"{path}?fieldManager=kubectl-edit"
            hand.request("PATCH", words, damage, "application/merge-patch+json")
