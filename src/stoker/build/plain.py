"""Values of the API as plain JSON, for objects that we make."""

from typing import Any

import msgspec


def plain(value: Any) -> Any:
    """A declared type, or an object of the user's, as new dictionaries and lists of our own."""
    return msgspec.json.decode(msgspec.json.encode(value))
