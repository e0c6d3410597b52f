"""The process in which the webhook does dear reviews; its flags are those of `stoker webhook`.

`stoker webhook` starts it by itself (`python -m stoker.cli.reviewing FLAGS`).
"""

import gc
import signal
import sys
import threading
from collections.abc import Sequence
from functools import partial


def main(words: Sequence[str]) -> None:
    """Answer on standard output what is asked on standard input."""
    from stoker.cli.deep_json import allow_deep_json
    from stoker.cli.flags import parsed
    from stoker.cli.webhook import reviewer_of
    from stoker.cli.webhook_flags import FLAGS
    from stoker.web.webhook import reply_of
    from stoker.web.worker import serve

    # Who stops the webhook from a terminal stops it; it ends us.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    allow_deep_json()
    # A large body is many objects at once, none of them in a cycle.
    gc.disable()
    given = parsed(words, FLAGS)
    answer, largest = partial(reply_of, reviewer_of(given)), given["web.max-request-bytes"]
    # A thread has the stack that deep JSON takes.
    thread = threading.Thread(target=serve, args=(answer, largest))
    thread.start()
    thread.join()


if __name__ == "__main__":
    main(sys.argv[1:])
