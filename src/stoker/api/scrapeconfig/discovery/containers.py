"""Targets that Docker runs: containers of a daemon, or services, tasks and nodes of a swarm."""

from typing import Annotated

from stoker.api.common import Duration, Port, Text
from stoker.api.declare import NO_TEXT, doc
from stoker.api.scrapeconfig.discovery.shared import AuthenticatedDiscovery, Filters, refreshed


class DockerHostDiscovery(AuthenticatedDiscovery):
    """What the two Docker discoveries share: the daemon to ask."""

    host: Annotated[
        str,
        doc(
            "Address of the Docker daemon, e.g. `tcp://docker:2375`. A socket must be mounted into "
            "the Prometheus container.",
            pattern="^[a-zA-Z][a-zA-Z0-9+.-]*://.+$",
        ),
    ] = NO_TEXT
    filters: Filters = None
    refresh_interval: Annotated[Duration | None, refreshed("1m")] = None


class DockerDiscovery(DockerHostDiscovery):
    """Targets that are containers of a Docker daemon."""

    port: Annotated[
        Port | None, doc("Port to scrape on containers that expose none. Unset: 80.")
    ] = None
    host_networking_host: Annotated[
        Text | None, doc("Host to scrape for containers on the host's network. Unset: `localhost`.")
    ] = None
    match_first_network: Annotated[
        bool | None,
        doc(
            "Of a container in several networks, scrape only the first by name. Unset: only the "
            "first. Needs Prometheus 2.54.1 or newer."
        ),
    ] = None


class DockerSwarmDiscovery(DockerHostDiscovery):
    """Targets that are services, tasks or nodes of a Docker swarm; ask one of its managers."""

    role: Annotated[str, doc("What becomes a target.", enum=("Services", "Tasks", "Nodes"))] = (
        NO_TEXT
    )
    port: Annotated[
        Port | None,
        doc("Port to scrape on nodes, and on services and tasks that publish none. Unset: 80."),
    ] = None
