"""prometheus-operator as it is installed: found by its Deployment, whatever that is called."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from msgspec import Struct

from stoker.api.core import Object
from stoker.cluster.listed import listed
from stoker.kube.client import Client
from stoker.kube.errors import Forbidden
from stoker.kube.resources import ApiResource

DEPLOYMENT: Final = ApiResource("apps", "v1", "deployments", "Deployment")

_NAME: Final = "prometheus-operator"
_VERSION_LABEL: Final = "app.kubernetes.io/version"
# Flags that no other program has; who renamed the image and the container still passes one.
_OWN_FLAG: Final = re.compile(r"--?(?:kubelet-service|prometheus-config-reloader)(?:=|$)")
_TAG: Final = re.compile(r":(v?\d+\.\d+\.\d+[-+.\w]*)(?:@|$)")
_USE: Final = re.compile(r"\$\$|\$\(([^()]*)\)")
_DEFAULT_ACCOUNT: Final = "default"


class PeerOperator(Struct, frozen=True, kw_only=True):
    """A Deployment of prometheus-operator, as far as it matters to whoever comes after it.

    `version` is empty where neither image nor label tells. `account` is its service account.
    `arguments` are those of its container, with values of the environment filled in; `unresolved`
    are the variables in them whose value is not in the Deployment. `environment` are the names of
    all others. `pods` are the labels by which its pods are found.
    """

    namespace: str
    name: str
    container: str
    image: str
    version: str
    replicas: int
    account: str
    pods: Mapping[str, str]
    arguments: tuple[str, ...] = ()
    unresolved: frozenset[str] = frozenset()
    environment: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """Namespace and name."""
        return f"{self.namespace}/{self.name}"


class Peers(Struct, frozen=True):
    """The operators that were found, and why there may be more of them."""

    found: tuple[PeerOperator, ...]
    unknown: str = ""


async def peers_in(client: Client, deployment: str = "") -> Peers:
    """The prometheus-operators of a cluster, or the Deployment that is named as `NS/NAME`.

    NotFound where that does not exist.
    """
    if deployment:
        namespace, _, name = deployment.partition("/")
        live = await client.get(DEPLOYMENT, namespace, name)
        return Peers(tuple(peer_operators([live], named=True)))
    try:
        return Peers(tuple(peer_operators(await listed(client, DEPLOYMENT, None))))
    except Forbidden as error:
        hint = f"you cannot {error.verb} deployments in all namespaces"
        return Peers((), f"{hint}: name that of prometheus-operator with --deployment")


def peer_operators(deployments: Iterable[Object], *, named: bool = False) -> Iterator[PeerOperator]:
    """Those Deployments that are a prometheus-operator; one that is named is, whatever it says."""
    for each in deployments:
        containers: list[Object] = each["spec"]["template"]["spec"].get("containers") or []
        likely = [one for one in containers if _is_the_peer(one)]
        chosen = likely or (containers if named else [])
        if chosen:
            yield _peer(each, chosen[0])


def _is_the_peer(container: Object) -> bool:
    words = _words(container)
    if words[:1] == ["operator"] or words[1:2] == ["operator"]:
        # Ours has the same flags.
        return False
    repository = _repository(container.get("image") or "")
    named = _NAME in (repository.rpartition("/")[2], container["name"])
    return named or any(_OWN_FLAG.match(word) for word in words)


def _repository(image: str) -> str:
    return re.sub(r":[^/]*$", "", image.partition("@")[0])


def _words(container: Object) -> list[str]:
    return [*(container.get("command") or ()), *(container.get("args") or ())]


def _peer(found: Object, container: Object) -> PeerOperator:
    metadata, pod = found["metadata"], found["spec"]["template"]["spec"]
    account = pod.get("serviceAccountName") or _DEFAULT_ACCOUNT
    words = [*(container.get("command") or ())[1:], *(container.get("args") or ())]
    known = _environment(container, metadata["namespace"])
    filled = [_filled(word, known) for word in words]
    used = {name for word in words for name in _USE.findall(word) if name}
    return PeerOperator(
        namespace=metadata["namespace"],
        name=metadata["name"],
        container=container["name"],
        image=container.get("image") or "",
        version=_version(container.get("image") or "", metadata.get("labels") or {}),
        replicas=found["spec"].get("replicas", 1),
        account=f"{metadata['namespace']}/{account}",
        pods=(found["spec"].get("selector") or {}).get("matchLabels") or {},
        arguments=tuple(filled),
        unresolved=frozenset(name for name in used if known.get(name) is None),
        environment=tuple(sorted(known.keys() - used)),
    )


def _version(image: str, labels: Mapping[str, str]) -> str:
    tag = _TAG.search(image)
    return (tag[1] if tag else labels.get(_VERSION_LABEL, "")).removeprefix("v")


# --- Its environment ------------------------------------------------------------------------------


def _environment(container: Object, namespace: str) -> dict[str, str | None]:
    """The variables of a container by their names; None for a value that is not in its manifest."""
    known: dict[str, str | None] = {}
    for each in container.get("env") or ():
        source: Mapping[str, Any] | None = each.get("valueFrom")
        if source is None:
            known[each["name"]] = _filled(each.get("value") or "", known)
        else:
            path = (source.get("fieldRef") or {}).get("fieldPath")
            known[each["name"]] = namespace if path == "metadata.namespace" else None
    return known


def _filled(text: str, known: Mapping[str, str | None]) -> str:
    """A text with variables in it as Kubernetes fills them in; what is not known stays."""

    def value(use: re.Match[str]) -> str:
        if use[1] is None:
            return "$"
        found = known.get(use[1])
        return use[0] if found is None else found

    return _USE.sub(value, text)
