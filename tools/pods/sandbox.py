"""The first process of a pod: it makes the pod's namespaces and keeps them until it is killed.

``python -m tools.pods.sandbox CABLE ADDRESS GATEWAY``, started in the cluster's namespaces, prints
its number as it is outside once containers can join it. When it ends, in whatever way, the kernel
kills all that is in the pod.
"""

from __future__ import annotations

import os
import signal
import sys

from tools.namespace import die_with_parent
from tools.pods import network
from tools.pods.kernel import CLONE_NEWNET, CLONE_NEWPID, unshare


def main(argv: list[str]) -> None:
    """Hold a pod with this name for its cable, its address, and one of the network outside."""
    cable, address, gateway = argv
    outside = network.Network()
    unshare(CLONE_NEWNET | CLONE_NEWPID)
    network.join(outside, network.Network(), cable, address, gateway)
    if os.fork():
        # The new process is the first of its namespace, and dies with this one.
        os.wait()
        return
    die_with_parent()
    # Children of containers that lose their parents become ours, and go without being waited for.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    # /proc is still that of the machine, so the number there is that outside.
    print(os.readlink("/proc/self"), flush=True)
    while True:
        signal.pause()


if __name__ == "__main__":
    main(sys.argv[1:])
