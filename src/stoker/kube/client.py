"""The verbs of the Kubernetes API on plain objects.

    async with Client(access) as client:
        secret = await client.get(SECRET, "monitoring", "web-config")
        await client.apply(stateful_set, manager="stoker")

Objects are what `msgspec.json` makes of JSON: dicts. Failures are the errors of
`stoker.kube.errors`. Every write first asks `client.fence`, where one is set.
"""

from collections.abc import Sequence
from typing import Any, Final, Generic, TypeVar

import msgspec
from msgspec import Raw, Struct

from stoker.api.core import Object
from stoker.api.decode import ListMeta
from stoker.kube import protobuf
from stoker.kube.deep import cut
from stoker.kube.errors import NotFound, Unavailable
from stoker.kube.fencing import Fence
from stoker.kube.resources import SELF_SUBJECT_ACCESS_REVIEW, ApiResource, Target, resource_of
from stoker.kube.transport import JSON, Observe, Transport, Waited
from stoker.kube.versions import is_older

__all__ = [
    "METADATA_ONLY",
    "METADATA_ONLY_LIST",
    "Client",
    "Fence",
    "ListPage",
    "Observe",
    "Review",
    "Waited",
    "answer_as",
]

T = TypeVar("T")

METADATA_ONLY: Final = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
METADATA_ONLY_LIST: Final = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"

_APPLY: Final = "application/apply-patch+yaml"
_MERGE_PATCH: Final = "application/merge-patch+json"
_JSON_PATCH: Final = "application/json-patch+json"


class ListPage(Struct, Generic[T], frozen=True):
    """One answer to a list request; some have null for no items."""

    metadata: ListMeta = ListMeta()
    found: list[T] | None = msgspec.field(default=None, name="items")

    @property
    def items(self) -> list[T]:
        """The objects of the page."""
        return self.found or []


class _Verdict(Struct, frozen=True):
    allowed: bool = False


class Review(Struct, frozen=True):
    """The answer to the question whether somebody may do something."""

    status: _Verdict


