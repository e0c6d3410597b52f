"""What a workload names in the cluster must be there before pods are made that wait for it."""

from typing import Final

from stoker.api.prometheus import PrometheusAgent
from stoker.build.services import check_custom_service
from stoker.errors import WorkloadError
from stoker.kube.client import Client
from stoker.kube.errors import Forbidden, NotFound
from stoker.kube.resources import SERVICE, STORAGE_CLASS
from stoker.operator.refusals import Refusals
from stoker.plan import Outline
from stoker.select.workload import Workload, scraper_of
from stoker.settings import Capabilities, ObjectSettings

_STORAGE_CLASS: Final = "spec.storage.volumeClaimTemplate.spec.storageClassName"


class AwaitedError(WorkloadError):
    """Something in the cluster must change that no watch tells us of: we must look again."""


def may_go_well(error: Exception) -> bool:
    """Whether the next attempt may go well though no event tells of what must change for that."""
    return not isinstance(error, WorkloadError) or isinstance(error, AwaitedError)


def check_authority(
    workload: Workload, capabilities: Capabilities, settings: ObjectSettings
) -> None:
    """WorkloadError where pods would get portions, and could not know from whom yet."""
    if not isinstance(workload, PrometheusAgent) or not scraper_of(workload, capabilities).portions:
        return
    if settings.node_server is not None and not settings.node_server.ca:
        reason = "the certificate of the operator's server for agents is not there yet"
        raise AwaitedError("spec.daemonSet.discovery", reason)


async def check_cluster(
    client: Client, workload: Workload, outline: Outline, refusals: Refusals
) -> None:
    """WorkloadError where the workload names a storage class or Service that will not do.

    Services are watched and storage classes are not.
    """
    if not outline.is_daemon_set:
        await _check_storage_class(client, workload, refusals)
        await _check_service(client, workload, outline)


async def _check_storage_class(client: Client, workload: Workload, refusals: Refusals) -> None:
    storage = workload.spec.storage
    template = storage.volume_claim_template if storage else None
    name = ((template.spec if template else None) or {}).get("storageClassName")
    if not name:
        return
    try:
        await client.get(STORAGE_CLASS, None, name)
    except NotFound:
        raise AwaitedError(_STORAGE_CLASS, f"there is no StorageClass `{name}`") from None
    except Forbidden as error:
        # Storage classes belong to the whole cluster; a role in a namespace does not show them.
        refusals.tell("whether a StorageClass exists is not checked", error)


async def _check_service(client: Client, workload: Workload, outline: Outline) -> None:
    name = workload.spec.service_name
    if not name:
        return
    try:
        services = [await client.get(SERVICE, outline.namespace, name)]
    except NotFound:
        services = []
    check_custom_service(outline.namespace, name, services, outline.labels)
