"""A process that answers what is dear: it can be ended, and has a limit of memory.

A thread has neither: a review that takes for ever would take its place for ever, and sixteen
megabytes of `[],[],[],…` are four hundred of lists. The process is started when it is needed, ends
when it was not for a while, and is killed when an answer takes too long. What goes to and fro is
framed: the length of a message, and the message.
"""

import asyncio
import contextlib
import gc
import struct
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Sequence
from typing import Any, BinaryIO, Final

import msgspec
from msgspec import Struct

_LENGTH: Final = struct.Struct(">I")
_IDLE_SECONDS: Final = 60.0
# Address space, a thread's stack of 64 MiB included: less than that can come to be in use. A body
# as JSON takes about ten times its bytes, and its answer some.
_MEMORY: Final = 64 << 20
_TIMES_A_BODY: Final = 14


class Question(Struct, frozen=True, array_like=True):
    """A body for a path."""

    path: str
    body: bytes


class Reply(Struct, frozen=True, array_like=True):
    """An answer, or the words and the HTTP status of why there is none."""

    body: bytes = b""
    allowed: bool = True
    subject: dict[str, Any] = {}
    findings: tuple[str, ...] = ()
    status: int = 200
    problem: str = ""


class BrokenError(Exception):
    """The process gave no answer: it was killed, or could not do it."""


class WorkerProcess:
    """Asks a process, one question at a time; `command` starts it."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = command
        self._process: Process | None = None
        self._turn = asyncio.Lock()
        self._idle: asyncio.TimerHandle | None = None
        self._stopped = False

    async def ask(self, question: Question) -> Reply:
        """The answer. Who does not wait for it any longer cancels this, and the process ends."""
        async with self._turn:
            if self._idle:
                self._idle.cancel()
            try:
                reply = await self._asked(question)
            except BaseException:
                # Whatever comes from it now belongs to no question.
                await self._end()
                raise
            self._idle = asyncio.get_running_loop().call_later(_IDLE_SECONDS, self._kill)
            return reply

    async def stop(self) -> None:
        """End the process, and start no other."""
        self._stopped = True
        if self._idle:
            self._idle.cancel()
        await self._end()

    async def _asked(self, question: Question) -> Reply:
        process = await self._running()
        if process.stdin is None or process.stdout is None:
            raise BrokenError("there are no pipes")
        try:
            message = msgspec.msgpack.encode(question)
            process.stdin.write(_LENGTH.pack(len(message)) + message)
            await process.stdin.drain()
            (length,) = _LENGTH.unpack(await process.stdout.readexactly(_LENGTH.size))
            return msgspec.msgpack.decode(await process.stdout.readexactly(length), type=Reply)
        except (OSError, EOFError) as error:
            raise BrokenError("it ended before its answer") from error

    async def _running(self) -> Process:
        if self._stopped:
            raise BrokenError("the webhook is stopping")
        if self._process is None or self._process.returncode is not None:
            try:
                self._process = await asyncio.create_subprocess_exec(
                    *self._command, stdin=PIPE, stdout=PIPE
                )
            except OSError as error:
                raise BrokenError("it cannot be started") from error
        return self._process

    def _kill(self) -> None:
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()

    async def _end(self) -> None:
        self._kill()
        if self._process is not None:
            process, self._process = self._process, None
            await process.wait()
            # Its pipes would stay open until somebody reads their end.
            process._transport.close()  # type: ignore[attr-defined]


# --- In the process -------------------------------------------------------------------------------


def serve(answer: Callable[[Question], Reply], largest_body: int) -> None:
    """Answer the questions on standard input until there are no more; the body of the process."""
    _limit_memory(_MEMORY + _TIMES_A_BODY * largest_body)
    asked, replies = sys.stdin.buffer, sys.stdout.buffer
    # What else is printed must not be taken for an answer.
    sys.stdout = sys.stderr
    while message := _message(asked):
        try:
            reply = answer(msgspec.msgpack.decode(message, type=Question))
        except MemoryError:
            reply = Reply(status=413, problem="the review takes too much memory")
        encoded = msgspec.msgpack.encode(reply)
        replies.write(_LENGTH.pack(len(encoded)) + encoded)
        replies.flush()
        del message, reply, encoded
        gc.collect()


def _message(source: BinaryIO) -> bytes:
    start = source.read(_LENGTH.size)
    if len(start) < _LENGTH.size:
        return b""
    (length,) = _LENGTH.unpack(start)
    return source.read(length)


def _limit_memory(most: int) -> None:
    try:
        import resource
    except ImportError:
        # Where there are no limits to set, the container's counts.
        return
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
