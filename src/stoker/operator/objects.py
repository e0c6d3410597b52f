"""All objects of a workload, written as far as the API server takes them.

One that it refuses stays as it is, and keeps no other from being written where that does no harm.
Harm would be a configuration that pods cannot read: what runs pods is tried first, before anything
is written, and where that is refused the configuration must be one that the pods of the time can
do with. And where something that is mounted is refused, what is written after it and relies on it
is not written either.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import groupby, islice
from typing import Final

from msgspec import Struct
from msgspec.structs import asdict

from stoker.api.core import Object
from stoker.build.names import APPLICATION_VERSION
from stoker.build.volumes import sources
from stoker.errors import StokerError, WorkloadError
from stoker.kube.errors import ApiError, Forbidden, Invalid
from stoker.logs import logger
from stoker.operator.checks import AwaitedError, may_go_well
from stoker.operator.claims import grow_claims
from stoker.operator.tools import Tools
from stoker.plan.existing import Running
from stoker.ref import Ref, ref_of_manifest

RUNNING: Final = ("StatefulSet", "DaemonSet")
"""The kinds of what runs pods."""

_MOUNTED: Final = ("ConfigMap", "Secret")
# So many ConfigMaps are written at once: a server does several as quickly as one.
_AT_ONCE: Final = 4
# Nobody reads more than these.
_MOST_TOLD: Final = 3
_REQUEST_REFUSED: Final = range(400, 409)


class RefusedObjects(Struct, frozen=True):
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
    def foremost(self) -> StokerError | None:
        """What decides whether all of it is tried again: what may go well then, if any may."""
        errors = [*self.errors.values()]
        return next(filter(may_go_well, errors), errors[0] if errors else None)


def is_refusal(error: StokerError) -> bool:
    """Whether an object is what is wrong, and not the moment."""
    if isinstance(error, Invalid | Forbidden | WorkloadError):
        return True
    return type(error) is ApiError and error.status in _REQUEST_REFUSED


class ObjectWriter:
    """Writes the objects of workloads."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._log = logger("objects")

    async def write(
        self,
        wanted: Sequence[Object],
        problem: WorkloadError | None,
        only_made: AbstractSet[Ref] = frozenset(),
    ) -> RefusedObjects:
        """Write what is wanted, in this order; of `only_made`, what is not there.

        `problem` is why nothing that runs pods may be written, if there is one. The error itself,
        and nothing is written, where pods could not do with the configuration.
        """
        errors = await self._untaken(wanted, problem)
        if errors and not self._in_step(wanted, errors):
            raise next(iter(errors.values()))
        mounted = self._mounted_by(errors)
        stopped = False
        for some in _together(wanted):
            depends = some[0]["kind"] in (*_MOUNTED, *RUNNING)
            if stopped and depends:
                continue
            taken = [each for each in some if ref_of_manifest(each) not in errors]
            said = await asyncio.gather(*(self._written(each, only_made) for each in taken))
            for each, error in zip(taken, said, strict=True):
                if error is None:
                    continue
                if not isinstance(error, ApiError) or not is_refusal(error):
                    raise error
                errors[ref_of_manifest(each)] = error
                stopped |= self._is_relied_on(each)
        return RefusedObjects(errors, mounted, stopped)

    async def _written(self, wanted: Object, only_made: AbstractSet[Ref]) -> Exception | None:
        """Write an object; what went wrong comes back, so that others are written to their end."""
        try:
            if ref_of_manifest(wanted) in only_made:
                await self._tools.writer.create(wanted)
            else:
                await self._tools.writer.write(wanted)
        except Exception as error:
            return error
        return None

    async def _untaken(
        self, wanted: Sequence[Object], problem: WorkloadError | None
    ) -> dict[Ref, StokerError]:
        """What runs pods and would be refused; what is asked for beforehand is asked for here."""
        errors: dict[Ref, StokerError] = {}
        sets = [each for each in wanted if each["kind"] in RUNNING]
        # Without pods nobody reads the configuration, so it does no harm to write it first.
        alone = not any(map(self._running, sets))
        # And pods that we cannot see, since ours have a label, would read something that is there.
        is_new = alone and not any(map(self._is_mounted, wanted))
        for each in sets:
            try:
                if problem is not None:
                    raise problem
                if not is_new:
                    await self._tools.writer.check(each, alone=alone)
                await self._grow_claims(each)
            except StokerError as error:
                if not is_refusal(error):
                    raise
                errors[ref_of_manifest(each)] = error
        return errors

    async def _grow_claims(self, wanted: Object) -> None:
        """Let claims grow; those that cannot, or that we may not see, keep no pods from coming."""
        found, identity = self._running(wanted), ref_of_manifest(wanted)
        try:
            await grow_claims(self._tools.client, wanted, found)
        except (AwaitedError, Forbidden) as error:
            if found is not None or self._tools.writer.is_replacing(identity):
                raise
            self._log.warn("claims stay as they are", **asdict(identity), err=error)

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

    def _is_mounted(self, wanted: Object) -> bool:
        """Whether pods could mount it, as far as the caches know."""
        if wanted["kind"] not in _MOUNTED:
            return False
        return not self._tools.caches.is_absent(ref_of_manifest(wanted))

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


def _together(wanted: Sequence[Object]) -> Iterator[Sequence[Object]]:
    """What is written at the same time: ConfigMaps that stand together, some at once."""
    for is_map, some in groupby(wanted, lambda each: each["kind"] == "ConfigMap"):
        remaining = iter(some)
        while found := list(islice(remaining, _AT_ONCE if is_map else 1)):
            yield found


def can_do_with(found: Running, wanted: Object) -> bool:
    """Whether pods of a set as it is read all that those of the wanted one would, in its version.

    Otherwise the configuration, which is for the wanted ones, might not be for them.
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
