"""The reloader of somebody else, under a name that does not say so."""

from __future__ import annotations

from typing import Any

import pytest

from stoker.status.reloaders import strange_reloaders

Object = dict[str, Any]
MIRROR = "mirror.example/tools/reloader:v1"


def a_pod(*, ready: bool = False, name: str = "init-config-reloader", **status: Any) -> Object:
    """A pod of an agent, and what is known of one of its containers that run first."""
    condition = {"type": "Ready", "status": str(ready)}
    containers = [{"name": name, "image": MIRROR} | status]
    return {
        "metadata": {"name": "prom-agent-main-x"},
        "status": {"conditions": [condition], "initContainerStatuses": containers},
    }


def ended(code: int) -> Object:
    """A container that ended so."""
    return {"terminated": {"exitCode": code}}


STARTED_AGAIN: Object = {
    "state": {"waiting": {"reason": "CrashLoopBackOff"}},
    "lastState": ended(1),
}


def test_a_reloader_that_ends_is_told_by_its_image() -> None:
    """Now, or before it was started again; once for all pods, with what to do."""
    for pod in (a_pod(**STARTED_AGAIN), a_pod(state=ended(2))):
        [remark] = strange_reloaders([a_pod(state={"running": {}}), pod, pod])
        assert remark.reason == "StrangeReloader"
        for word in (MIRROR, "prom-agent-main-x", "--prometheus-config-reloader"):
            assert word in remark.message


@pytest.mark.parametrize(
    "pod",
    [
        a_pod(state={"running": {}}),
        a_pod(state={"waiting": {"reason": "ImagePullBackOff"}}),
        a_pod(state=ended(0)),
        a_pod(state={"running": {}}, lastState=ended(137)),
        a_pod(name="mine", **STARTED_AGAIN),
        a_pod(ready=True, **STARTED_AGAIN),
        {"metadata": {"name": "new"}},
    ],
    ids=["waits", "is not there", "done", "killed", "another", "ready", "new"],
)
def test_nothing_is_said_of_one_that_does_what_ours_does(pod: Object) -> None:
    """It waits, is done, or was ended; and why an image cannot be had is said of the pod."""
    assert strange_reloaders([pod]) == ()


def test_nothing_is_said_of_pods_that_go() -> None:
    """Those are what was before."""
    pod = a_pod(**STARTED_AGAIN)
    pod["metadata"]["deletionTimestamp"] = "2026-01-31T12:00:00Z"
    assert strange_reloaders([pod]) == ()
