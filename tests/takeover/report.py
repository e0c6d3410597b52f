"""What became of worlds, in lines and numbers."""

from collections.abc import Iterator, Sequence
from difflib import unified_diff
from typing import Final

from tests.conformance.cases import Case
from tests.conformance.worlds import lines
from tests.takeover.exceptions import is_on_purpose
from tests.takeover.snapshot import Changes, Key, Snapshot
from tests.takeover.trial import Trial

_SHOWN: Final = 12


def report(trial: Trial, worlds: Sequence[Case], *, verbose: bool) -> bool:
    """Print what differs, and whether all of it is on purpose; of worlds, object by object."""
    print(f"{len(trial.before.generations)} StatefulSets and DaemonSets")
    print(f"{len(trial.before.pods)} pods")
    there = Changes.between(trial.before, trial.after)
    excused = excused_sets(there)
    bad = list(unwanted(there, excused))
    mistakes = list(trial.foreseen.mistakes(there))
    bad += [f"foreseen otherwise: {line}" for line in mistakes]
    print(f"foreseen otherwise: {len(mistakes)}")
    for world in worlds:
        bad += _of_world(world, trial, verbose=verbose)
    if not worlds:
        _show_texts(there, trial.before, trial.after)
    _count("taken over", there)
    if trial.back is not None:
        back = Changes.between(trial.after, trial.back)
        bad += [f"on the way back: {line}" for line in unwanted(back, excused)]
        _count("given back", back)
        unlike = Changes.between(trial.before, trial.back)
        # What we made of a workload that the peer cannot finish stays, and is more than before.
        bad += [f"not as it was: {_name(key)}" for key in (*unlike.lost, *unlike.told)]
    for line in bad:
        print(f"NOT ON PURPOSE {line}")
    return not bad


def excused_sets(changes: Changes) -> set[Key]:
    """Those whose pod template had to change, where all of that is on purpose."""
    return {key for key, found in changes.rolled.items() if all(map(is_on_purpose, found))}


def unwanted(changes: Changes, excused: set[Key]) -> Iterator[str]:
    """Pods and objects that should have stayed; pods of a set that is excused need not."""
    for key, found in changes.rolled.items():
        if key not in excused:
            yield from (f"{_name(key)} rolls: {line}" for line in found)
    for key, found in changes.respecified.items():
        yield from (f"{_name(key)} is changed: {line}" for line in found or ["its generation"])
    for key in changes.replaced:
        if not any(_is_of(key, each) for each in excused):
            yield f"{_name(key)}: the pod is replaced"
    yield from (f"{_name(key)}: gone" for key in changes.lost)


def _of_world(world: Case, trial: Trial, *, verbose: bool) -> Iterator[str]:
    namespace = world.given["namespace"]
    for found in lines(world, trial.after.in_namespace(namespace)):
        line = _explained(found, namespace, trial) if "no pods by the peer" in found else found
        if not is_on_purpose(line):
            yield f"{namespace}: {line}"
        elif verbose:
            print(f"on purpose: {namespace}: {line}")


def _explained(line: str, namespace: str, trial: Trial) -> str:
    """The line with what the peer and we said about the workload."""
    kind, _, rest = line.partition(f" {namespace}/")
    key = namespace, f"{kind} {rest.partition(':')[0]}"
    said = trial.before.problems.get(key, "nothing"), trial.after.problems.get(key, "nothing")
    return f"{line} (the peer said: {said[0]}; we: {said[1]})"


def _show_texts(changes: Changes, before: Snapshot, after: Snapshot) -> None:
    for key in changes.told:
        files = [each.objects[key].get("data") or {} for each in (before, after)]
        for file in sorted(files[0].keys() | files[1].keys()):
            theirs, ours = (each.get(file, "").splitlines() for each in files)
            for line in list(unified_diff(theirs, ours, lineterm="", n=1))[:_SHOWN]:
                print(f"{_name(key)} {file} {line}")


def _count(title: str, changes: Changes) -> None:
    print(f"{title}: {', '.join(f'{count} {name}' for name, count in changes.counts().items())}")


def _is_of(pod: Key, workload: Key) -> bool:
    name = workload[1].partition("/")[2]
    return pod[0] == workload[0] and pod[1].rpartition("-")[0] == name


def _name(key: Key) -> str:
    return "/".join(key)
