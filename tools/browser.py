"""Finds or installs Chromium, and drives it by its DevTools protocol: the page as people see it.

    python -m tools.browser        prints the path of a browser, which is installed if need be

Nothing runs beside a call: a command is sent and messages are read until its answer is there; what
else arrives meanwhile (lines of the console, requests) is kept for the test to look at.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import aiohttp

from tools.progress import bar, clock, say
from tools.waiting import DEADLINE, until

VARIABLE = "STOKER_CHROMIUM"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--remote-debugging-port=0",
    # Whatever asks for another host than this one finds none.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)
_TAIL = 5
_LOG_EVERY = 15.0
_ANSWER = 120.0
_LARGEST = 64 * 1024 * 1024


class BrowserError(Exception):
    """There is no browser, or it did not do what it was told."""


# --- Where it is ----------------------------------------------------------------------------------


def found(environ: Mapping[str, str] = os.environ) -> Path | None:
    """The browser that is named by the environment, or is on the PATH; None if there is none."""
    if named := environ.get(VARIABLE):
        if not os.access(named, os.X_OK):
            raise BrowserError(f"{VARIABLE} names {named}, which is no program")
        return Path(named)
    paths = (shutil.which(name, path=environ.get("PATH")) for name in NAMES)
    return next((Path(path) for path in paths if path), None)


def installed() -> Path:
    """The browser; Debian's package is installed if there is none."""
    if there := found():
        return there
    manager = [
        *_as_root(),
        "env",
        "DEBIAN_FRONTEND=noninteractive",
        "apt-get",
        "--yes",
        "--quiet=2",
    ]
    package = ["install", "--no-install-recommends", "chromium", "fonts-dejavu-core"]
    if _apt([*manager, *package]):
        # The lists of packages may be old, or not there at all.
        _apt([*manager, "update"])
        if reason := _apt([*manager, *package]):
            raise BrowserError(f"apt-get could not install chromium: {reason}; {_ADVICE}")
    if there := found():
        return there
    raise BrowserError(f"apt-get installed chromium, but there is none on the PATH; {_ADVICE}")


_ADVICE = f"install Chromium or Chrome yourself, or name one in {VARIABLE}"


def _as_root() -> list[str]:
    if not shutil.which("apt-get"):
        raise BrowserError(f"there is no browser, and no apt-get to install one; {_ADVICE}")
    if os.geteuid() == 0:
        return []
    if shutil.which("sudo") and not subprocess.run(["sudo", "-n", "true"], check=False).returncode:
        return ["sudo", "-n"]
    raise BrowserError(f"there is no browser, and installing one takes root; {_ADVICE}")


