"""On which node a pod is, and for which agent it runs: asked for each connection."""

from collections.abc import Callable
from http import HTTPStatus
from typing import Final

from msgspec import ValidationError, convert

from stoker.api.core import Object, ObjectMeta
from stoker.api.declare import Model
from stoker.handout.request import RefusedError
from stoker.handout.stream import Subscriber
from stoker.handout.tokens import TokenOwner
from stoker.kube.client import Client
from stoker.kube.errors import ApiError
from stoker.kube.resources import POD
from stoker.ref import Ref

AgentOf = Callable[[str], Ref | None]
"""The agent that the DaemonSet with a uid belongs to, if it gets portions."""

_ENDED: Final = frozenset({"Succeeded", "Failed"})


class _Spec(Model):
    node_name: str | None = None


class _Status(Model):
    phase: str | None = None


class _Pod(Model):
    metadata: ObjectMeta = ObjectMeta()
    spec: _Spec = _Spec()
    status: _Status = _Status()


class PodLookup:
    """Finds out who a pod is."""

    def __init__(self, client: Client, agent_of: AgentOf) -> None:
        self._client = client
        self._agent_of = agent_of

    async def subscriber(self, owner: TokenOwner) -> Subscriber:
        """Who asks; RefusedError where it is none that gets portions, or that is not known."""
        try:
            found = await self._client.find(POD, owner.namespace, owner.pod)
        except ApiError as error:
            status = HTTPStatus.SERVICE_UNAVAILABLE
            said = f"pods cannot be read: {type(error).__name__}"
            raise RefusedError(status, said, after=5) from None
        pod = _read(found)
        if pod is None or pod.metadata.uid != owner.uid:
            raise _refused("a pod that is gone")
        node = pod.spec.node_name
        if not node or pod.metadata.deletion_timestamp or pod.status.phase in _ENDED:
            raise _refused("a pod that does not run")
        agent = self._agent(pod.metadata)
        if agent is None:
            raise _refused("a pod of no agent that gets portions")
        return Subscriber(owner, node, agent)

    def _agent(self, metadata: ObjectMeta) -> Ref | None:
        for each in metadata.owner_references or ():
            if each.controller and each.kind == "DaemonSet" and each.uid:
                return self._agent_of(each.uid)
        return None


def _read(found: Object | None) -> _Pod | None:
    try:
        return convert(found, _Pod) if found else None
    except ValidationError:
        return None


def _refused(reason: str) -> RefusedError:
    return RefusedError(HTTPStatus.FORBIDDEN, reason)
