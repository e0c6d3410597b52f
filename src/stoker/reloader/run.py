"""The loop: look, and where something changed, write, reload, and tell.

    changed? ──> prepare all outputs ──> put them in place ──> reload ──ok──> remember as good
                      │                                          └─refused─> put the good ones back
                      └─ unreadable, or a variable is not set: everything stays

A failure is tried again after the retry interval, from the start, so that a configuration that was
mended meanwhile is taken at once. The first round always asks for a reload: the process may have
started with what lay there before.

The portion of a node, where one is asked for, comes in beside the loop (`subscription`), and is put
in place, loaded, and put back together with the outputs.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import time
from collections.abc import Callable

from stoker.reloader.expand import ExpansionError, expanded, variables
from stoker.reloader.files import Fill, Output, digest
from stoker.reloader.journal import Journal
from stoker.reloader.metrics import METRICS, PORTION_METRICS, Metrics
from stoker.reloader.options import Settings, UsageError, pairs
from stoker.reloader.trigger import ByHttp, BySignal, RefusedError, ReloadError
from stoker.reloader.watch import Watcher
from stoker.reloader.web import Listener, Protection
from stoker.reloader.webconfig import WebConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final, TypeAlias

    from stoker.reloader.portion import Portion
    from stoker.reloader.subscription import Subscription

_NODE: Final = "NODE_NAME"
_FAILED: Final = 1
_TERMINATED: Final = 143
_SHORT_TRY: Final = 10.0  # seconds, where there is something to go on with
_REMINDER: Final = 30.0  # seconds, where there is nothing
_ONE_HEAP: Final = -8  # M_ARENA_MAX in <malloc.h>


# Reloads, or raises `ReloadError`.
Trigger: TypeAlias = Callable[[], None]


class Reloader:
    """The outputs of a pod and what is watched for them; `portions`: that of its node, if any."""

    def __init__(
        self,
        outputs: list[Output],
        watched: list[str],
        fill: Fill,
        trigger: Trigger,
        metrics: Metrics,
    ) -> None:
        self.portions: list[Portion] = []
        self._outputs = [output for output in outputs if output.target]
        self.paths = [*(output.source for output in outputs), *watched]
        self._sources = [output.source for output in outputs]
        self._own = {name for output in self._outputs for name in output.names}
        self._fill = fill
        self._trigger = trigger
        self._metrics = metrics
        self._prepared: int | None = None
        self._loaded: tuple[int, int] | None = None

    def write(self) -> None:
        """Write all outputs, without a reload."""
        self._require_sources()
        for portion in self.portions:
            portion.begin()
        for output in self._outputs:
            output.prepare(self._fill)
        for output in reversed(self._outputs):
            output.publish()

    def apply(self) -> bool:
        """Look, and apply what changed; return whether there was a reload.

        Raises `OSError`, `ExpansionError` or `ReloadError` where that fails.
        """
        self._require_sources()
        seen = digest(self.paths, self._own)
        edition = sum(portion.newest for portion in self.portions)
        there = all(output.exists for output in self._outputs)
        if (seen, edition) == self._loaded and there:
            return False
        if seen != self._prepared:
            self._prepared = None
            for output in self._outputs:
                output.prepare(self._fill)
            self._prepared = seen
        self._activate()
        self._reload()
        self._prepared, self._loaded = None, (seen, edition)
        return True

    def _require_sources(self) -> None:
        for source in self._sources:
            os.stat(source)

    def _activate(self) -> None:
        # The first file names the others: they must be there before it.
        try:
            for portion in self.portions:
                portion.activate()
            for output in reversed(self._outputs):
                output.activate()
        except OSError:
            self._prepared = None
            raise

    def _reload(self) -> None:
        self._metrics.add("reloads_total")
        try:
            self._trigger()
        except ReloadError as error:
            self._metrics.add("reloads_failed_total")
            self._metrics.put("last_reload_successful", 0)
            if isinstance(error, RefusedError):
                self._put_back()
            raise
        else:
            for output in self._outputs:
                output.accept()
            for portion in self.portions:
                portion.accept()
        finally:
            for portion in self.portions:
                portion.tidy()
        self._metrics.put("last_reload_successful", 1)
        self._metrics.put("last_reload_success_timestamp_seconds", time.time())

    def _put_back(self) -> None:
        # What now lies in place is not what was loaded last, if nothing was.
        self._loaded = None
        for output in self._outputs:
            output.put_back()
        for portion in self.portions:
            portion.put_back()


def run(settings: Settings) -> int:
    """Run until a signal ends it, or once; return the exit status. May raise `UsageError`."""
    _save_memory()
    journal = Journal(settings.log_level, settings.log_format)
    metrics = Metrics((*METRICS, *PORTION_METRICS) if settings.portion_url else METRICS)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    signal.signal(signal.SIGINT, lambda *_: sys.exit(130))
    try:
        portion = _portion(settings)
        reloader = _reloader(settings, metrics, portion)
        _listen(settings, metrics, journal)
    except (OSError, WebConfigError) as error:
        journal.error("cannot start", reason=error)
        return _FAILED
    if settings.watch_interval == 0:
        if portion:
            _await(portion, settings, metrics, journal)
        return _once(reloader, journal)
    watcher = Watcher(metrics, journal)
    if portion:
        _subscribe(portion, settings, metrics, journal, watcher.wake)
    _watch(reloader, watcher, settings, metrics, journal)
    return 0


def _save_memory() -> None:
    """Let all threads share one heap, where the C library would give each its own."""
    library = ctypes.CDLL(None)
    if hasattr(library, "mallopt"):
        library.mallopt(_ONE_HEAP, 1)


def _portion(settings: Settings) -> Portion | None:
    """The portion of this node, if one is to be asked for."""
    if not settings.portion_url:
        return None
    needed = ("portion_ca", "portion_token", "portion_dir")
    if unset := [name for name in needed if not getattr(settings, name)]:
        names = ", ".join(f"--{name.replace('_', '-')}" for name in unset)
        raise UsageError(f"--portion-url needs {names}")
    if _NODE not in os.environ:
        raise UsageError(f"--portion-url: {_NODE} is not set")
    from stoker.reloader.portion import Portion

    return Portion(settings.portion_dir)


def _reloader(settings: Settings, metrics: Metrics, portion: Portion | None) -> Reloader:
    values = variables(os.environ, settings.statefulset_ordinal_from_envvar)
    wanted = settings.expand
    if unset := [name for name in wanted if name not in os.environ]:
        raise UsageError(f"--expand: {', '.join(unset)} is not set")
    everywhere = {name: os.environ[name] for name in wanted}
    made = Reloader(
        [Output(source, target) for source, target in pairs(settings)],
        [path for path in settings.watched_dir if path],
        lambda lines: expanded(lines, values, everywhere),
        _trigger(settings),
        metrics,
    )
    made.portions = [portion] if portion else []
    return made


def _trigger(settings: Settings) -> Trigger:
    if settings.reload_method == "http":
        return ByHttp(settings.reload_url, settings.reload_timeout)
    return BySignal(
        settings.process_executable_name, settings.runtimeinfo_url, settings.reload_timeout
    )


def _listen(settings: Settings, metrics: Metrics, journal: Journal) -> None:
    if not settings.listen_address:
        return
    protection = Protection(settings.web_config_file, journal)
    listener = Listener(settings.listen_address, protection, metrics, journal)
    listener.start()
    journal.info("serving /metrics and /healthz", port=listener.port)


def _subscribe(
    portion: Portion,
    settings: Settings,
    metrics: Metrics,
    journal: Journal,
    news: Callable[[], None],
) -> Subscription:
    from stoker.reloader.subscription import Server, Subscription

    server = Server(
        settings.portion_url, settings.portion_ca, settings.portion_token, os.environ[_NODE]
    )
    made = Subscription(server, portion, metrics, journal, news)
    made.start()
    return made


def _await(portion: Portion, settings: Settings, metrics: Metrics, journal: Journal) -> None:
    """Wait for the first commit; where a portion lies here already, not for long.

    It never gives up: an init container that fails is tried again ever more rarely, and an agent on
    a new node would come up minutes after the operator is back.
    """
    # What it is for has not been done, whoever ends it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(_TERMINATED))
    came = threading.Event()
    about = {"node": os.environ[_NODE], "server": settings.portion_url}
    journal.info("asking for the portion of this node", **about)
    subscription = _subscribe(portion, settings, metrics, journal, came.set)
    while not came.wait(_SHORT_TRY if portion.newest else _REMINDER):
        why = subscription.problem
        if portion.newest:
            journal.warn("goes on with the portion that lies here", reason=why, **about)
            return
        journal.warn("waiting for the first portion of this node", reason=why, **about)


def _once(reloader: Reloader, journal: Journal) -> int:
    try:
        reloader.write()
    except (OSError, ExpansionError) as error:
        journal.error("the configuration was not written", reason=error)
        return _FAILED
    journal.info("the configuration is written")
    return 0


def _watch(
    reloader: Reloader, watcher: Watcher, settings: Settings, metrics: Metrics, journal: Journal
) -> None:
    journal.info("watching", paths=" ".join(reloader.paths) or "nothing")
    while True:
        # Before the look, so that no change falls between the two.
        watcher.watch(reloader.paths)
        well = not reloader.paths or _applied(reloader, metrics, journal)
        watcher.wait(
            settings.watch_interval if well else settings.retry_interval, settings.delay_interval
        )


def _applied(reloader: Reloader, metrics: Metrics, journal: Journal) -> bool:
    metrics.add("config_apply_operations_total")
    try:
        if reloader.apply():
            journal.info("reloaded")
    except (OSError, ExpansionError, ReloadError) as error:
        metrics.add("config_apply_operations_failed_total")
        journal.error("will be tried again", reason=error)
        return False
    return True
