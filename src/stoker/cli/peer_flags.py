"""The flags of a prometheus-operator, as `stoker operator` understands them.

Whoever looks before a takeover wants to hear of every flag, so what is unknown or wrong is noted
here, where `stoker.cli.flags` stops at the first.
"""

from collections.abc import Iterable, Iterator
from enum import StrEnum
from itertools import chain
from typing import Any, Final

from msgspec import Struct

from stoker.cli.flag_table import FLAGS, GROUPS
from stoker.cli.operator_settings import operator_settings
from stoker.cli.version import PEER
from stoker.cluster.takeover.peer import PeerOperator
from stoker.errors import FieldError
from stoker.settings import OperatorSettings
from stoker.spelling import did_you_mean
from stoker.version import Version, parse_version

_IDLE: Final = {flag.name: flag.help for flag in GROUPS["Accepted, without effect"]}
# What concerns the process and its pod, which our own manifests give to ours.
_OF_THE_PROCESS: Final = frozenset(
    {flag.name for title in ("The API server", "Web server") for flag in GROUPS[title]}
    | {"leader-election", "leader-election-namespace", "leader-election-id"}
)
_FILES: Final = frozenset(name for name in FLAGS if name.endswith("-file")) | {"kubeconfig"}
_RELOADER: Final = "prometheus-config-reloader"
_RELOADER_IMAGE: Final = "quay.io/prometheus-operator/prometheus-config-reloader"
_GATES: Final = "feature-gates"
_GATE_WITHOUT_EFFECT: Final = "RemoteWriteCustomResourceDefinition"


class FlagState(StrEnum):
    """What a flag means to us; of an unclear one the value is not in the Deployment."""

    UNDERSTOOD = "understood"
    IDLE = "without effect"
    UNKNOWN = "unknown"
    REFUSED = "refused"
    UNCLEAR = "unclear"


class PeerFlag(Struct, frozen=True):
    """A flag as it is given, and what is to be known of it."""

    name: str
    value: str
    state: FlagState
    note: str = ""

    @property
    def text(self) -> str:
        """The flag as a word of a command line."""
        return f"--{self.name}={self.value}"


class PeerFlags(Struct, frozen=True):
    """All flags of an operator, and the settings that they are.

    `doubts` are reasons for which the settings might not be what they are there, in sentences.
    """

    flags: tuple[PeerFlag, ...]
    settings: OperatorSettings
    doubts: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @property
    def to_pass(self) -> tuple[str, ...]:
        """The arguments for an operator of ours in its place."""
        understood = (each for each in self.flags if each.state is FlagState.UNDERSTOOD)
        return tuple(each.text for each in understood if each.name not in _OF_THE_PROCESS)


def flags_of(peer: PeerOperator | None, further: Iterable[str] = ()) -> PeerFlags:
    """What the flags of an operator mean; `further` are given by hand, and win."""
    unresolved = peer.unresolved if peer else frozenset()
    words = [f"--{each.lstrip('-')}" for each in further]
    told = list(_read(words, frozenset()))
    names = {each.name for each in told}
    given = _read(peer.arguments if peer else (), unresolved)
    found = [*(each for each in given if each.name not in names), *told]
    notes = list(_about(peer)) if peer else []
    if peer and not any(each.name == _RELOADER for each in found):
        image = _image_of(peer.version)
        if image:
            found.append(PeerFlag(_RELOADER, image, FlagState.UNDERSTOOD, "its own default"))
    understood = [each.text for each in found if each.state is FlagState.UNDERSTOOD]
    doubts = [f"--{each.name}: {each.note}" for each in found if _is_doubtful(each)]
    try:
        settings = operator_settings(understood)
    except FieldError as error:
        settings, doubts = OperatorSettings(), [*doubts, str(error)]
    return PeerFlags(tuple(found), settings, tuple(doubts), tuple(notes))


def _is_doubtful(flag: PeerFlag) -> bool:
    return flag.state in (FlagState.UNKNOWN, FlagState.REFUSED, FlagState.UNCLEAR)


def _image_of(version: str) -> str:
    """The reloader of an operator without a flag for it, where it is not ours as well."""
    return f"{_RELOADER_IMAGE}:v{version}" if version and f"v{version}" != PEER else ""


def _about(peer: PeerOperator) -> Iterator[str]:
    """What its version means, in sentences."""
    try:
        version, ours = parse_version(peer.version), parse_version(PEER)
    except ValueError:
        yield f"its version is not known; stoker stands in for {PEER}"
        return
    if version != ours:
        yield _of_another_age(version, ours)


def _of_another_age(version: Version, ours: Version) -> str:
    if version < ours:
        return (
            f"it is older than {PEER}, for which stoker stands in: what rolls might roll with its "
            "own upgrade, too"
        )
    return f"it is newer than {PEER}, for which stoker stands in: what came since is not known"


# --- Words ----------------------------------------------------------------------------------------


def _read(words: Iterable[str], unresolved: frozenset[str]) -> Iterator[PeerFlag]:
    before: dict[str, Any] = {}
    for name, value in _uses(words):
        flag = FLAGS.get(name)
        if flag is None:
            hint = did_you_mean(f"--{name}", [f"--{each}" for each in FLAGS])
            yield PeerFlag(name, value, FlagState.UNKNOWN, f"stoker has no such flag{hint}")
            continue
        variable = next((each for each in unresolved if f"$({each})" in value), None)
        if variable:
            note = f"the value of `{variable}` is not in the Deployment; give the flag by --flag"
            yield PeerFlag(name, value, FlagState.UNCLEAR, note)
            continue
        try:
            before[name] = flag.read(value, before.get(name))
        except ValueError as error:
            yield PeerFlag(name, value, FlagState.REFUSED, str(error))
            continue
        state = FlagState.IDLE if name in _IDLE else FlagState.UNDERSTOOD
        yield PeerFlag(name, value, state, _note(name, value))


def _note(name: str, value: str) -> str:
    if name in _IDLE:
        return _IDLE[name]
    if name in _FILES and value:
        return "names a file, which the pods of stoker need, too"
    if name == _GATES and _GATE_WITHOUT_EFFECT in value:
        return f"{_GATE_WITHOUT_EFFECT} has no effect"
    return ""


def _uses(words: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Each flag with the text of its value, by Go's grammar; other words as flags of that name."""
    rest = iter(words)
    for word in rest:
        name, equals, value = word[2 if word.startswith("--") else 1 :].partition("=")
        if not word.startswith("-"):
            yield word, ""
            continue
        flag = FLAGS.get(name)
        if equals or (flag is not None and flag.is_switch):
            yield name, value if equals else "true"
            continue
        following = next(rest, "")
        if flag is None and following.startswith("-"):
            # A switch that we do not know: the next word is a flag of its own.
            yield name, ""
            yield from _uses(chain([following], rest))
            return
        yield name, following
