"""One who may write in one namespace, and means harm: objects that cost, and changes without end.

    evil = Attacker(World(cluster, "evil"))
    evil.furnish()              # all that lies there
    with evil.at_work():        # and all that happens there
        …

What he writes is over the limits of one object, just below them, or costs somebody else something
although it is small. Some of his Secrets are answered late, or not at all (`fault`).
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from aiohttp import web

from tests import builders
from tests.builders import resource
from tests.live.beside import beside
from tests.live.faults import status
from tests.live.operating import World
from tools.api import ApiError

Object = dict[str, Any]
# Between two of his changes: the API server has to live with him, too, and is not what is tried.
PAUSE = 0.15
SLOW_SECONDS = 3.0


def monitor(name: str, *endpoints: Object) -> Object:
    """A ServiceMonitor of his."""
    return resource("ServiceMonitor", name, {"selector": {}, "endpoints": list(endpoints)})


def rule(name: str, *expressions: str, **alert: Any) -> Object:
    """A PrometheusRule of his, with one alert for each expression."""
    rules = [{"alert": "A", "expr": each, **alert} for each in expressions]
    return resource("PrometheusRule", name, {"groups": [{"name": "g", "rules": rules}]})


def config(name: str, **route: Any) -> Object:
    """An AlertmanagerConfig of his."""
    whole = {"receiver": "r", **route}
    return resource("AlertmanagerConfig", name, {"route": whole, "receivers": [{"name": "r"}]})


def token(name: str) -> Object:
    """What names a Secret."""
    return {"port": "a", "bearerTokenSecret": {"name": name, "key": "token"}}


def relabeled(count: int, pattern: str) -> Object:
    """An endpoint with so many patterns, each of them another."""
    steps = [{"regex": f"{number}{pattern}", "action": "drop"} for number in range(count)]
    return {"port": "a", "relabelings": steps}


def secret(name: str, text: str) -> Object:
    """A Secret of his."""
    return builders.secret(name, {"token": text})


def over() -> Iterator[Object]:
    """What no limit would let pass, or what broke something once."""
    yield monitor("unicode", relabeled(150, r"\PN{1000}"))
    yield monitor("nested", relabeled(150, "((a{30}){30}){30}"))
    yield monitor("multiplied", *[token("large")] * 600)
    yield monitor("many-endpoints", *[{"port": "a"}] * 60_000)
    yield monitor("long-name", token("n" * 1_000_000))
    yield rule("matchers", *[f'up{{a=~"{number}\\\\PN{{1000}}"}}' for number in range(150)])
    for number in range(3):
        yield rule(f"sums-{number}", "+".join(["a"] * 250_000))
    yield rule("annotated", "up", annotations={"text": "x" * 480_000})
    yield config("labels", groupBy=[f"l{number}" for number in range(40_000)])
    for number in range(6):
        yield config(f"wide-{number}", groupBy=[f"l{each}_{number}" for each in range(90_000)])


def under() -> Iterator[Object]:
    """What the limits let pass, and not much more would."""
    yield rule("tokens", *["+".join(["a"] * 900) for _ in range(70)])
    yield rule("rules", *["up"] * 4000)
    yield monitor("endpoints", *[{"port": f"p{number}"} for number in range(500)])
    yield monitor("steps", relabeled(2000, "(a|b)+c"))
    yield monitor("tokens", *[token("medium")] * 60)
    yield config("grouped", groupBy=[f"l{number}" for number in range(4000)])


def unread() -> Iterator[Object]:
    """What names Secrets that are answered late, wrongly or never."""
    for number in range(20):
        yield monitor(f"slow-{number}", token(f"slow-{number}"))
        yield monitor(f"broken-{number}", token(f"broken-{number}"))
    yield monitor("flapping", *[token("flapping")] * 20)
    yield monitor("absent", *[token(f"absent-{number}") for number in range(300)])


def secrets() -> Iterator[Object]:
    """What he has of Secrets."""
    yield secret("large", "x" * 700_000)
    yield secret("medium", "x" * 40_000)
    yield secret("flapping", "0")
    for number in range(20):
        yield secret(f"slow-{number}", "s")
        yield secret(f"broken-{number}", "b")


class Attacker:
    """Somebody with all rights in one namespace."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.changes = 0

    def furnish(self) -> None:
        """Make all that lies there; what the API server itself refuses is left."""
        for each in (*secrets(), *unread(), *under(), *over()):
            self._try(lambda made=each: self._world.put(made))  # type: ignore[misc]

    def fault(self, request: web.Request) -> web.Response | float | None:
        """What happens to requests for his Secrets."""
        place = f"/namespaces/{self._world.namespace}/secrets/"
        name = request.path.partition(place)[2]
        if request.method != "GET" or not name:
            return None
        if name.startswith("slow-"):
            return SLOW_SECONDS
        return status(500, "InternalError") if name.startswith("broken-") else None

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Change one thing after the other until the block ends."""
        with beside(self._work):
            yield

    def _work(self, stopped: threading.Event) -> None:
        for number, change in enumerate(itertools.cycle(self._changes())):
            if stopped.wait(PAUSE):
                return
            self._try(lambda: change(number))  # noqa: B023 - called at once
            self.changes += 1

    def _changes(self) -> list[Callable[[int], None]]:
        """What he does in turn: what is dear now and then, what is quick more often."""
        flap = [self._flap, self._small, self._flap, self._new]
        dear = [
            self._edit("prometheusrules", "tokens", "/spec/groups/0/rules/0/expr", "a+{}"),
            self._edit("servicemonitors", "endpoints", "/spec/endpoints/0/port", "p-{}"),
            self._edit("prometheusrules", "rules", "/spec/groups/0/rules/0/expr", "up+{}"),
            self._edit("servicemonitors", "steps", "/spec/endpoints/0/port", "p-{}"),
            self._edit("servicemonitors", "unicode", "/spec/endpoints/0/port", "p-{}"),
            self._edit("servicemonitors", "multiplied", "/spec/endpoints/0/port", "p-{}"),
            self._edit("alertmanagerconfigs", "labels", "/spec/route/groupBy/0", "l_{}"),
            self._edit("prometheusrules", "annotated", "/spec/groups/0/rules/0/expr", "up+{}"),
        ]
        return [each for one in dear for each in (*flap, one)]

    def _flap(self, number: int) -> None:
        self._world.put(secret("flapping", str(number)))

    def _small(self, number: int) -> None:
        self._world.put(monitor("small", {"port": f"p-{number}"}))

    def _new(self, number: int) -> None:
        self._world.put(monitor(f"new-{number % 40}", token(f"slow-{number % 20}")))

    def _edit(self, kind: str, name: str, path: str, text: str) -> Callable[[int], None]:
        def edit(number: int) -> None:
            operation = {"op": "replace", "path": path, "value": text.format(number)}
            self._world.cluster.api.request(
                "PATCH",
                self._world.path(kind, name),
                [operation],
                content_type="application/json-patch+json",
            )

        return edit

    def _try(self, work: Callable[[], None]) -> None:
        try:
            work()
        except (ApiError, OSError):
            time.sleep(0)
