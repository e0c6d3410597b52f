"""Run the webhook; `stoker webhook --help` lists its flags, which are those of the peer."""

import asyncio
import signal
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from stoker.cli.terminal import failed

if TYPE_CHECKING:
    from stoker.cli.flags import Given
    from stoker.web.reviews import Reviewer


def main(words: Sequence[str]) -> int:
    """Run the webhook until it is told to stop; return the exit status."""
    from stoker.cli.flags import about, parsed
    from stoker.cli.webhook_flags import FLAGS, GROUPS, USAGE
    from stoker.errors import StokerError
    from stoker.logs import configure

    try:
        given = parsed(words, FLAGS)
        if text := about(given, USAGE, GROUPS):
            print(text)
            return 0
        configure(given["log-level"], given["log-format"])
        asyncio.run(_run(given, words))
    except StokerError as error:
        return failed("webhook", error)
    return 0


def reviewer_of(given: "Given") -> "Reviewer":
    """Who answers, as the flags say."""
    from stoker.cli.operator_settings import limits_of
    from stoker.web.reviews import Reviewer, rules_reader

    reader = rules_reader(given["name-validation-scheme"], given["promql-options"])
    return Reviewer(reader, limits_of(given))


async def _run(given: "Given", words: Sequence[str]) -> None:
    from stoker import __version__
    from stoker.cli.deep_json import allow_deep_json
    from stoker.cli.operator_settings import web_settings
    from stoker.logs import logger
    from stoker.web.server import Offer, WebServer
    from stoker.web.webhook import ApiServerWebhook, Capacity
    from stoker.web.webhook_metrics import WebhookMetrics

    allow_deep_json()
    stopping, over = _signals(given["web.shutdown-delay"])
    reviewer = reviewer_of(given)
    metrics = WebhookMetrics(__version__, reviewer.paths)
    command = (sys.executable, "-m", "stoker.cli.reviewing", *words)
    largest = given["web.max-request-bytes"]
    webhook = ApiServerWebhook(reviewer, metrics, command, places=Capacity(bytes=2 * largest))
    server = WebServer(
        web_settings(given),
        metrics.registry.text,
        lambda: "stopping" if stopping.is_set() else "",
        served=Offer(webhook.routes(), largest),
    )
    metrics.counts_connections(lambda: server.turned_away)
    logger("webhook").info("starting", version=__version__)
    await server.start()
    try:
        await over.wait()
    finally:
        await server.stop()
        await webhook.stop()
    logger("webhook").info("stopped")


def _signals(delay: float) -> tuple[asyncio.Event, asyncio.Event]:
    """Set when no new work is wanted, and when it is time to end: so many seconds after SIGTERM.

    Until then API servers may still ask that have not heard that the pod goes.
    """
    stopping, over = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def drain() -> None:
        stopping.set()
        loop.call_later(delay, over.set)

    loop.add_signal_handler(signal.SIGTERM, drain)
    loop.add_signal_handler(signal.SIGINT, over.set)
    return stopping, over
