"""Standard output and error that outlive their reader, so that a command can end its work.

`stoker lint deploy/ | head -1` has the exit status of the whole report: what nobody reads any more
is thrown away, and the command goes on.
"""

import os
import sys
from io import BufferedWriter, FileIO, TextIOWrapper
from typing import Any


class _Outliving(FileIO):
    """A pipe whose reader may go away."""

    def write(self, data: Any) -> int:
        """Write to whoever reads; after that, to nobody."""
        try:
            return super().write(data)
        except BrokenPipeError:
            nobody = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nobody, self.fileno())
            os.close(nobody)
            return memoryview(data).nbytes


def open_streams() -> None:
    """See to it that every letter can be printed, to a stream that was closed, or that will be."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        elif type(stream) is TextIOWrapper:
            setattr(sys, name, _outliving(stream))


def _outliving(stream: TextIOWrapper) -> TextIOWrapper:
    stream.flush()
    raw = _Outliving(stream.fileno(), "w", closefd=False)
    whole_lines = stream.line_buffering or stream.isatty()
    return TextIOWrapper(
        BufferedWriter(raw),
        encoding=stream.encoding,
        errors="backslashreplace",
        line_buffering=whole_lines,
    )
