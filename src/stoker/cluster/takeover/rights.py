"""What an operator of ours is allowed to do, and which of that an existing account is not.

The API server is asked (SubjectAccessReview), so it does not matter from where rights come; such a
question is answered and not kept.
"""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct

from stoker.api.crd import GROUP
from stoker.api.kinds import kind_called
from stoker.cluster.accounts import may
from stoker.kube.client import Client
from stoker.kube.errors import Forbidden
from stoker.roles import RESOURCES, WORKLOADS
from stoker.settings import OperatorSettings

_AT_ONCE: Final = 16


class Right(Struct, frozen=True):
    """Verbs on resources of a group, perhaps only on those of some names."""

    group: str
    resources: tuple[str, ...]
    verbs: tuple[str, ...]
    names: tuple[str, ...] = ()


def _plurals(kinds: Iterable[str], subresource: str = "") -> tuple[str, ...]:
    found = [kind_called(each) for each in kinds]
    end = f"/{subresource}" if subresource else ""
    return tuple(f"{each.plural}{end}" for each in found if each)


def operator_rights() -> tuple[Right, ...]:
    """What the ClusterRole of our operator allows; deploy/cluster/role.yaml has the reasons."""
    workloads, resources = _plurals(WORKLOADS), _plurals(RESOURCES)
    written = ("get", "list", "watch", "create", "patch", "delete")
    return (
        Right(GROUP, workloads, ("get", "list", "watch", "patch")),
        Right(GROUP, _plurals(WORKLOADS, "finalizers"), ("update",)),
        Right(GROUP, resources, ("list", "watch")),
        Right(GROUP, _plurals((*WORKLOADS, *RESOURCES), "status"), ("patch",)),
        Right("", ("secrets", "configmaps"), (*written, "update")),
        Right("apps", ("statefulsets", "daemonsets"), written),
        Right("", ("services",), ("get", "list", "watch", "create")),
        Right("", ("services",), ("patch", "delete"), _SERVICES),
        Right("", ("pods",), ("list",)),
        Right("", ("persistentvolumeclaims",), ("list", "patch")),
        Right("events.k8s.io", ("events",), ("create", "patch")),
        Right("", ("namespaces",), ("list", "watch")),
        Right("storage.k8s.io", ("storageclasses",), ("get",)),
        Right("", ("nodes",), ("list", "watch")),
    )


_SERVICES: Final = (
    "prometheus-operated",
    "prometheus-agent-operated",
    "alertmanager-operated",
    "thanos-ruler-operated",
)
_WHOLE: Final = ("namespaces", "nodes", "storageclasses")
# What somebody does who takes over, as docs/moving.md has it.
_MOVES: Final = (
    Right("apiextensions.k8s.io", ("customresourcedefinitions",), ("create", "patch")),
    Right("rbac.authorization.k8s.io", ("clusterroles", "clusterrolebindings"), ("create",)),
    Right("", ("namespaces", "serviceaccounts"), ("create",)),
    Right("apps", ("deployments",), ("create",)),
    Right("apps", ("deployments/scale",), ("patch",)),
)


class RightsHandover(Struct, frozen=True, kw_only=True, rename="camel"):
    """What the `account` of the other operator `lacks` of our rights, and the one who asks to move.

    `unknown` says why one of both is not known.
    """

    account: str = ""
    asked: int = 0
    lacks: tuple[str, ...] = ()
    you_lack: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


async def rights_handover(
    client: Client, account: str, settings: OperatorSettings
) -> RightsHandover:
    """Ask for all rights, of the account if one is known, and of whoever asks."""
    own = await _denied(client, list(_questions(_MOVES, ("",))))
    if not account:
        unknown = "no Deployment of prometheus-operator was found: its rights are not known"
        return RightsHandover(you_lack=own, unknown=(unknown,))
    namespaces = sorted(settings.namespaces.allowed) or [""]
    asked = list(_questions(operator_rights(), namespaces))
    try:
        lacks = await _denied(client, asked, account)
    except Forbidden as error:
        unknown = f"you cannot {error.verb} {error.resource}: the rights of {account}"
        return RightsHandover(account=account, you_lack=own, unknown=(unknown,))
    return RightsHandover(account=account, asked=len(asked), lacks=lacks, you_lack=own)


def _questions(rights: Iterable[Right], namespaces: Sequence[str]) -> Iterator[dict[str, str]]:
    """One question for each verb, resource and namespace; "" stands for all namespaces."""
    for right in rights:
        for resource in right.resources:
            plural, _, subresource = resource.partition("/")
            for namespace in ("",) if plural in _WHOLE else namespaces:
                for verb in right.verbs:
                    yield {
                        "verb": verb,
                        "group": right.group,
                        "resource": plural,
                        "subresource": subresource,
                        "name": right.names[0] if right.names else "",
                        "namespace": namespace,
                    }


async def _denied(
    client: Client, asked: Sequence[dict[str, str]], account: str = ""
) -> tuple[str, ...]:
    """What an account, or whoever asks, cannot do, in words."""
    gate = asyncio.Semaphore(_AT_ONCE)

    async def allows(attributes: dict[str, str]) -> bool:
        async with gate:
            return await may(client, attributes, account)

    answers = await asyncio.gather(*map(allows, asked))
    return tuple(_words(each) for each, yes in zip(asked, answers, strict=True) if not yes)


def _words(attributes: Mapping[str, str]) -> str:
    group, subresource = attributes["group"], attributes["subresource"]
    name = attributes["resource"] + (f".{group}" if group else "")
    where = f" in namespace {attributes['namespace']}" if attributes["namespace"] else ""
    return f"{attributes['verb']} {name}{f'/{subresource}' if subresource else ''}{where}"
