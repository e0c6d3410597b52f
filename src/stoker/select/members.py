"""Who gets its configuration from what, kept up to date change by change.

With thousands of monitors and a hundred workloads, a change must not match everything with
everything. Selectors are kept in an index by a label that they require, so that the labels of one
object lead to the few selectors that may match it; objects are kept by namespace and by label, so
that a changed workload looks only at what it may choose. Every change answers with the workloads
that must wake: those that had the object, and those that have it now.

The outcome is the same as that of matching everything (`stoker.select.choice.applicable`).
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping
from itertools import chain
from typing import Final, Generic, TypeAlias, TypeVar

from stoker.ref import Ref
from stoker.select.choice import NAMESPACE_NAME, Choice
from stoker.select.grouped import Grouped
from stoker.select.labels import EXISTS, IN, Requirement, Selector
from stoker.select.namespaces import Namespaces

Labels: TypeAlias = Mapping[str, str]
Pair: TypeAlias = tuple[str, str]
K = TypeVar("K", bound=Hashable)

_NOBODY: Final[frozenset[Ref]] = frozenset()
_MOST_SAME: Final = 1024
_OTHERS: Final = ("", None)


class SelectorIndex(Generic[K]):
    """Selectors by key, and which of them match given labels without asking all of them."""

    def __init__(self) -> None:
        self._selectors: dict[K, Selector] = {}
        # By a label and its value, by a label (without a value), and all others.
        self._groups: Grouped[tuple[str, str | None], K] = Grouped()

    def put(self, key: K, selector: Selector | None) -> None:
        """Set or, with None, remove a selector."""
        old = self._selectors.pop(key, None)
        if old is not None:
            for group in _groups(old):
                self._groups.discard(group, key)
        if selector is not None and not selector.nothing:
            self._selectors[key] = selector
            for group in _groups(selector):
                self._groups.add(group, key)

    def matching(self, labels: Labels) -> set[K]:
        """The keys of the selectors that match."""
        candidates = set(self._groups.get(_OTHERS))
        for pair in labels.items():
            candidates.update(self._groups.get(pair))
            candidates.update(self._groups.get((pair[0], None)))
        return {key for key in candidates if self._selectors[key].matches(labels)}


def _groups(selector: Selector) -> list[tuple[str, str | None]]:
    """Where a selector is kept: under every value of one label, under a label, or apart."""
    required = telling_requirement(selector)
    if required is None:
        return [_OTHERS]
    if required.operator == EXISTS:
        return [(required.key, None)]
    return [(required.key, value) for value in required.values]


def telling_requirement(selector: Selector) -> Requirement | None:
    """The requirement that narrows most: a label with few values, or a label at all."""
    equal = [one for one in selector.requirements if one.operator == IN]
    if equal:
        return min(equal, key=lambda one: len(one.values))
    return next((one for one in selector.requirements if one.operator == EXISTS), None)


class _Kind:
    """What is known about the resources of one kind, and who asks for them.

    `scope` is where they are selected from.
    """

    def __init__(self, scope: Namespaces) -> None:
        self.scope = scope
        self.choices: dict[Ref, Choice] = {}
        self.by_labels: SelectorIndex[Ref] = SelectorIndex()
        self.by_namespace_labels: SelectorIndex[Ref] = SelectorIndex()
        self.by_own_namespace: Grouped[str, Ref] = Grouped()
        self.by_name: Grouped[Pair, Ref] = Grouped()
        # The labels of each resource, by namespace.
        self.spaces: dict[str, dict[Ref, Labels]] = {}
        # By a label, and by its value: who has the label at all is who has any value of it.
        self.with_label: dict[str, Grouped[str, Ref]] = {}
        self.looking_in: dict[str, set[Ref]] = {}

    def put_choice(self, key: Ref, wanted: Choice | None) -> None:
        old = self.choices.pop(key, None)
        if old is not None:
            self.by_own_namespace.discard(old.own_namespace, key)
            self.by_name.discard((old.own_namespace, old.named), key)
        self.by_labels.put(key, wanted.labels if wanted else None)
        self.by_namespace_labels.put(key, wanted.namespaces if wanted else None)
        if wanted is not None:
            self.choices[key] = wanted
            if wanted.namespaces is None:
                self.by_own_namespace.add(wanted.own_namespace, key)
            if wanted.named:
                self.by_name.add((wanted.own_namespace, wanted.named), key)

    def put_labels(self, key: Ref, labels: Labels | None) -> None:
        space = self.spaces.setdefault(key.namespace, {})
        for name, value in space.pop(key, {}).items():
            self.with_label[name].discard(value, key)
            if not self.with_label[name]:
                del self.with_label[name]
        if labels is not None:
            space[key] = labels
            for name, value in labels.items():
                self.with_label.setdefault(name, Grouped()).add(value, key)
        elif not space:
            del self.spaces[key.namespace]

    def labels(self, key: Ref) -> Labels | None:
        """The labels of a resource, None if there is none."""
        return self.spaces.get(key.namespace, {}).get(key)

    def askers(self, key: Ref, looking: set[Ref]) -> set[Ref]:
        """The workloads that ask for a resource; `looking` are those that look where it is."""
        by_labels = self.by_labels.matching(self.labels(key) or {}) & looking
        return by_labels.union(self.by_name.get((key.namespace, key.name)))

    def candidates(self, wanted: Choice) -> Iterable[Ref]:
        """At least what a selector takes; little more, where it requires a label."""
        if wanted.labels.nothing:
            return ()
        required = telling_requirement(wanted.labels)
        if required is None:
            own = self.spaces.get(wanted.own_namespace, {})
            return chain(*self.spaces.values()) if wanted.namespaces is not None else own
        with_label = self.with_label.get(required.key)
        if with_label is None:
            return ()
        if required.operator == EXISTS:
            return with_label.keys()
        return {key for value in required.values for key in with_label.get(value)}


class Members:
    """The resources of every workload, and the workloads of every resource.

    `scopes` say where resources of a kind are selected from; one that is called by its name may lie
    elsewhere.
    """

    def __init__(self, scopes: Mapping[str, Namespaces] | None = None) -> None:
        self._scopes = scopes or {}
        self._kinds: dict[str, _Kind] = {}
        self._namespaces: dict[str, Labels] = {}
        self._members: defaultdict[Ref, set[Ref]] = defaultdict(set)
        # Most resources are for the same few workloads, and share the set of them.
        self._users: dict[Ref, frozenset[Ref]] = {}
        self._same: dict[frozenset[Ref], frozenset[Ref]] = {}

    def members(self, workload: Ref) -> frozenset[Ref]:
        """The resources that apply to a workload."""
        return frozenset(self._members.get(workload, ()))

    def users(self, resource: Ref) -> frozenset[Ref]:
        """The workloads that a resource applies to."""
        return self._users.get(resource, _NOBODY)

    def askers(self, kind: str) -> list[Ref]:
        """The workloads that ask for resources of a kind."""
        known = self._kinds.get(kind)
        return (
            []
            if known is None
            else [key for key, wanted in known.choices.items() if not wanted.labels.nothing]
        )

    def put_resource(self, key: Ref, labels: Labels | None) -> frozenset[Ref]:
        """A resource was added or changed, or with None deleted; who must wake."""
        kind = self._kind(key.kind)
        kind.put_labels(key, labels)
        before = self.users(key)
        after: set[Ref] = set()
        if labels is not None:
            after = kind.askers(key, self._looking_in(kind, key.namespace))
        woken = before | after
        self._set_users(key, after)
        return woken

    def put_namespace(self, name: str, labels: Labels | None) -> frozenset[Ref]:
        """A namespace was added or changed, or with None deleted; who must wake."""
        before = [(kind, self._looking_in(kind, name)) for kind in self._kinds.values()]
        if labels is None:
            self._namespaces.pop(name, None)
        else:
            self._namespaces[name] = labels
        woken: set[Ref] = set()
        for kind, looking in before:
            del kind.looking_in[name]
            if looking != self._looking_in(kind, name):
                woken |= self._rejudge_namespace(kind, name)
        return frozenset(woken)

    def put_workload(self, key: Ref, choices: Mapping[str, Choice] | None) -> bool:
        """A workload was added or changed (its choices by kind), or with None deleted.

        Whether its members changed.
        """
        before = self.members(key)
        wanted = choices or {}
        for name in {*self._kinds, *wanted}:
            kind = self._kind(name)
            if kind.choices.get(key) != wanted.get(name):
                kind.put_choice(key, wanted.get(name))
                kind.looking_in.clear()
                self._rejudge_workload(kind, name, key)
        return before != self.members(key)

    def _kind(self, name: str) -> _Kind:
        known = self._kinds.get(name)
        if known is None:
            known = self._kinds[name] = _Kind(self._scopes.get(name, Namespaces()))
        return known

    def _looking_in(self, kind: _Kind, namespace: str) -> set[Ref]:
        """The workloads that look for a kind in a namespace."""
        known = kind.looking_in.get(namespace)
        if known is None:
            labels = self._namespaces.get(namespace, {NAMESPACE_NAME: namespace})
            known = kind.by_namespace_labels.matching(labels)
            known.update(kind.by_own_namespace.get(namespace))
            known = known if kind.scope.covers(namespace) else set()
            kind.looking_in[namespace] = known
        return known

    def _rejudge_namespace(self, kind: _Kind, namespace: str) -> set[Ref]:
        """Match again what is in a namespace; the workloads that gained or lost something."""
        looking = self._looking_in(kind, namespace)
        woken: set[Ref] = set()
        for key in kind.spaces.get(namespace, {}):
            after = kind.askers(key, looking)
            woken |= self.users(key) ^ after
            self._set_users(key, after)
        return woken

    def _rejudge_workload(self, kind: _Kind, name: str, workload: Ref) -> None:
        """Match again what a workload may choose."""
        wanted = kind.choices.get(workload)
        after: set[Ref] = set()
        if wanted is not None:
            after = {key for key in kind.candidates(wanted) if self._takes(kind, wanted, key)}
            called = Ref(name, wanted.own_namespace, wanted.named)
            after |= {called} if kind.labels(called) is not None else set()
        before = {key for key in self._members[workload] if key.kind == name}
        for key in before - after:
            self._keep_users(key, self.users(key) - {workload})
        for key in after - before:
            self._keep_users(key, self.users(key) | {workload})
        self._members[workload] = (self._members[workload] - before) | after
        if not self._members[workload]:
            del self._members[workload]

    def _takes(self, kind: _Kind, wanted: Choice, key: Ref) -> bool:
        return (
            kind.scope.covers(key.namespace)
            and wanted.takes_namespace(key.namespace, self._namespaces.get(key.namespace))
            and wanted.labels.matches(kind.labels(key) or {})
        )

    def _set_users(self, key: Ref, after: set[Ref]) -> None:
        before = self.users(key)
        for workload in before - after:
            self._members[workload].discard(key)
        for workload in after - before:
            self._members[workload].add(key)
        self._keep_users(key, frozenset(after))

    def _keep_users(self, key: Ref, users: frozenset[Ref]) -> None:
        if not users:
            self._users.pop(key, None)
            return
        if len(self._same) >= _MOST_SAME:
            self._same.clear()
        self._users[key] = self._same.setdefault(users, users)
