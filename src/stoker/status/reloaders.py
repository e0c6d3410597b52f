"""A reloader that cannot get the portion of its node: by what became of it, where it came up.

What is in an image cannot be seen. That of another project is known by its name before anything is
made (`build.portions`); under another name it shows when it runs: it ends at once, because it does
not know what it is asked for. Ours waits, for as long as there is no portion.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from stoker.api.core import Object
from stoker.status.conditions import Because
from stoker.status.pods import deleted, ready
from stoker.status.workload import Remark

_INIT: Final = "init-config-reloader"
# What is more was ended by a signal, be it for its memory.
_LAST_OF_ITS_OWN: Final = 127


def strange_reloaders(pods: Iterable[Object]) -> tuple[Remark, ...]:
    """A remark on the image whose reloader ends in pods that are to get portions; else nothing."""
    for pod in pods:
        for image, code in () if deleted(pod) or ready(pod) else _ended(pod):
            text = (
                f"container {_INIT} ends with exit code {code}, in pod {pod['metadata']['name']},"
                f" where it should wait for the portion of its node: if {image} is not the"
                " reloader of this project, start the operator with --prometheus-config-reloader"
                " and its own image"
            )
            return (Remark(Because.STRANGE_RELOADER, text),)
    return ()


def _ended(pod: Object) -> Iterator[tuple[str, int]]:
    """Image and exit code of the first reloader of a pod, if it has failed."""
    for each in (pod.get("status") or {}).get("initContainerStatuses") or ():
        code = _exit_code(each)
        if each.get("name") == _INIT and 0 < code <= _LAST_OF_ITS_OWN:
            yield str(each.get("image") or "its image"), code


def _exit_code(status: dict[str, Any]) -> int:
    """With which code a container ended, now or before it was started again; 0 if it did not."""
    states = (status.get(each) or {} for each in ("state", "lastState"))
    found = ((each.get("terminated") or {}).get("exitCode") for each in states)
    return next((int(each) for each in found if each is not None), 0)
