"""The command line: `stoker COMMAND`, and what becomes of its exit status."""

import errno
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module

from stoker.cli.commands import GO_FLAGS, parser_of
from stoker.cli.streams import open_streams

# What can go wrong with a file or terminal that our output goes to.
UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that the arguments name; return its exit status."""
    open_streams()
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given and given[0] in GO_FLAGS:
        return _run(lambda: import_module(f"stoker.cli.{given[0]}").main(given[1:]))
    command = next((word for word in given if not word.startswith("-")), "")
    options = parser_of([command]).parse_args(given)
    return _run(lambda: options.run(options))


def _run(command: Callable[[], int]) -> int:
    try:
        status = int(command())
        sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        if error.errno not in UNWRITABLE:
            raise
        print(f"stoker: the output cannot be written: {error.strerror}", file=sys.stderr)
        # What is left of it would be tried again at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 2


if __name__ == "__main__":
    sys.exit(main())
