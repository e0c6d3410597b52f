"""What happens at a takeover, on a terminal and for programs: the worst first."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec

from stoker.cli.diff_text import diff_values, object_value
from stoker.cli.options import TEXT
from stoker.cli.peer_flags import FlagState, PeerFlags
from stoker.cli.terminal import Line, print_coloured
from stoker.cli.values import print_value
from stoker.cluster.takeover.peer import PeerOperator
from stoker.cluster.takeover.report import TakeoverReport
from stoker.compare.change import Pods
from stoker.compare.definitions import Age, DefinitionHandover
from stoker.compare.handover import Handover
from stoker.compare.objects import ObjectChange
from stoker.view.wording import counted

SCHEMA: Final = "stoker/migrate-takeover/v1"
_BOLD, _RED, _GREEN, _YELLOW = 1, 31, 32, 33
_FEW: Final = 5
_PART: Final = "not everything could be seen"


def printed(peer: PeerOperator | None, flags: PeerFlags, found: TakeoverReport, form: str) -> None:
    """Print the report."""
    if form != TEXT:
        print_value(SCHEMA, summary(peer, flags, found), form)
        return
    print_coloured(lines(peer, flags, found))


def lines(peer: PeerOperator | None, flags: PeerFlags, found: TakeoverReport) -> Iterator[Line]:
    """All lines, each with its colour."""
    yield _headline(found), _GREEN if found.is_well else _RED
    for each in found.workloads:
        if not each.is_nothing:
            yield "", 0
            yield from _workload(each)
    sections = (
        ("Cannot be read", found.unusable),
        ("Not known", (*flags.doubts, *found.unknown)),
        ("Left to others", found.left_alone),
        ("The other operator", tuple(_peer(peer, flags))),
        ("Also", (*_kubelet(found), *_definitions(found), *_rights(found), *_adoption(found))),
    )
    for title, told in sections:
        if told:
            yield "", 0
            yield title, _BOLD
            yield from ((f"  {each}", _YELLOW if title == "Not known" else 0) for each in told)


def _headline(found: TakeoverReport) -> str:
    every = counted(len(found.workloads), "workload")
    disagreements = sum(len(each.disagreements) for each in found.workloads) + len(found.unusable)
    refused = sum(bool(each.refused) for each in found.workloads)
    told = [
        f"pods of {counted(found.restarts, 'workload')} change" if found.restarts else "",
        f"{counted(refused, 'workload')} not reconciled" if refused else "",
        f"{counted(disagreements, 'resource')} judged otherwise" if disagreements else "",
    ]
    unclear = sum(bool(each.unknown) for each in found.workloads)
    if unclear or found.unknown:
        told.append(
            f"of {counted(unclear, 'workload')} not all could be seen" if unclear else _PART
        )
    nothing = f"nothing would happen to {found.untouched:,} of {every}"
    return "; ".join([nothing, *(each for each in told if each)])


# --- Workloads ------------------------------------------------------------------------------------

_PODS: Final = {
    Pods.STAY: "pods stay",
    Pods.ROLL: "pods roll",
    Pods.START: "pods start",
    Pods.END: "pods end",
}


def _workload(each: Handover) -> Iterator[Line]:
    is_bad = each.refused or each.pods in (Pods.ROLL, Pods.END)
    yield f"{each.workload}: {_PODS[each.pods]}", _RED if is_bad else _YELLOW
    if each.refused:
        yield f"  stoker would write nothing: {each.refused}", _RED
    if each.said:
        yield f"  its status says what stoker does not: {each.said}", 0
    for changed in each.sets:
        yield from _set(changed)
    for one in each.disagreements:
        why = f": {one.reason}" if one.reason else ""
        yield f"  {one.resource}: {one.before} so far, {one.after} by stoker{why}", 0
    for word, names in (("new", each.new), ("gone", each.gone), ("written", each.written)):
        if names:
            yield f"  {word:9}{_some(names)}", 0
    if each.parts:
        yield f"  {'reads':9}{_some(each.parts)} otherwise", 0


def _set(one: ObjectChange) -> Iterator[Line]:
    what = "is recreated, around its pods; " if one.replaced else ""
    what += "waits for you to delete its pods; " if one.waits else ""
    yield f"  {one.title}: {what}{_some(one.paths) or one.action}", 0
    for file in one.files:
        yield from ((f"    {line}", 0) for line in file.lines if line[:1] in "+-")


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _FEW:,} more" if len(names) > _FEW else ""
    return ", ".join(names[:_FEW]) + more


# --- All around -----------------------------------------------------------------------------------


def _peer(peer: PeerOperator | None, flags: PeerFlags) -> Iterator[str]:
    if peer:
        version = f" v{peer.version}" if peer.version else ""
        rests = "" if peer.replicas else "; it does not run, so what it wrote may be old"
        yield f"Deployment {peer.title}, prometheus-operator{version}{rests}"
    yield from flags.notes
    for each in flags.flags:
        if each.state is FlagState.IDLE:
            yield f"{each.text}: without effect. {each.note}"
        elif each.state is FlagState.UNDERSTOOD and each.note:
            yield f"{each.text}: {each.note}"
    if peer and peer.environment:
        yield f"environment that is not passed on: {', '.join(peer.environment)}"


def _kubelet(found: TakeoverReport) -> Iterator[str]:
    kubelet = found.kubelet
    for word, names in (("comes", kubelet.new), ("goes", kubelet.gone)):
        if names:
            yield f"for kubelets {word} {_some(names)}"
    if kubelet.written:
        yield f"for kubelets {_some(kubelet.written)} is written otherwise"


def _definitions(found: TakeoverReport) -> Iterator[str]:
    alike: dict[tuple[str, str], list[str]] = {}
    for each in found.definitions:
        version = f" ({each.version})" if each.version else ""
        for sentence in _about(each):
            alike.setdefault((sentence, version), []).append(each.kind)
    for (sentence, version), kinds in alike.items():
        yield f"definition of {', '.join(kinds)}{version}: {sentence}"


def _about(each: DefinitionHandover) -> Iterator[str]:
    if each.age is Age.MISSING:
        yield "is not installed"
    if each.lacks:
        yield f"without an update, {_count(each.lacks)} of stoker's would be dropped"
    if each.alone:
        yield f"{_count(each.alone)} that stoker does not have: {_some(each.alone)}"
    if each.conversion:
        yield f"the Service {each.conversion} converts its versions: `stoker crds` needs to be told"
    elif each.unserved:
        yield f"serves {', '.join(each.unserved)}, which stoker's does with a webhook only"


def _count(paths: Sequence[str]) -> str:
    return f"{counted(len(paths), 'field')}"


def _rights(found: TakeoverReport) -> Iterator[str]:
    rights = found.rights
    if rights.lacks:
        yield (
            f"{rights.account} lacks {len(rights.lacks):,} of {rights.asked:,} rights that stoker "
            f"needs; deploy/ has a role of its own: {_some(rights.lacks)}"
        )
    if rights.you_lack:
        yield f"to take over you would need to {_some(rights.you_lack)}"


def _adoption(found: TakeoverReport) -> Iterator[str]:
    adoption = found.adoption
    if adoption.objects:
        fields = "its fields become stoker's; nothing about them changes"
        yield f"{counted(adoption.objects, 'object')} of the other operator: {fields}"
    if adoption.finalizers:
        yield f"its finalizer is taken off {counted(adoption.finalizers, 'workload')}"
    if adoption.overruled:
        yield f"what others changed by hand is undone: {_some(adoption.overruled)}"


# --- For programs ---------------------------------------------------------------------------------


def summary(peer: PeerOperator | None, flags: PeerFlags, found: TakeoverReport) -> dict[str, Any]:
    """The members of the schema."""
    return {
        "source": found.source,
        "headline": _headline(found),
        "well": found.is_well,
        "untouched": found.untouched,
        "operator": _operator(peer, flags),
        "workloads": [_handover(each) for each in found.workloads],
        "leftAlone": found.left_alone,
        "unusable": found.unusable,
        "kubelet": msgspec.to_builtins(found.kubelet),
        "definitions": _plain(found.definitions),
        "rights": msgspec.to_builtins(found.rights),
        "adoption": msgspec.to_builtins(found.adoption),
        "unknown": [*flags.doubts, *found.unknown],
    }


def _operator(peer: PeerOperator | None, flags: PeerFlags) -> dict[str, Any]:
    told = {"namespace": peer.namespace, "name": peer.name} if peer else {}
    more = {"version": peer.version, "image": peer.image} if peer else {}
    rest = {"replicas": peer.replicas, "account": peer.account} if peer else {}
    return {
        **told,
        **more,
        **rest,
        "environment": peer.environment if peer else (),
        "flags": _plain(flags.flags),
        "arguments": flags.to_pass,
        "notes": flags.notes,
    }


def _handover(each: Handover) -> dict[str, Any]:
    return {
        "workload": each.workload,
        "pods": each.pods,
        "nothing": each.is_nothing,
        "refused": each.refused,
        "said": each.said,
        "judged": _plain(each.disagreements),
        "sets": [
            object_value(one) | {"waits": one.waits, "diffs": diff_values(one.files)}
            for one in each.sets
        ],
        "new": each.new,
        "gone": each.gone,
        "written": each.written,
        "parts": each.parts,
        "unknown": each.unknown,
    }


def _plain(values: Iterable[Any]) -> list[Any]:
    return [msgspec.to_builtins(each) for each in values]