class Client(Transport):
    """An API server, as one identity."""

    async def get(  # noqa: PLR0913 - all but three have a default
        self,
        resource: ApiResource,
        namespace: str | None,
        name: str,
        *,
        accept: str = JSON,
        exempt: bool = False,
        fresh: bool = False,
    ) -> Object:
        """Read an object; with `accept=METADATA_ONLY` its metadata alone.

        An exempt one does not count against the limit of this client; a fresh one has a connection
        of its own.
        """
        path = _path(resource, namespace, name, verb="get")
        return await self._asked("GET", path, accept=accept, exempt=exempt, fresh=fresh)

    async def find(
        self,
        resource: ApiResource,
        namespace: str | None,
        name: str,
        *,
        seen: str = "",
        accept: str = JSON,
    ) -> Object | None:
        """Read an object by a list of one: who may list it need not be allowed to `get` it.

        None if there is none; `Unavailable` where the answer is from before the version that was
        seen. NotFound is about the resource.
        """
        path, query = resource.path(namespace), {"fieldSelector": f"metadata.name={name}"}
        found = await self._asked("GET", path, query=query, accept=accept)
        version = (found.get("metadata") or {}).get("resourceVersion") or ""
        if is_older(version, seen):
            raise Unavailable("list", path, f"it is of version {version}, and {seen} was seen")
        typed: Object = {"apiVersion": resource.api_version, "kind": resource.kind}
        return next((typed | each for each in found.get("items") or ()), None)

    async def create(self, obj: Object, *, manager: str | None = None) -> Object:
        """Create an object; it may have a `generateName`."""
        path = resource_of(obj).path(obj["metadata"].get("namespace"))
        body = msgspec.json.encode(obj)
        return await self._asked("POST", path, query=_managed(manager), body=body)

    async def make(self, obj: Object, *, manager: str) -> Object:
        """Create a Secret or ConfigMap, however large, in little time; its metadata comes back.

        ValueError where the object has a member that cannot be written so.
        """
        path = resource_of(obj).path(obj["metadata"].get("namespace"))
        return await self._binary("POST", path, obj, manager)

    async def update(
        self, obj: Object, subresource: str = "", *, manager: str | None = None
    ) -> Object:
        """Replace an object; with a `resourceVersion` only if nobody changed it since."""
        path = _path_of(obj, subresource, verb="update")
        body = msgspec.json.encode(obj)
        return await self._asked("PUT", path, query=_managed(manager), body=body)

    async def replace(self, obj: Object, *, manager: str) -> Object:
        """Replace a Secret or ConfigMap, however large, in little time; its metadata comes back.

        With a `resourceVersion` only if nobody changed it since. ValueError where the object has
        a member that cannot be written so.
        """
        return await self._binary("PUT", _path_of(obj, "", verb="update"), obj, manager)

    async def _binary(self, method: str, path: str, obj: Object, manager: str) -> Object:
        return await self._asked(
            method,
            path,
            query=_managed(manager),
            body=protobuf.encoded(obj),
            content_type=protobuf.CONTENT_TYPE,
            accept=METADATA_ONLY,
        )

    async def apply(  # noqa: PLR0913 - all but two have a default
        self,
        obj: Object,
        *,
        manager: str,
        force: bool = True,
        subresource: str = "",
        strict: bool = False,
        dry_run: bool = False,
    ) -> Object:
        """Server-side apply: the fields of this object become as they are here, and the manager's.

        Fields that the manager applied before and that are not here any more are removed. Without
        `force`, a field that another manager set differently is a `Conflict`. With `strict`,
        fields that the server does not know are `Invalid` instead of dropped. With `dry_run` the
        server does everything but keep the outcome.
        """
        query = _managed(manager) | {
            "force": "true" if force else "false",
            "fieldValidation": "Strict" if strict else "Ignore",
            **({"dryRun": "All"} if dry_run else {}),
        }
        path = _path_of(obj, subresource, verb="patch")
        return await self._patch(path, _APPLY, obj, query)

    async def merge_patch(  # noqa: PLR0913 - an object takes three to name
        self,
        resource: ApiResource,
        namespace: str | None,
        name: str,
        patch: Object,
        subresource: str = "",
        *,
        manager: str | None = None,
    ) -> Object:
        """Change members of an object (RFC 7386); null removes one, lists are replaced."""
        path = _path(resource, namespace, name, subresource, verb="patch")
        return await self._patch(path, _MERGE_PATCH, patch, _managed(manager))

    async def json_patch(  # noqa: PLR0913
        self,
        resource: ApiResource,
        namespace: str | None,
        name: str,
        patch: Sequence[Object],
        subresource: str = "",
        *,
        manager: str | None = None,
    ) -> Object:
        """Change an object step by step (RFC 6902); a `test` that fails is `Invalid`."""
        path = _path(resource, namespace, name, subresource, verb="patch")
        return await self._patch(path, _JSON_PATCH, patch, _managed(manager))

    async def delete(  # noqa: PLR0913
        self,
        resource: ApiResource,
        namespace: str | None,
        name: str,
        *,
        uid: str | None = None,
        resource_version: str | None = None,
        propagation: str = "Background",
    ) -> Object:
        """Delete an object; another one of that name, or version, is a `Conflict`.

        The answer is a `Status`, or the object as it is where something must happen before it goes.
        """
        given = {"uid": uid, "resourceVersion": resource_version}
        options: Object = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "propagationPolicy": propagation,
            "preconditions": {key: value for key, value in given.items() if value},
        }
        path = _path(resource, namespace, name, verb="delete")
        return await self._asked("DELETE", path, body=msgspec.json.encode(options))

    async def server_version(self) -> str:
        """The version of the API server, as `v1.34.1`; empty where it does not say."""
        return str((await self._asked("GET", "/version")).get("gitVersion") or "")

    async def api_resources(self, group_version: str) -> set[str]:
        """The plurals that a group and version serve (`discovery.k8s.io/v1`); none if absent."""
        start = "/apis" if "/" in group_version else "/api"
        try:
            found = await self._asked("GET", f"{start}/{group_version}")
        except NotFound:
            return set()
        return {each["name"] for each in found.get("resources") or []}

    async def can_i(
        self, verb: str, resource: ApiResource, namespace: str | None = None, subresource: str = ""
    ) -> bool:
        """Whether we may do this: in a namespace, or in all when that is None."""
        attributes = {
            "verb": verb,
            "group": resource.group,
            "version": resource.version,
            "resource": resource.plural,
            "subresource": subresource,
            "namespace": namespace or "",
        }
        review = {
            "apiVersion": SELF_SUBJECT_ACCESS_REVIEW.api_version,
            "kind": SELF_SUBJECT_ACCESS_REVIEW.kind,
            "spec": {"resourceAttributes": attributes},
        }
        path = SELF_SUBJECT_ACCESS_REVIEW.path(None)
        body = msgspec.json.encode(review)
        answer = await self.ask(Review, "POST", path, body=body, exempt=True)
        return answer.status.allowed

    async def _patch(
        self, path: str, content_type: str, patch: Any, query: dict[str, str]
    ) -> Object:
        body = msgspec.json.encode(patch)
        if content_type == _APPLY:
            body = _as_yaml(body)
        return await self._asked("PATCH", path, query=query, body=body, content_type=content_type)

    async def ask(self, model: type[T], method: str, path: str, **options: Any) -> T:
        """Send a request (`request` has the options) and read the answer by its type.

        Who reads an answer otherwise takes half of one for a fault of our own.
        """
        return answer_as(model, method, path, await self.request(method, path, **options))

    async def page(self, path: str, **options: Any) -> ListPage[Raw]:
        """A page of a list, each object as it came, but cut where it is too deep to be read."""
        body = await self.request("GET", path, **options)
        return answer_as(ListPage[Raw], "GET", path, body, whole=False)

    async def _asked(self, method: str, path: str, **options: Any) -> Object:
        return await self.ask(dict[str, Any], method, path, **options)


