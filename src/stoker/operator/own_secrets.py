"""Which Secret to ask for to see whether the server answers us: of ours, one after the other."""

from collections.abc import Callable
from itertools import count

from stoker.operator.caches import Caches
from stoker.ref import Ref, ref_from
from stoker.select.assets import SECRET


def own_secrets(caches: Caches, otherwise: tuple[str, str]) -> Callable[[], Ref]:
    """Names, at each call, the next of the Secrets that belong to workloads.

    `otherwise`: the namespace and name of one that may not exist, where there are none. Then
    nothing is in use that could be lost, and that there is none is an answer, too.
    """
    turns = count()

    def name_one() -> Ref:
        found = [
            ref_from(SECRET, each.metadata)
            for reflector in caches.workloads.values()
            for workload in reflector.store
            for each in caches.belonging(SECRET, workload.metadata.uid or "")
        ]
        return found[next(turns) % len(found)] if found else Ref(SECRET, *otherwise)

    return name_one
