"""Targets that are registered somewhere: tokens in one place, paths from the root."""

from stoker.api.scrapeconfig.discovery.registries import (
    ConsulDiscovery,
    MarathonDiscovery,
    ZookeeperDiscovery,
)
from stoker.errors import below
from stoker.validate.findings import Finding, Findings, Reason
from stoker.validate.http import conflict, web_url
from stoker.validate.reading import ScraperReading


def consul_credentials(item: ConsulDiscovery, reading: ScraperReading, path: str) -> Findings:
    """A token in one place."""
    if item.token_ref is not None and (item.authorization or item.oauth2):
        yield conflict(below(path, "tokenRef"), "excludes `authorization` and `oauth2`")


def marathon_credentials(item: MarathonDiscovery, reading: ScraperReading, path: str) -> Findings:
    """A token in one place."""
    if item.auth_token is not None and (item.authorization or item.basic_auth):
        yield conflict(below(path, "authToken"), "excludes `authorization` and `basicAuth`")


def marathon_servers(item: MarathonDiscovery, reading: ScraperReading, path: str) -> Findings:
    """URLs of the servers."""
    for index, server in enumerate(item.servers):
        yield from web_url(server, f"{path}.servers[{index}]")


def zookeeper_paths(item: ZookeeperDiscovery, reading: ScraperReading, path: str) -> Findings:
    """Paths from the root of the tree."""
    for index, node in enumerate(item.paths):
        if not node.startswith("/"):
            where = f"{path}.paths[{index}]"
            yield Finding(where, Reason.INVALID_VALUE, "must begin with `/`")
