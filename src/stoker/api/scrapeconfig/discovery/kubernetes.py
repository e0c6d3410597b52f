"""Targets that are objects of a Kubernetes cluster."""

from typing import Annotated, TypeAlias

from stoker.api.common import AttachMetadata, Text
from stoker.api.declare import NO_TEXT, Model, doc, rule
from stoker.api.scrapeconfig.discovery.shared import AuthenticatedDiscovery

KubernetesRole: TypeAlias = Annotated[
    str, rule(enum=("Pod", "Endpoints", "Ingress", "Service", "Node", "EndpointSlice"))
]


class KubernetesNamespaces(Model):
    """The namespaces in which Kubernetes discovery looks."""

    own_namespace: Annotated[
        bool | None, doc("Look in the namespace of the Prometheus. Not with `apiServer`.")
    ] = None
    names: Annotated[tuple[Text, ...] | None, doc("Look in these namespaces.", listType="set")] = (
        None
    )


class KubernetesSelector(Model):
    """Narrows what the API server returns for one role."""

    role: Annotated[KubernetesRole, doc("Kind of object that the selectors are for.")] = NO_TEXT
    label: Annotated[Text | None, doc("Label selector, e.g. `app=web,tier!=cache`.")] = None
    field: Annotated[Text | None, doc("Field selector, e.g. `spec.nodeName=node-1`.")] = None


class KubernetesMetadata(AttachMetadata):
    """Metadata of other objects to add to the targets of a Kubernetes discovery.

    Prometheus must be allowed to list and watch these objects.
    """

    namespace: Annotated[
        bool | None,
        doc(
            "Add the labels and annotations of the target's namespace. All roles but `Node`. "
            "Needs Prometheus 3.6 or newer."
        ),
    ] = None
    deployment: Annotated[
        bool | None,
        doc(
            "Add the name of the pod's Deployment, which takes access to ReplicaSets. "
            "Roles `Pod`, `Endpoints`, `EndpointSlice`. Needs Prometheus 3.11 or newer."
        ),
    ] = None
    job: Annotated[
        bool | None,
        doc(
            "Add the name of the pod's Job. Roles `Pod`, `Endpoints`, `EndpointSlice`. "
            "Needs Prometheus 3.11 or newer."
        ),
    ] = None
    cron_job: Annotated[
        bool | None,
        doc(
            "Add the name of the pod's CronJob, which takes access to Jobs. "
            "Roles `Pod`, `Endpoints`, `EndpointSlice`. Needs Prometheus 3.11 or newer."
        ),
    ] = None


class KubernetesDiscovery(AuthenticatedDiscovery):
    """Targets that are objects of a Kubernetes cluster.

    The account used must be allowed to get, list and watch the objects of the role.
    """

    role: Annotated[KubernetesRole, doc("Kind of object that becomes a target.")] = NO_TEXT
    namespaces: Annotated[
        KubernetesNamespaces | None, doc("Namespaces in which to look. Unset: all.")
    ] = None
    selectors: Annotated[
        tuple[KubernetesSelector, ...] | None,
        doc(
            "Selectors for the role and the roles it builds on, e.g. `Service` and `Pod` for "
            "`Endpoints`. Unset: all objects.",
            listType="map",
            listMapKeys=("role",),
        ),
    ] = None
    attach_metadata: Annotated[
        KubernetesMetadata | None,
        doc("Metadata of other objects to add to the targets. Which ones depends on the role."),
    ] = None
    api_server: Annotated[
        Text | None,
        doc(
            "URL of the API server. Unset: the cluster of the Prometheus, with its service account."
        ),
    ] = None
