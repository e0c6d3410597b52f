"""What roles among manifests allow a service account, as the API server would decide."""

from collections.abc import Iterable, Iterator

from stoker.select.labels import selector_of
from stoker.targets.objects import ObjectModel
from stoker.view.listing import Need
from stoker.view.objects import (
    ClusterRole,
    ClusterRoleBinding,
    PolicyRule,
    Role,
    RoleBinding,
    Subject,
)

_VERBS = ("list", "watch")


def allowed_by(objects: Iterable[ObjectModel], need: Need) -> bool | None:
    """Whether roles allow what is needed; None where that is not known.

    An account that no binding names may have its roles from somewhere else, a role that is not
    here may allow anything, and one that is aggregated what others allow that are not here.
    """
    found = list(objects)
    bindings = [
        each
        for each in found
        if isinstance(each, RoleBinding) and _names(each.subjects or (), need.account)
    ]
    if not bindings:
        return None
    relevant = [each for each in bindings if _covers(each, need)]
    roles = [_role(found, each) for each in relevant]
    rules = [rule for role in roles if role is not None for rule in _rules(found, role)]
    if all(any(_grants(rule, verb, need) for rule in rules) for verb in _VERBS):
        return True
    return None if any(role is None or _is_aggregated(role) for role in roles) else False


def _covers(binding: RoleBinding, need: Need) -> bool:
    if isinstance(binding, ClusterRoleBinding):
        return True
    return need.namespace != "" and binding.namespace == need.namespace


def _names(subjects: Iterable[Subject], account: str) -> bool:
    namespace, _, name = account.partition("/")
    groups = {
        "system:serviceaccounts",
        f"system:serviceaccounts:{namespace}",
        "system:authenticated",
    }
    for each in subjects:
        if each.kind == "ServiceAccount" and (each.namespace, each.name) == (namespace, name):
            return True
        if each.kind == "Group" and each.name in groups:
            return True
        if each.kind == "User" and each.name == f"system:serviceaccount:{namespace}:{name}":
            return True
    return False


def _role(objects: Iterable[ObjectModel], binding: RoleBinding) -> Role | None:
    """The role that a binding gives; None where it is not among the objects."""
    wanted = binding.role_ref
    for each in objects:
        if not isinstance(each, Role) or each.name != wanted.name:
            continue
        of_cluster = isinstance(each, ClusterRole)
        here = of_cluster or each.namespace == binding.namespace
        if here and of_cluster is (wanted.kind == "ClusterRole"):
            return each
    return None


def _is_aggregated(role: Role) -> bool:
    return isinstance(role, ClusterRole) and role.aggregation_rule is not None


def _rules(objects: Iterable[ObjectModel], role: Role) -> Iterator[PolicyRule]:
    """The rules of a role, and of those that it is aggregated of."""
    yield from role.rules or ()
    wanted = role.aggregation_rule if isinstance(role, ClusterRole) else None
    selectors = [selector_of(each) for each in (wanted and wanted.cluster_role_selectors) or ()]
    for each in objects:
        if isinstance(each, ClusterRole) and any(some.matches(each.labels) for some in selectors):
            yield from each.rules or ()


def _grants(rule: PolicyRule, verb: str, need: Need) -> bool:
    asked = ((rule.verbs, verb), (rule.api_groups, need.group), (rule.resources, need.resource))
    covered = all("*" in (have or ()) or want in (have or ()) for have, want in asked)
    return covered and not rule.resource_names
