"""What a workload names in the cluster must be there before pods are made that wait for it."""

from typing import Final

from stoker.build.names import selector_labels
from stoker.build.services import check_custom_service
from stoker.build.site import Site
from stoker.errors import WorkloadError
from stoker.kube.client import Client
from stoker.kube.errors import Forbidden, NotFound
from stoker.kube.resources import SERVICE, STORAGE_CLASS

_STORAGE_CLASS: Final = "spec.storage.volumeClaimTemplate.spec.storageClassName"


class AwaitedError(WorkloadError):
    """Something in the cluster must change that nobody tells us of: we must look again."""


async def check_cluster(client: Client, site: Site) -> None:
    """WorkloadError where the workload names a storage class or Service that will not do.

    Services are watched and storage classes are not.
    """
    await _check_storage_class(client, site)
    await _check_service(client, site)


async def _check_storage_class(client: Client, site: Site) -> None:
    storage = site.workload.spec.storage
    template = storage.volume_claim_template if storage else None
    name = ((template.spec if template else None) or {}).get("storageClassName")
    if not name or site.workload.daemon_set:
        return
    try:
        await client.get(STORAGE_CLASS, None, name)
    except NotFound:
        raise AwaitedError(_STORAGE_CLASS, f"there is no StorageClass `{name}`") from None
    except Forbidden:
        # Storage classes belong to the whole cluster; a role in a namespace does not show them.
        return


async def _check_service(client: Client, site: Site) -> None:
    name = site.workload.spec.service_name
    if not name or site.workload.daemon_set:
        return
    namespace = site.workload.namespace
    try:
        services = [await client.get(SERVICE, namespace, name)]
    except NotFound:
        services = []
    check_custom_service(
        namespace, name, services, selector_labels(site.workload, 0, site.settings.labels)
    )
