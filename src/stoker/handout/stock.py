"""The portions of all agents, and what they are made of: worked on by one thread at a time."""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from msgspec import Struct

from stoker.errors import StokerError
from stoker.generate.nodejobs import NodeJob
from stoker.handout.sharing import Sharing, SharingAgents
from stoker.portions.packed import Packed
from stoker.portions.portions import Portions
from stoker.portions.whereabouts import Touched, Whereabouts
from stoker.ref import Ref
from stoker.targets.job import Defaults
from stoker.version import Version

Change = tuple[Packed | None, Packed | None]
"""An object as it was, and as it is."""


class OfNode(NamedTuple):
    """The portion of a node, of what an agent gets."""

    agent: Ref
    node: str


class NotPlannedError(StokerError):
    """An agent of which nothing is known, not yet or not any longer."""


# So many bytes of files at a time, or one file that is larger.
_AT_ONCE: Final = 128 * 1024
# In so few changed objects one looks at once.
_FEW: Final = 3


class PlannedJobs(Struct, frozen=True, eq=False):
    """What is to be scraped for an agent, as planned: the jobs of each monitor, and their files.

    `sharing` tells where it is, if it shares what no agent is beside.
    """

    version: Version
    defaults: Defaults
    jobs: Mapping[Ref, tuple[NodeJob, ...]]
    files: Mapping[str, str]
    sharing: Sharing | None = None

    def is_as(self, other: "PlannedJobs") -> bool:
        """Whether the other says the same; jobs that did not change are the same objects."""
        return (
            (self.version, self.defaults) == (other.version, other.defaults)
            and self.sharing == other.sharing
            and self.jobs.keys() == other.jobs.keys()
            and all(jobs is other.jobs[key] for key, jobs in self.jobs.items())
            and self.files == other.files
        )


class TextFile(NamedTuple):
    """A file of a portion."""

    path: str
    digest: str
    text: bytes


class PortionNews(NamedTuple):
    """All files of a node with their digests, and what of it is different from what was sent.

    Some files of it at least; with `more`, there are others.
    """

    wanted: Mapping[str, str]
    gone: tuple[str, ...]
    files: tuple[TextFile, ...]
    more: bool


class Stock:
    """What lies where, and the portions of each agent whose jobs are known."""

    def __init__(self) -> None:
        self._places = Whereabouts()
        self._sharing = SharingAgents(lambda: self._places.world.nodes)
        self._agents: dict[Ref, tuple[PlannedJobs, Portions]] = {}

    def take_up(self, changes: Iterable[Change]) -> list[OfNode]:
        """Take up changes of objects; the portions that may have something else now."""
        touched: list[Touched] = []
        moved: set[Ref] = set()
        for old, new in changes:
            touched += self._places.changed(old, new)
            moved |= self._sharing.changed(old, new)
        found = []
        for key, (_, portions) in self._agents.items():
            nodes = portions.touch(touched)
            if key in moved:
                nodes |= portions.set_agents(self._sharing.of(key))
            found += [OfNode(key, node) for node in nodes]
        return found

    def plan(self, key: Ref, planned: PlannedJobs | None) -> bool:
        """Take up the jobs of an agent; whether its nodes may have something else now.

        None: it gets no portions any longer.
        """
        if planned is None:
            self._sharing.drop(key)
            return self._agents.pop(key, None) is not None
        known, portions = self._agents.get(key, (None, None))
        if known is not None and planned.is_as(known):
            return False
        kept = (known.version, known.defaults) if known else None
        if portions is None or kept != (planned.version, planned.defaults):
            portions = Portions(self._places, planned.version, planned.defaults)
        portions.set_jobs(planned.jobs, planned.files)
        portions.set_agents(self._sharing.put(key, planned.sharing))
        self._agents[key] = planned, portions
        return True

    def has(self, key: Ref) -> bool:
        """Whether the jobs of an agent are known; may be asked while somebody works."""
        return key in self._agents

    def news(self, of: OfNode, sent: Mapping[str, str]) -> PortionNews:
        """What is different from what was sent; NotPlannedError where the agent is not known."""
        if of.agent not in self._agents:
            raise NotPlannedError(str(of.agent))
        portions = self._agents[of.agent][1]
        wanted = portions.digests(of.node)
        gone = tuple(path for path in sent if path not in wanted)
        different = [path for path, digest in wanted.items() if sent.get(path) != digest]
        files, size = list[TextFile](), 0
        for path in different:
            if size >= _AT_ONCE:
                break
            files.append(TextFile(path, wanted[path], portions.text(of.node, path)))
            size += len(files[-1].text)
        return PortionNews(wanted, gone, tuple(files), len(files) < len(different))

    def is_quick(self, of: OfNode) -> bool:
        """Whether `news` takes less than it takes to have another thread do it."""
        if of.agent not in self._agents:
            return True
        changes = self._agents[of.agent][1].changes_of(of.node)
        return changes is not None and changes <= _FEW

    def forget(self, portions: Iterable[OfNode]) -> None:
        """Nobody asks for these any longer."""
        for agent, node in portions:
            if agent in self._agents:
                self._agents[agent][1].forget(node)

    @property
    def kept_up(self) -> int:
        """How many portions are kept up."""
        return sum(len(portions) for _, portions in self._agents.values())
