"""Claims that grow with their workload.

Kubernetes refuses to change the claim templates of a StatefulSet, so it is replaced, which leaves
pods and claims as they are. The claims that exist must then be made to grow, one by one. They
never shrink: nothing can do that.
"""

from typing import Any, Final

from stoker.api.core import Object
from stoker.cluster.live import only_at
from stoker.kube.client import Client, ListPage
from stoker.kube.errors import Forbidden, Invalid
from stoker.kube.resources import PERSISTENT_VOLUME_CLAIM
from stoker.operator.checks import AwaitedError
from stoker.plan.existing import Running
from stoker.validate.syntax import quantity

_SIZE: Final = "spec.storage.volumeClaimTemplate.spec.resources.requests.storage"


async def grow_claims(client: Client, wanted: Object, found: Running | None) -> None:
    """Tell the claims of a StatefulSet to be as large as wanted.

    AwaitedError where the storage cannot grow, or not yet. A StatefulSet that is not there may have
    claims of smaller ones: it is being replaced, or somebody deleted it.
    """
    for template in wanted["spec"].get("volumeClaimTemplates") or ():
        size = _size(template)
        if size is None or (found is not None and _same_size(template, found)):
            continue
        prefix = f"{template['metadata']['name']}-{wanted['metadata']['name']}-"
        for claim in await _claims(client, wanted["metadata"]["namespace"]):
            name = claim["metadata"]["name"]
            ordinal = name.removeprefix(prefix)
            if name.startswith(prefix) and ordinal.isdigit():
                await _grow(client, claim, size)


async def _grow(client: Client, claim: Object, size: Any) -> None:
    wanted, present = quantity(size), quantity(_size(claim) or 0)
    if wanted is None or present is None or wanted <= present:
        return
    metadata = claim["metadata"]
    patch = {"spec": {"resources": {"requests": {"storage": size}}}}
    try:
        await client.merge_patch(
            PERSISTENT_VOLUME_CLAIM,
            metadata["namespace"],
            metadata["name"],
            # What has grown can never shrink: a late word of a former leader must not do it.
            only_at(metadata["resourceVersion"], patch),
        )
    except (Invalid, Forbidden) as error:
        # Its storage class might not allow it to grow, or it might have no storage yet.
        reason = f"claim {metadata['name']} cannot grow to {size}: {error.message}"
        raise AwaitedError(_SIZE, reason) from None


async def _claims(client: Client, namespace: str) -> list[Object]:
    path = PERSISTENT_VOLUME_CLAIM.path(namespace)
    return (await client.ask(ListPage[Object], "GET", path)).items


def _same_size(template: Object, found: Running) -> bool:
    name = template["metadata"]["name"]
    for each in (found.spec or {}).get("volumeClaimTemplates") or ():
        if each["metadata"]["name"] == name:
            return quantity(_size(each) or 0) == quantity(_size(template) or 0)
    return False


def _size(claim: Object) -> Any:
    requests = ((claim.get("spec") or {}).get("resources") or {}).get("requests") or {}
    return requests.get("storage")
