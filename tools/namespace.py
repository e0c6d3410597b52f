"""A network and a PID namespace of the cluster's own: made, furnished, and entered.

Made by ``unshare``, as root or in a user namespace. Furnished with two settings: the loopback
device is up, and every address of the pods is local, so that one server that listens on 0.0.0.0
answers for all pods. Both go to the kernel directly, as ``ip`` is not installed everywhere.
Entered by running this file as a program: it joins the namespaces of another process, runs a
command there, passes signals on to it, and ends it with that other process.

This file is run on its own, isolated from the environment: it imports the standard library only.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import ipaddress
import os
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
from pathlib import Path

POD_NETWORK = "10.244.0.0/16"

_FLAGS = ("--net", "--pid", "--fork", "--kill-child", "--mount-proc")
_AS_USER = ("--user", "--map-root-user")
_FORWARDED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
_LIBC = ctypes.CDLL(None, use_errno=True)

# From linux/prctl.h, linux/sockios.h, linux/if.h, linux/netlink.h and linux/rtnetlink.h.
PR_SET_PDEATHSIG = 1
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 0x1
RTM_NEWROUTE, RTA_DST, RTA_OIF = 24, 1, 4
NLM_F_REQUEST, NLM_F_ACK, NLM_F_CREATE = 0x1, 0x4, 0x400
RT_TABLE_LOCAL, RTPROT_BOOT, RT_SCOPE_HOST, RTN_LOCAL = 255, 3, 254, 2


def launcher() -> list[str]:
    """Return what to put before a command to run it in new namespaces; nothing where refused.

    Containers often forbid it even to root, so the only way to know is to try.
    """
    unshare = shutil.which("unshare")
    if unshare is None:
        return []
    prefix = [unshare, *(() if os.geteuid() == 0 else _AS_USER), *_FLAGS]
    trial = subprocess.run([*prefix, "true"], capture_output=True, check=False)
    return prefix if trial.returncode == 0 else []


def furnish_network() -> None:
    """In a new network namespace: loopback up, and all pod addresses on this machine."""
    _set_up("lo")
    _route_locally(ipaddress.IPv4Network(POD_NETWORK), "lo")


def die_with_parent() -> None:
    """Ask the kernel to kill this process when the one that started it ends."""
    _check(_LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0))


def _set_up(device: str) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack("16sh14x", device.encode(), 0)
        answer = fcntl.ioctl(any_socket, SIOCGIFFLAGS, request)
        flags = struct.unpack_from("h", answer, 16)[0]
        fcntl.ioctl(
            any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", device.encode(), flags | IFF_UP)
        )


def _route_locally(network: ipaddress.IPv4Network, device: str) -> None:
    """Do the same as ``ip route add local NETWORK dev DEVICE``."""
    message = struct.pack(
        "BBBBBBBBI",
        *(socket.AF_INET, network.prefixlen, 0, 0),
        *(RT_TABLE_LOCAL, RTPROT_BOOT, RT_SCOPE_HOST, RTN_LOCAL, 0),
    )
    message += struct.pack("HH4s", 8, RTA_DST, network.network_address.packed)
    message += struct.pack("HHI", 8, RTA_OIF, socket.if_nametoindex(device))
    flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE
    header = struct.pack("IHHII", 16 + len(message), RTM_NEWROUTE, flags, 1, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as netlink:
        netlink.send(header + message)
        # The answer is a header of 16 bytes and a negative error number, 0 when all is well.
        error = struct.unpack_from("i", netlink.recv(4096), 16)[0]
    if error:
        raise OSError(-error, f"cannot route {network}: {os.strerror(-error)}")


def _enter(process: int) -> None:
    """Join the namespaces that a process made, in an order that keeps the right to join more."""
    for kind in ("user", "net", "pid_for_children"):
        theirs = Path(f"/proc/{process}/ns/{kind}")
        # The kernel refuses to join a user namespace twice; without namespaces all are the same.
        if theirs.stat().st_ino != Path(f"/proc/self/ns/{kind}").stat().st_ino:
            file = os.open(theirs, os.O_RDONLY)
            _check(_LIBC.setns(file, 0))
            os.close(file)


def _check(result: int) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _become(argv: list[str]) -> None:
    try:
        os.setpgid(0, 0)
        die_with_parent()
        os.execvp(argv[0], argv)  # noqa: S606 - a shell is what we do not want
    except OSError as error:
        print(f"{argv[0]}: {error}", file=sys.stderr, flush=True)
    finally:
        os._exit(127)


def _forward_signals(child: int) -> None:
    def forward(number: int, _frame: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, number)

    for number in _FORWARDED:
        signal.signal(number, forward)


def _wait(child: int, owner: int) -> int:
    """Return the exit status of the child, which does not outlive the owner (a pidfd)."""
    ends = select.poll()
    ends.register(owner, select.POLLIN)
    ends.register(os.pidfd_open(child), select.POLLIN)
    if owner in dict(ends.poll()):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _end_like(status: int) -> None:
    """End as the child did, so that whoever waits sees the signal and not a number for it."""
    if status < 0:
        if -status in _FORWARDED:
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    sys.exit(status)


def main(argv: list[str]) -> None:
    """Run ``namespace.py PID COMMAND…``: the command beside that process, and no longer than it."""
    target, command = int(argv[0]), argv[1:]
    owner = os.pidfd_open(target)
    _enter(target)
    child = os.fork()
    if child == 0:
        _become(command)
    _forward_signals(child)
    _end_like(_wait(child, owner))


if __name__ == "__main__":
    main(sys.argv[1:])
