"""Numbers of Kubernetes (`500m`) and sizes of Prometheus (`10MB`) as plain numbers.

Sizes go into the configuration as the user wrote them; what they amount to is needed to compare
them. Numbers are written plain, since Prometheus does not know the notation of Kubernetes.
"""

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

from stoker.validate.syntax import quantity


def number(text: int | str) -> float | None:
    """What a quantity of Kubernetes amounts to: `500m` is 0.5. None where the text is none."""
    value = quantity(text)
    return None if value is None else float(value)


_SIZE: Final = re.compile(r"(?P<number>[0-9]*\.?[0-9]+)(?P<unit>[KMGTPE]?)i?B", re.ASCII)


def size(text: str) -> int:
    """The bytes of a size as Prometheus counts them: `1KB` and `1KiB` are both 1024."""
    found = _SIZE.fullmatch(text)
    if found is None:
        return 0
    return int(Decimal(found["number"]) * 1024 ** " KMGTPE".index(found["unit"] or " "))


def lowest(limit: Any, ceiling: Any, amount: Callable[[Any], int] = int) -> Any:
    """The lower of a limit and its ceiling; zero, empty and None limit nothing."""
    if not ceiling or amount(ceiling) == 0:
        return None if limit == "" else limit
    if not limit or amount(limit) == 0:
        return ceiling
    return min(limit, ceiling, key=amount)