def _as_yaml(body: bytes) -> bytes:
    """JSON that is the same when it is read as YAML, as the body of an apply is.

    YAML takes some characters for line breaks, and others not at all, unless they are escaped.
    """
    if body.isascii() and b"\x7f" not in body:
        return body
    return body.decode().replace("\x7f", "\\x7f").encode("ascii", "backslashreplace")


def answer_as(model: type[T], method: str, path: str, body: bytes, *, whole: bool = True) -> T:
    """An answer by its type; `Unavailable` where it is something else, or only half of it came.

    What is something else may be a page to log in, by whoever is between us and the server. Where
    nobody needs the `whole`, it is cut if it is too deep to be read.
    """
    try:
        return msgspec.json.decode(body, type=model)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        if isinstance(error, RecursionError) and not whole:
            return answer_as(model, method, path, cut(body))
        verb = Target.of(path).verb(method, {})
        raise Unavailable(verb, path, f"the answer is no object: {error}") from error


def _managed(manager: str | None) -> dict[str, str]:
    return {"fieldManager": manager} if manager else {}


def _path_of(obj: Object, subresource: str, *, verb: str) -> str:
    metadata = obj["metadata"]
    return _path(
        resource_of(obj), metadata.get("namespace"), metadata["name"], subresource, verb=verb
    )


def _path(
    resource: ApiResource, namespace: str | None, name: str, subresource: str = "", *, verb: str
) -> str:
    """The path of one object, and surely of one: a name that none can have is not asked for.

    Names come from fields of tenants too; an empty one would name all objects.
    """
    path = resource.path(namespace, name, subresource)
    if name in ("", ".", "..") or "/" in name or "%" in name:
        raise NotFound(verb, path, f"{name!r} is no name of an object", status=404)
    return path