def _apt(command: list[str]) -> str:
    """Run apt-get, showing how far it is; return what it said last where it fails."""
    say(f"$ {' '.join(command)}")
    options = ["-o", "APT::Status-Fd=1", "-o", "Dpkg::Use-Pty=0"]
    lines: list[str] = []
    with subprocess.Popen(
        [*command, *options], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        shown = _Shown()
        for line in process.stdout or ():
            lines.append(line.strip())
            shown.tick(line)
        shown.end()
    return " ".join(lines[-_TAIL:]) or "no reason given" if process.returncode else ""


class _Shown:
    """How far apt-get is: a line that redraws itself, or one now and then in a log."""

    def __init__(self) -> None:
        self._began = self._written = time.monotonic()
        self._redraws = sys.stderr.isatty()

    def tick(self, line: str) -> None:
        """Take a line such as `pmstatus:chromium:61.9048:Unpacking chromium`."""
        what, _, rest = line.partition(":")
        _, _, rest = rest.partition(":")
        percent, _, doing = rest.partition(":")
        if what not in {"dlstatus", "pmstatus"} or not percent.replace(".", "", 1).isdigit():
            return
        now = time.monotonic()
        told = f"{bar(int(float(percent)), 100)} {clock(now - self._began)} {doing.strip()}"
        if self._redraws:
            sys.stderr.write(f"\r\x1b[K{told[: shutil.get_terminal_size().columns - 1]}")
            sys.stderr.flush()
        elif now - self._written >= _LOG_EVERY:
            self._written = now
            say(told)

    def end(self) -> None:
        """Leave the line."""
        if self._redraws:
            sys.stderr.write("\r\x1b[K")


# --- The browser ----------------------------------------------------------------------------------


class Browser:
    """A headless browser with a profile of its own."""

    def __init__(
        self, runner: asyncio.Runner, session: aiohttp.ClientSession, address: str
    ) -> None:
        self._runner = runner
        self._session = session
        self._host, _, self._path = address.partition("/")
        self._wire = self._wired(self._path)

    @classmethod
    @contextmanager
    def start(cls, binary: Path | None = None) -> Iterator[Browser]:
        """Start one, and end it with everything it has opened."""
        with (
            tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile,
            _process(binary or installed(), Path(profile)) as address,
            asyncio.Runner() as runner,
        ):
            session = runner.run(_session())
            try:
                yield cls(runner, session, address)
            finally:
                runner.run(session.close())

    @contextmanager
    def page(self, width: int = 1280, height: int = 900) -> Iterator[Page]:
        """A tab with its own storage, as if nobody had been here before."""
        context = self._wire.call("Target.createBrowserContext")["browserContextId"]
        wanted = {"url": "about:blank", "browserContextId": context}
        target = self._wire.call("Target.createTarget", wanted)["targetId"]
        page = Page(self._wired(f"devtools/page/{target}"))
        page.size(width, height)
        try:
            yield page
        finally:
            self._wire.call("Target.disposeBrowserContext", {"browserContextId": context})

    def _wired(self, path: str) -> _Wire:
        url = f"ws://{self._host}/{path}"
        return _Wire(self._runner, self._runner.run(_connected(self._session, url)))


async def _session() -> aiohttp.ClientSession:
    return aiohttp.ClientSession()


async def _connected(
    session: aiohttp.ClientSession, url: str
) -> aiohttp.ClientWebSocketResponse[bool]:
    return await session.ws_connect(url, max_msg_size=_LARGEST)


@contextmanager
def _process(binary: Path, profile: Path) -> Iterator[str]:
    """Run the browser; give host, port and path of its DevTools."""
    log = profile / "stderr"
    with log.open("wb") as stderr:
        command = [str(binary), *FLAGS, f"--user-data-dir={profile}", "about:blank"]
        process = subprocess.Popen(command, stdout=stderr, stderr=stderr)
    try:
        yield until("the browser's DevTools", lambda: _devtools(process, profile))
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _devtools(process: subprocess.Popen[bytes], profile: Path) -> str:
    if process.poll() is not None:
        said = (profile / "stderr").read_text(errors="replace").strip().splitlines()[-_TAIL:]
        raise BrowserError(f"the browser ended at once: {' '.join(said)}")
    file = profile / "DevToolsActivePort"
    port, _, path = file.read_text().strip().partition("\n") if file.exists() else ("", "", "")
    return f"127.0.0.1:{port}{path}" if path else ""


class _Wire:
    """Commands out, answers and events in."""

    def __init__(
        self, runner: asyncio.Runner, socket: aiohttp.ClientWebSocketResponse[bool]
    ) -> None:
        self._runner = runner
        self._socket = socket
        self._last = 0
        self.events: list[dict[str, Any]] = []

    def call(self, method: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The answer to a command."""
        return self._runner.run(asyncio.wait_for(self._call(method, params or {}), _ANSWER))

    async def _call(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        self._last += 1
        await self._socket.send_json({"id": self._last, "method": method, "params": params})
        while True:
            message: dict[str, Any] = json.loads(await self._socket.receive_str())
            if message.get("id") == self._last:
                break
            self.events.append(message)
        if "error" in message:
            raise BrowserError(f"{method}: {message['error'].get('message')}")
        result: dict[str, Any] = message["result"]
        return result


# --- A page ---------------------------------------------------------------------------------------

# name: (code of the key, number of the key, text that it types)
_KEYS: dict[str, tuple[str, int, str]] = {
    "Enter": ("Enter", 13, "\r"),
    "Escape": ("Escape", 27, ""),
    "Tab": ("Tab", 9, ""),
    "Backspace": ("Backspace", 8, ""),
    "ArrowDown": ("ArrowDown", 40, ""),
    "ArrowUp": ("ArrowUp", 38, ""),
}


class Page:
    """A tab: what a person does there, and what can be seen."""

    def __init__(self, wire: _Wire) -> None:
        self._wire = wire
        for domain in ("Page", "Runtime", "Network", "Log"):
            wire.call(f"{domain}.enable")

    def goto(self, url: str) -> None:
        """Open an address."""
        failed = self._wire.call("Page.navigate", {"url": url}).get("errorText")
        if failed:
            raise BrowserError(f"{url}: {failed}")

    def evaluate(self, expression: str) -> Any:
        """The value of JavaScript; a promise is waited for."""
        wanted = {"expression": expression, "awaitPromise": True, "returnByValue": True}
        answer = self._wire.call("Runtime.evaluate", wanted)
        if problem := answer.get("exceptionDetails"):
            raise BrowserError(f"{expression}: {problem.get('exception', problem)}")
        return answer["result"].get("value")

    def until(self, what: str, expression: str, seconds: float = DEADLINE) -> Any:
        """Wait until JavaScript is true, and return what it is; errors count as not yet."""

        def holds() -> Any:
            try:
                return self.evaluate(expression)
            except BrowserError:
                return None

        return until(what, holds, seconds)

    def text(self, selector: str = "body") -> str:
        """What can be read in the first element of a selector; nothing if there is none."""
        wanted = json.dumps(selector)
        return str(self.evaluate(f"document.querySelector({wanted})?.innerText ?? ''"))

    def says(self, words: str, selector: str = "main", seconds: float = DEADLINE) -> None:
        """Wait until words can be read in an element."""
        where, wanted = json.dumps(selector), json.dumps(words)
        script = f"document.querySelector({where})?.innerText.includes({wanted})"
        self.until(f"{words!r} in {selector}", script, seconds)

    def press(self, *keys: str) -> None:
        """Press keys, one after the other: a letter, or a name such as `Enter`."""
        for key in keys:
            code, number, text = _KEYS.get(key, ("", 0, key))
            told = {"key": key, "code": code, "windowsVirtualKeyCode": number, "text": text}
            kind = "keyDown" if text else "rawKeyDown"
            self._wire.call("Input.dispatchKeyEvent", {"type": kind, **told})
            self._wire.call("Input.dispatchKeyEvent", {"type": "keyUp", **told, "text": ""})

    def size(self, width: int, height: int) -> None:
        """Make the window this large."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self._wire.call("Emulation.setDeviceMetricsOverride", metrics)

    def prefers(self, scheme: str) -> None:
        """Be a system that is set to `dark` or `light`."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self._wire.call("Emulation.setEmulatedMedia", {"features": features})

    def screenshot(self, path: Path) -> None:
        """Write what is in the window to a PNG file."""
        taken = self._wire.call("Page.captureScreenshot", {"format": "png"})
        path.write_bytes(base64.b64decode(taken["data"]))

    @property
    def complaints(self) -> list[str]:
        """Errors and warnings in the console, and exceptions that nobody caught."""
        self._wire.call("Runtime.evaluate", {"expression": "0"})
        tell: dict[str, Callable[[dict[str, Any]], str]] = {
            "Runtime.exceptionThrown": lambda told: str(told["exceptionDetails"]),
            "Runtime.consoleAPICalled": lambda told: f"{told['type']}: {told['args']}",
            "Log.entryAdded": lambda told: f"{told['entry']['level']}: {told['entry']}",
        }
        events = self._wire.events
        every = [tell[each["method"]](each["params"]) for each in events if each["method"] in tell]
        return [each for each in every if not each.startswith(("log:", "info:", "verbose:"))]

    @property
    def requests(self) -> list[str]:
        """The addresses that were asked for."""
        sent = "Network.requestWillBeSent"
        events = self._wire.events
        return [each["params"]["request"]["url"] for each in events if each["method"] == sent]


def main() -> int:
    """Print the path of a browser, installed if need be."""
    try:
        print(installed())
    except BrowserError as error:
        say(f"tools.browser: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
