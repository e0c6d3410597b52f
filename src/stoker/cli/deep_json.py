"""How deep the JSON may be that this process reads."""

import sys
import threading
from typing import Final

# Kubernetes reads JSON of 10,000 levels.
_LEVELS: Final = 25_000
_STACK_BYTES: Final = 64 * 1024 * 1024


def allow_deep_json() -> None:
    """Let this process read whatever the API server can store.

    An object that could not be read could not be converted, and with it no list that it is part of.
    """
    sys.setrecursionlimit(_LEVELS)
    threading.stack_size(_STACK_BYTES)
