"""The proxy between us and the API server, from the environment as Go programs read it."""

import ipaddress
import os
from collections.abc import Mapping
from urllib.parse import unquote, urlsplit

from stoker.kube.credentials import basic
from stoker.kube.errors import AccessError

_DEFAULT_PORTS = {"http": 80, "https": 443}


class HttpProxy:
    """An HTTP proxy; the user and password of its URL are kept apart from it."""

    def __init__(self, url: str) -> None:
        split = urlsplit(url if "://" in url else f"http://{url}")
        if split.scheme not in _DEFAULT_PORTS or not split.hostname:
            raise AccessError(f"the proxy must be an http or https URL, not {split.scheme}")
        self.url = f"{split.scheme}://{split.netloc.rpartition('@')[2]}"
        self.headers: dict[str, str] = {}
        if split.username:
            user, password = unquote(split.username), unquote(split.password or "")
            self.headers["HttpProxy-Authorization"] = basic(user, password)

    def __repr__(self) -> str:
        return f"HttpProxy({self.url!r})"


def proxy_for(server: str, environment: Mapping[str, str] | None = None) -> HttpProxy | None:
    """The proxy that HTTPS_PROXY, HTTP_PROXY and NO_PROXY ask for on the way to a server."""
    variables = os.environ if environment is None else environment
    split = urlsplit(server)
    url = _variable(variables, f"{split.scheme}_proxy")
    host = split.hostname or ""
    port = split.port or _DEFAULT_PORTS.get(split.scheme, 0)
    if not url or is_exempt(host, port, _variable(variables, "no_proxy")):
        return None
    return HttpProxy(url)


def is_exempt(host: str, port: int, no_proxy: str) -> bool:
    """Whether NO_PROXY has this host: as `*`, address, network, domain or `.subdomains`."""
    address = _address(host)
    if host == "localhost" or (address and address.is_loopback):
        return True
    entries = (entry.strip().lower() for entry in no_proxy.split(","))
    return any(_has(entry, host.lower(), port, address) for entry in entries if entry)


def _has(entry: str, host: str, port: int, address: "_Address | None") -> bool:
    if entry == "*":
        return True
    if address and "/" in entry:
        return _contains(entry, address)
    name, number = _split_port(entry)
    if number and number != str(port):
        return False
    if address:
        return _address(name) == address
    domain = name.removeprefix("*")
    return host.endswith(domain) if domain.startswith(".") else f".{host}".endswith(f".{domain}")


_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def _split_port(entry: str) -> tuple[str, str]:
    """Part `host:port` and `[::1]:port`; a bare IPv6 address has no port."""
    if entry.startswith("["):
        name, _, number = entry[1:].partition("]")
        return name, number.removeprefix(":")
    if entry.count(":") == 1:
        name, _, number = entry.partition(":")
        return name, number
    return entry, ""


def _address(text: str) -> _Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def _contains(network: str, address: _Address) -> bool:
    try:
        return address in ipaddress.ip_network(network, strict=False)
    except ValueError:
        return False


def _variable(variables: Mapping[str, str], name: str) -> str:
    return variables.get(name.upper()) or variables.get(name) or ""
