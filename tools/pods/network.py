"""A pod's own network: its address on a virtual cable into the cluster's network.

In the cluster's namespace every pod address belongs to the loopback device (see ``namespace``), so
that one exporter answers for all pods that do not run. A pod that does run gets what it has in a
real cluster: a namespace of its own with ``lo`` and ``eth0``. One more exact route, for its address
alone, leads there and wins over that of the whole pod network. Cable and route go with the pod.

All of it goes to the kernel directly, as ``ip`` is not installed everywhere.
"""

from __future__ import annotations

import ipaddress
import os
import socket
import struct

from tools.namespace import (
    NLM_F_ACK,
    NLM_F_CREATE,
    NLM_F_REQUEST,
    RT_TABLE_LOCAL,
    RTA_DST,
    RTA_OIF,
    RTM_NEWROUTE,
    RTPROT_BOOT,
)

INSIDE = "eth0"

# From linux/netlink.h, linux/rtnetlink.h, linux/if_link.h, linux/if_addr.h and linux/veth.h.
NLM_F_REPLACE, NLM_F_EXCL, IFF_UP = 0x100, 0x200, 0x1
RTM_NEWLINK, RTM_GETLINK, RTM_NEWADDR = 16, 18, 20
IFLA_IFNAME, IFLA_LINKINFO, IFLA_AF_SPEC, IFLA_NET_NS_FD = 3, 18, 26, 28
IFLA_INFO_KIND, IFLA_INFO_DATA, VETH_INFO_PEER = 1, 2, 1
IFLA_INET_CONF, IPV4_DEVCONF_FORWARDING = 1, 1
IFA_LOCAL, RTA_GATEWAY, RTA_PREFSRC = 2, 5, 7
RT_TABLE_MAIN, RT_SCOPE_UNIVERSE, RT_SCOPE_LINK, RTN_UNICAST, RTNH_F_ONLINK = 254, 0, 253, 1, 4


class Network:
    """The network namespace in which this object is made, whichever the process is in later."""

    def __init__(self) -> None:
        self._netlink = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
        self._namespace = os.open("/proc/self/ns/net", os.O_RDONLY)

    def connect(self, other: Network, name: str) -> None:
        """Lay a cable from here, where its end is ``eth0``, to another network."""
        far = _link() + _text(IFLA_IFNAME, name)
        far += _attribute(IFLA_NET_NS_FD, struct.pack("I", other._namespace))
        kind = _text(IFLA_INFO_KIND, "veth")
        kind += _attribute(IFLA_INFO_DATA, _attribute(VETH_INFO_PEER, far))
        near = _link() + _text(IFLA_IFNAME, INSIDE) + _attribute(IFLA_LINKINFO, kind)
        self._request(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, near)

    def set_up(self, name: str) -> None:
        """Turn a device on, and let what comes from it go on to others."""
        forward = _attribute(IPV4_DEVCONF_FORWARDING, struct.pack("I", 1))
        inet = _attribute(socket.AF_INET, _attribute(IFLA_INET_CONF, forward))
        named = _text(IFLA_IFNAME, name)
        self._request(RTM_NEWLINK, 0, _link(IFF_UP) + named + _attribute(IFLA_AF_SPEC, inet))

    def add_address(self, name: str, address: str) -> None:
        """Give a device an address."""
        packed = _attribute(IFA_LOCAL, _packed(address))
        head = struct.pack("BBBBI", socket.AF_INET, 32, 0, RT_SCOPE_UNIVERSE, self._index(name))
        self._request(RTM_NEWADDR, NLM_F_CREATE, head + packed)

    def route_to(self, address: str, name: str, source: str) -> None:
        """Send what is for an address through a device; what starts here comes from `source`."""
        head = _route(32, RT_TABLE_LOCAL, RT_SCOPE_LINK)
        attributes = _attribute(RTA_DST, _packed(address)) + self._device(name)
        attributes += _attribute(RTA_PREFSRC, _packed(source))
        self._request(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_REPLACE, head + attributes)

    def route_all(self, gateway: str, name: str) -> None:
        """Send everything else through a device to whoever has the gateway's address there."""
        head = _route(0, RT_TABLE_MAIN, RT_SCOPE_UNIVERSE, RTNH_F_ONLINK)
        attributes = _attribute(RTA_GATEWAY, _packed(gateway)) + self._device(name)
        self._request(RTM_NEWROUTE, NLM_F_CREATE, head + attributes)

    def _device(self, name: str) -> bytes:
        return _attribute(RTA_OIF, struct.pack("I", self._index(name)))

    def _index(self, name: str) -> int:
        answer = self._request(RTM_GETLINK, 0, _link() + _text(IFLA_IFNAME, name), ack=False)
        return int(struct.unpack_from("i", answer, 20)[0])

    def _request(self, kind: int, flags: int, body: bytes, *, ack: bool = True) -> bytes:
        """Ask the kernel; its answer is an error number, 0 when all is well, or what was asked."""
        flags |= NLM_F_REQUEST | (NLM_F_ACK if ack else 0)
        self._netlink.send(struct.pack("IHHII", 16 + len(body), kind, flags, 1, 0) + body)
        answer = self._netlink.recv(65536)
        error = struct.unpack_from("i", answer, 16)[0] if answer[4:6] == b"\2\0" else 0
        if error:
            raise OSError(-error, f"cannot furnish the pod's network: {os.strerror(-error)}")
        return answer


def join(outside: Network, inside: Network, cable: str, address: str, gateway: str) -> None:
    """Make a new namespace the network of a pod with this address.

    The gateway is an address of the network outside, as the pod sees it.
    """
    inside.connect(outside, cable)
    inside.set_up("lo")
    inside.set_up(INSIDE)
    inside.add_address(INSIDE, address)
    inside.route_all(gateway, INSIDE)
    outside.set_up(cable)
    outside.route_to(address, cable, gateway)


def _link(flags: int = 0) -> bytes:
    return struct.pack("BxHiII", socket.AF_UNSPEC, 0, 0, flags, flags)


def _route(bits: int, table: int, scope: int, flags: int = 0) -> bytes:
    kind = (table, RTPROT_BOOT, scope, RTN_UNICAST, flags)
    return struct.pack("BBBBBBBBI", socket.AF_INET, bits, 0, 0, *kind)


def _attribute(kind: int, value: bytes) -> bytes:
    length = 4 + len(value)
    return struct.pack("HH", length, kind) + value + bytes(-length % 4)


def _text(kind: int, value: str) -> bytes:
    return _attribute(kind, value.encode() + b"\0")


def _packed(address: str) -> bytes:
    return ipaddress.IPv4Address(address).packed
