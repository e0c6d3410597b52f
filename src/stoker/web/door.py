"""What the status page asks for its answers, and who lets people in to ask."""

from typing import Final, Protocol

from stoker.errors import StokerError
from stoker.page.answers import (
    Configuration,
    Items,
    NodesAnswer,
    ObjectAnswer,
    Overview,
    Part,
    ResourceAnswer,
    Unknown,
    WorkloadAnswer,
)
from stoker.page.index import PageSearch
from stoker.page.parts import PartSearch

CHECK_SECONDS: Final = 30.0
"""How often who listens for changes must still be known."""


class StrangerError(StokerError):
    """It is not known who is asking."""


class Pages(Protocol):
    """Something that answers for the page. BusyError: not now."""

    @property
    def revision(self) -> int:
        """A number that is another one whenever an answer may be."""
        ...

    async def overview(self) -> Overview:
        """Everything at a glance."""
        ...

    async def resources(self, query: PageSearch) -> Items:
        """Some resources."""
        ...

    async def resource(self, kind: str, namespace: str, name: str) -> ResourceAnswer | Unknown:
        """All about a resource."""
        ...

    async def workload(self, kind: str, namespace: str, name: str) -> WorkloadAnswer | Unknown:
        """All about a workload."""
        ...

    async def configuration(
        self, kind: str, namespace: str, name: str, wanted: PartSearch
    ) -> Configuration | Unknown:
        """Some parts of the configuration of a workload."""
        ...

    async def object(self, kind: str, namespace: str, name: str) -> ObjectAnswer | Unknown:
        """An object itself."""
        ...

    async def nodes(self, kind: str, namespace: str, name: str) -> NodesAnswer | Unknown:
        """Which nodes an agent covers."""
        ...

    async def part(self, kind: str, namespace: str, name: str, title: str) -> Part | Unknown:
        """One part of it, whole."""
        ...


class Door(Protocol):
    """Lets people in."""

    async def pages(self, authorization: str) -> Pages:
        """The page of whoever sends this header, empty if none; StrangerError for a stranger."""
        ...


class OpenDoor:
    """Lets everybody in, to the same page."""

    def __init__(self, pages: Pages) -> None:
        self._pages = pages

    async def pages(self, _authorization: str) -> Pages:
        """The page."""
        return self._pages
