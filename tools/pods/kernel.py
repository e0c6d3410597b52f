"""The few calls of the kernel that Python has no function for."""

from __future__ import annotations

import ctypes
import os

_LIBC = ctypes.CDLL(None, use_errno=True)

# From linux/sched.h and linux/mount.h.
CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWPID, CLONE_NEWNET = 0x20000, 0x4000000, 0x20000000, 0x40000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC = 1, 2, 4, 8
MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 32, 4096, 16384, 1 << 18


def unshare(namespaces: int) -> None:
    """Leave namespaces for new ones of the same kinds."""
    _check(_LIBC.unshare(namespaces), "unshare")


def mount(source: str, target: str, kind: str = "", flags: int = 0) -> None:
    """Mount something."""
    done = _LIBC.mount(source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), None)
    _check(done, target)


def bind(source: str, target: str) -> None:
    """Show a file or directory, with all that is mounted below it, at another place as well."""
    mount(source, target, flags=MS_BIND | MS_REC)


def make_read_only(target: str) -> None:
    """Let nobody write through a mount; what it forbids already stays forbidden."""
    kept = os.statvfs(target).f_flag & (MS_NOSUID | MS_NODEV | MS_NOEXEC)
    mount("", target, flags=MS_REMOUNT | MS_BIND | MS_RDONLY | kept)


def _check(result: int, subject: str) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, f"{subject}: {os.strerror(number)}")
