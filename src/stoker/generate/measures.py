"""Numbers of Kubernetes (`500m`) and sizes of Prometheus (`10MB`) as plain numbers.

Sizes go into the configuration as the user wrote them; what they amount to is needed to compare
them. Numbers are written plain, since Prometheus does not know the notation of Kubernetes.
"""

from collections.abc import Callable
from typing import Any

from stoker.validate.syntax import byte_size, quantity


def number(text: int | str) -> float | None:
    """What a quantity of Kubernetes amounts to: `500m` is 0.5. None where the text is none."""
    value = quantity(text)
    return None if value is None else float(value)


def size(text: str) -> int:
    """The bytes of a size as Prometheus counts them: `1KB` and `1KiB` are both 1024."""
    return byte_size(text) or 0


def lowest(limit: Any, ceiling: Any, amount: Callable[[Any], int] = int) -> Any:
    """The lower of a limit and its ceiling; zero, empty and None limit nothing."""
    if not ceiling or amount(ceiling) == 0:
        return None if limit == "" else limit
    if not limit or amount(limit) == 0:
        return ceiling
    return min(limit, ceiling, key=amount)
