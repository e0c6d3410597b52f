"""`python -m stoker.reloader`: what `stoker reloader` becomes once its arguments are understood."""

import sys

from stoker.reloader.options import UsageError, asked_for, parsed
from stoker.reloader.run import run


def main() -> int:
    """Run with the arguments of the process; return the exit status."""
    words = sys.argv[1:]
    if text := asked_for(words):
        sys.stdout.write(f"{text}\n")
        return 0
    try:
        return run(parsed(words))
    except UsageError as error:
        sys.stderr.write(f"stoker reloader: {error}\n")
        return 2


if __name__ == "__main__":
    sys.exit(main())
