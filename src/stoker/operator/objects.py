"""All objects of a workload, written as far as the API server takes them.

One that it refuses stays as it is, and keeps no other from being written where that does no harm.
Harm would be a configuration that pods cannot read: what runs pods is tried first, before anything
is written, and where that is refused the configuration must be one that the pods of the time can
do with. And where something that is mounted is refused, what is written after it and relies on it
is not written either.
"""

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Final

from msgspec import Struct

from stoker.api.core import Object
from stoker.build.names import APPLICATION_VERSION
from stoker.build.volumes import sources
from stoker.errors import StokerError, WorkloadError
from stoker.kube.errors import ApiError, Forbidden, Invalid
from stoker.operator.claims import grow_claims
from stoker.operator.tools import Tools
from stoker.plan.existing import Running
from stoker.ref import Ref, ref_of_manifest

RUNNING: Final = ("StatefulSet", "DaemonSet")
"""The kinds of what runs pods."""

_MOUNTED: Final = ("ConfigMap", "Secret")
# More than these nobody reads.
_MOST_TOLD: Final = 3
_REQUEST_REFUSED: Final = range(400, 409)


class Refused(Struct, frozen=True):
    """Objects that stay as they are, with the reasons.

    `mounted` are those that pods of them read, which must stay with them. `stopped`: the
    configuration is not written for their sake.
    """

    errors: Mapping[Ref, StokerError] = {}
    mounted: frozenset[Ref] = frozenset()
    stopped: bool = False

    @property
    def message(self) -> str:
        """Which objects those are, and why; empty if all were taken."""
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        told: dict[str, list[str]] = {}
        for refused, error in self.errors.items():
            told.setdefault(str(error), []).append(str(refused))
        for said, objects in told.items():
            named = ", ".join(objects[:_MOST_TOLD])
            more = len(objects) - _MOST_TOLD
            yield f"{said} (as it is stays {named}{f' and {more} more' if more > 0 else ''})"

    @property
    def first(self) -> StokerError | None:
        """What went wrong first."""
        return next(iter(self.errors.values()), None)


def is_refusal(error: StokerError) -> bool:
    """Whether an object is what is wrong, and not the moment."""
    if isinstance(error, Invalid | Forbidden | WorkloadError):
        return True
    return type(error) is ApiError and error.status in _REQUEST_REFUSED


class Objects:
    """Writes the objects of workloads."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools

    async def write(
        self,
        wanted: Sequence[Object],
        problem: WorkloadError | None,
        only_made: AbstractSet[Ref] = frozenset(),
    ) -> Refused:
        """Write what is wanted, in this order; of `only_made`, what is not there.

        `problem` is why nothing that runs pods may be written, if there is one. The error itself,
        and nothing is written, where pods could not do with the configuration.
        """
        errors = await self._untaken(wanted, problem)
        if errors and not self._in_step(wanted, errors):
            raise next(iter(errors.values()))
        mounted = self._mounted_by(errors)
        stopped = False
        for each in wanted:
            identity = ref_of_manifest(each)
            depends = each["kind"] in (*_MOUNTED, *RUNNING)
            if identity in errors or (stopped and depends):
                continue
            try:
                if identity in only_made:
                    await self._tools.writer.create(each)
                else:
                    await self._tools.writer.write(each)
            except ApiError as error:
                if not is_refusal(error):
                    raise
                errors[identity] = error
                stopped |= self._is_relied_on(each)
        return Refused(errors, mounted, stopped)

    async def _untaken(
        self, wanted: Sequence[Object], problem: WorkloadError | None
    ) -> dict[Ref, StokerError]:
        """What runs pods and would be refused; what is asked for beforehand is asked for here."""
        errors: dict[Ref, StokerError] = {}
        for each in wanted:
            if each["kind"] not in RUNNING:
                continue
            try:
                if problem is not None:
                    raise problem
                await self._tools.writer.check(each)
                begun = self._tools.writer.is_replacing(ref_of_manifest(each))
                found = self._running(each)
                await grow_claims(self._tools.client, each, found, replacing=begun)
            except StokerError as error:
                if not is_refusal(error):
                    raise
                errors[ref_of_manifest(each)] = error
        return errors

    def _in_step(self, wanted: Sequence[Object], errors: Mapping[Ref, StokerError]) -> bool:
        """Whether the pods that there are can do with what is wanted for others.

        Where some sets exist, a missing one is a shard whose targets nobody else would have.
        """
        sets = [each for each in wanted if each["kind"] in RUNNING]
        exists = any(self._running(each) for each in sets)
        for each in sets:
            found = self._running(each)
            if ref_of_manifest(each) not in errors:
                continue
            if found is None and exists:
                return False
            if found is not None and not can_do_with(found, each):
                return False
        return True

    def _is_relied_on(self, refused: Object) -> bool:
        """Whether what comes after it needs it as it should be; rules may be those of before."""
        if refused["kind"] == "ConfigMap":
            return not self._tools.caches.exists(ref_of_manifest(refused))
        return refused["kind"] in _MOUNTED

    def _running(self, wanted: Object) -> Running | None:
        kind, namespace, name = ref_of_manifest(wanted)
        found: Running | None = self._tools.caches.owned[kind].store.get(namespace, name)
        return found

    def _mounted_by(self, errors: Mapping[Ref, StokerError]) -> frozenset[Ref]:
        """What pods of sets that stay as they are mount."""
        stores = self._tools.caches.owned
        sets = [
            found
            for kind, namespace, name in errors
            if kind in RUNNING and (found := stores[kind].store.get(namespace, name))
        ]
        return frozenset(
            Ref(kind, found.metadata.namespace or "", name)
            for found in sets
            for kind, name in mounted(_template(found.spec))
        )


def can_do_with(found: Running, wanted: Object) -> bool:
    """Whether pods of a set as it is read all that those of the wanted one would, in its version.

    Otherwise the configuration, which is for the wanted ones, may not be for them.
    """
    here, there = _template(found.spec), _template(wanted["spec"])
    return mounted(there) <= mounted(here) and _version(here) == _version(there)


def mounted(template: Object) -> frozenset[tuple[str, str]]:
    """The kinds and names of all Secrets and ConfigMaps that pods of a template mount."""
    volumes = template.get("spec", {}).get("volumes") or ()
    return frozenset(each for volume in volumes for each in sources(volume))


def _version(template: Object) -> str:
    return str(((template.get("metadata") or {}).get("labels") or {}).get(APPLICATION_VERSION, ""))


def _template(spec: Object | None) -> Object:
    template: Object = (spec or {}).get("template") or {}
    return template
