"""The whole corpus as one folder: every payload in the world of all workloads at once."""

from tests.hostile import PAYLOADS
from tests.hostile.payload import ATTACKER, Json
from tests.hostile.world import NEIGHBOUR, neighbours, secrets, vault, workloads


def corpus() -> list[Json]:
    """Workloads, a neighbour, Secrets, and every payload but those that are dear to write down."""
    held = dict(vault())
    for each in PAYLOADS:
        held |= each.vault
    chosen = [each for each in PAYLOADS if each.attack != "cost"]
    hostile = [each.manifest(f"h-{number}") for number, each in enumerate(chosen)]
    return [*workloads(), *neighbours(), *secrets({NEIGHBOUR: vault(), ATTACKER: held}), *hostile]
