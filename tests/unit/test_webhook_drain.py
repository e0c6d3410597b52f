"""A webhook that is told to go, while an API server has not heard of it yet."""

import json
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from stoker.cli.webhook_flags import FLAGS
from tests.unit.test_webhook import RULES, admission, rule
from tools.waiting import DEADLINE

WEBHOOK = [
    sys.executable, "-m", "stoker", "webhook",
    "--web.listen-address=127.0.0.1:0", "--web.enable-tls=false",
]  # fmt: skip


@contextmanager
def running(*flags: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The webhook as a process of its own, and where it is."""
    process = subprocess.Popen([*WEBHOOK, *flags], stderr=subprocess.PIPE, text=True)
    assert process.stderr
    with process:
        try:
            ports = (re.search(r"msg=listening.* port=(\d+)", line) for line in process.stderr)
            port = next(found[1] for found in ports if found)
            yield process, f"http://127.0.0.1:{port}"
        finally:
            process.kill()


def answer(url: str, body: bytes | None = None) -> int:
    """The status of what is answered."""
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=DEADLINE) as found:
            return int(found.status)
    except urllib.error.HTTPError as error:
        return error.code


def test_it_answers_for_a_while_after_it_was_told_to_go() -> None:
    """It says that it is not ready, and reviews what comes; Ctrl-C ends it at once."""
    review = json.dumps(admission(rule())).encode()
    with running("--web.shutdown-delay=1h") as (process, url):
        assert answer(f"{url}/readyz") == 200
        process.send_signal(signal.SIGTERM)
        while answer(f"{url}/readyz") == 200:
            assert process.poll() is None
        assert answer(f"{url}/readyz") == 503
        assert answer(f"{url}{RULES}", review) == 200
        process.send_signal(signal.SIGINT)
        assert process.wait(DEADLINE) == 0


@pytest.mark.parametrize("flags", [[], ["--web.shutdown-delay=0s"]], ids=["default", "none"])
def test_it_goes_at_once_unless_asked_not_to(flags: list[str]) -> None:
    """Whoever runs it by hand does not wait."""
    assert FLAGS["web.shutdown-delay"].default == 0.0
    with running(*flags) as (process, _):
        process.send_signal(signal.SIGTERM)
        assert process.wait(DEADLINE) == 0
