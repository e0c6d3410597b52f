"""Leadership by a Lease: of several replicas one writes, and it knows when it must stop.

The leader renews the Lease every `retry_seconds`. It leads until `renew_seconds` after it *sent*
the last renewal that the server took; another may lead at the earliest `lease_seconds` after it
*saw* that renewal. The first is always before the second, whatever the clocks of the machines say:
each measures a span of time, and nobody compares clocks.

`fence` asks the clock, not the state of this process. So a process that was stopped and goes on
later finds the fence shut before it has noticed anything. The clock is one that also counts the
time while the machine sleeps, where there is one.
"""

import asyncio
import datetime
import logging
import random
from collections.abc import Callable
from typing import Any, Final

import msgspec

from stoker.api.core import Object
from stoker.errors import StokerError
from stoker.kube.client import Client
from stoker.kube.clock import awake_or_asleep
from stoker.kube.errors import AlreadyExists, Conflict, NotFound, NotLeading, asked_wait
from stoker.kube.resources import LEASE

_JITTER: Final = 0.2
_NEVER: Final = float("-inf")

_log = logging.getLogger(__name__)


class Leadership:
    """One contender for a Lease. `run` contends for ever; `leading` is set while it leads.

    Writers set `client.fence = leadership.fence`. When leadership ends, `on_lost` is called: it
    must stop the workers, for what they decided may be old when this process leads again.
    """

    def __init__(  # noqa: PLR0913 - the lease by name, its spans, and what hangs on it
        self,
        client: Client,
        namespace: str,
        name: str,
        identity: str,
        *,
        lease_seconds: int = 15,
        renew_seconds: float = 10,
        retry_seconds: float = 2,
        on_lost: Callable[[], None] | None = None,
        clock: Callable[[], float] = awake_or_asleep,
    ) -> None:
        if not lease_seconds > renew_seconds > retry_seconds * (1 + _JITTER) > 0:
            raise ValueError("the spans of a lease must be lease > renew > retry > 0")
        self.leading = asyncio.Event()
        self.identity = identity
        self.on_lost = on_lost
        self._client = client
        self._namespace = namespace
        self._name = name
        self._lease_seconds = lease_seconds
        self._renew_seconds = renew_seconds
        self._retry_seconds = retry_seconds
        self._clock = clock
        self._lead_until = _NEVER
        self._lease: Object = {}
        self._unchanged_since = _NEVER
        # Whether a write was begun of which no answer is known.
        self._is_writing = False
        # For how long the server wants not to be asked.
        self._asked = 0.0

    @property
    def is_leading(self) -> bool:
        """Whether nobody else can be the leader at this moment."""
        return self._clock() < self._lead_until

    @property
    def holder(self) -> str:
        """Who had the Lease when we last looked; "" if nobody had."""
        return _spec(self._lease).get("holderIdentity") or ""

    def fence(self) -> None:
        """Raise `NotLeading` when another process may be the leader."""
        if not self.is_leading:
            raise NotLeading(f"{self.identity} does not lead, {self.holder or 'nobody'} did last")

    async def run(self) -> None:
        """Contend, lead, contend again when that was lost; give the Lease back when cancelled."""
        try:
            while True:
                await self._contend()
                await self._lead()
        finally:
            await self._give_back()

    async def _contend(self) -> None:
        """Return when we lead."""
        while not await self._acquired():
            pause = self._retry_seconds * random.uniform(1, 1 + _JITTER)  # noqa: S311 - no secret
            left = self._expires_at() - self._clock()
            await asyncio.sleep(max(min(pause, left) if left > 0 else pause, self._asked))

    async def _lead(self) -> None:
        """Return when we do not lead any more."""
        _log.info("leading as %s", self.identity)
        self.leading.set()
        while self.is_leading:
            left = self._lead_until - self._clock()
            await asyncio.sleep(min(max(self._retry_seconds, self._asked), left))
            if not self.is_leading or not await self._renewed():
                break
        self._step_down()
        _log.warning("lost leadership")

    def _step_down(self) -> None:
        self._lead_until = _NEVER
        if self.leading.is_set():
            self.leading.clear()
            if self.on_lost:
                self.on_lost()

    async def _acquired(self) -> bool:
        try:
            async with asyncio.timeout(self._renew_seconds):
                await self._look()
                return self._is_free() and await self._take()
        except (Conflict, AlreadyExists):
            return False  # another was faster
        except (StokerError, TimeoutError) as error:
            _log.warning("cannot contend for the lease: %s", error or "no answer in time")
            self._asked = asked_wait(error)
            return False

    async def _look(self) -> None:
        """Read the Lease; remember since when it is as it is."""
        self._asked = 0.0
        try:
            lease = await self._request("GET", self._path)
        except NotFound:
            lease = {}
        if _spec(lease) != _spec(self._lease) or self._unchanged_since == _NEVER:
            self._unchanged_since = self._clock()
        self._lease = lease

    def _is_free(self) -> bool:
        return self.holder in ("", self.identity) or self._clock() >= self._expires_at()

    def _expires_at(self) -> float:
        """When the holder that we saw last has surely stopped writing."""
        duration = _spec(self._lease).get("leaseDurationSeconds") or self._lease_seconds
        return self._unchanged_since + float(duration)

    async def _take(self) -> bool:
        before = _spec(self._lease)
        changed_hands = self.holder != self.identity
        spec = self._renewed_spec() | {
            "acquireTime": _now() if changed_hands else before.get("acquireTime") or _now(),
            "leaseTransitions": (before.get("leaseTransitions") or 0)
            + bool(before and changed_hands),
        }
        await self._write(spec)
        return self.is_leading

    async def _renewed(self) -> bool:
        """Renew; False when the Lease is not ours any more. A failure is tried again in time."""
        try:
            async with asyncio.timeout(self._renew_seconds / 2):
                await self._write(_spec(self._lease) | self._renewed_spec())
        except Conflict:
            return await self._is_still_ours()
        except NotFound:
            return False  # deleted: whoever did that wants an election
        except (StokerError, TimeoutError) as error:
            _log.warning("cannot renew the lease: %s", error or "no answer in time")
            self._asked = asked_wait(error)
        return True

    async def _is_still_ours(self) -> bool:
        """Whether a conflict came from a renewal of ours whose answer got lost, or a bystander."""
        try:
            async with asyncio.timeout(self._renew_seconds / 2):
                await self._look()
        except (StokerError, TimeoutError):
            return True  # not known; the fence knows until when that is good enough
        return self.holder == self.identity

    async def _write(self, spec: Object) -> None:
        """Write the Lease over the version that we know, and lead from when we sent it."""
        sent = self._clock()
        lease = {
            "apiVersion": LEASE.api_version,
            "kind": LEASE.kind,
            "metadata": {"namespace": self._namespace, "name": self._name},
            **self._lease,
            "spec": spec,
        }
        # Whoever is stopped in here does not know what came of it.
        self._is_writing = True
        if self._lease:
            answer = await self._request("PUT", self._path, lease)
        else:
            answer = await self._request("POST", LEASE.path(self._namespace), lease)
        self._is_writing = False
        self._lease = answer
        self._asked = 0.0
        self._unchanged_since = sent
        self._lead_until = sent + self._renew_seconds

    def _renewed_spec(self) -> Object:
        return {
            "holderIdentity": self.identity,
            "leaseDurationSeconds": self._lease_seconds,
            "renewTime": _now(),
        }

    async def _give_back(self) -> None:
        """Let another lead at once; first of all we stop to."""
        may_have_it = self.is_leading or self._is_writing
        self._step_down()
        if not may_have_it:
            return
        try:
            async with asyncio.timeout(self._retry_seconds):
                await self._give_up()
        except (StokerError, TimeoutError) as error:
            _log.warning("cannot give the lease back: %s", error or "no answer in time")

    async def _give_up(self) -> None:
        """Write that nobody has the Lease, as long as we do.

        A renewal may have been on its way when we were told to stop: then the Lease is newer than
        we know, and so it is when that arrives after our look.
        """
        if self._is_writing:
            await self._look()
        while self.holder == self.identity:
            spec = _spec(self._lease) | {"holderIdentity": "", "leaseDurationSeconds": 1}
            lease = {**self._lease, "spec": spec | {"renewTime": _now()}}
            try:
                await self._request("PUT", self._path, lease)
                return
            except Conflict:
                await self._look()

    @property
    def _path(self) -> str:
        return LEASE.path(self._namespace, self._name)

    async def _request(self, method: str, path: str, body: Object | None = None) -> Object:
        return await self._client.ask(
            dict[str, Any],
            method,
            path,
            body=msgspec.json.encode(body) if body else None,
            timeout=self._renew_seconds / 2,
            exempt=True,
        )


def _spec(lease: Object) -> dict[str, Any]:
    return lease.get("spec") or {}


def _now() -> str:
    """The time, for people to read; nothing is decided by it."""
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
