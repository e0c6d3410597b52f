"""What became of the resources of a workload, one by one, and what each of them read."""

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

from stoker.generate.draft import Ignored
from stoker.ref import Ref
from stoker.select.assets import Assets
from stoker.select.references import References
from stoker.validate.verdicts import Verdict


class Ledger:
    """Verdicts, ignored fields and references by resource, and which of them are news.

    A reader that is no resource, the workload itself, has no verdict.
    """

    def __init__(self) -> None:
        self.verdicts: dict[Ref, Verdict] = {}
        self.ignored: dict[Ref, tuple[Ignored, ...]] = {}
        self.references: References[Ref] = References()
        self.news: set[Ref] = set()

    def note(
        self, key: Ref, verdict: Verdict | None, ignored: tuple[Ignored, ...] = ()
    ) -> Verdict | None:
        """Keep what became of a resource, None of one that is gone; what it was before."""
        self.news.add(key)
        before = self.verdicts.pop(key, None)
        if verdict:
            self.verdicts[key] = verdict
        self.references.put(key, verdict.reads if verdict else ())
        self.note_ignored(key, ignored)
        return before

    def note_ignored(self, key: Ref, ignored: tuple[Ignored, ...]) -> None:
        """Keep which fields are ignored, of the workload itself too."""
        self.ignored.pop(key, None)
        if ignored:
            self.ignored[key] = ignored

    def take_news(self) -> set[Ref]:
        """The resources that were judged or dropped since this was asked."""
        news, self.news = self.news, set()
        return news

    @property
    def resources(self) -> dict[Ref, Any]:
        """All of them, as they were judged."""
        return {key: verdict.resource for key, verdict in self.verdicts.items()}

    def readers(self, objects: Iterable[Ref]) -> set[Ref]:
        """Who read some of these objects."""
        return {key for each in objects for key in self.references.readers(each)}

    def stale(self, objects: AbstractSet[Ref], assets: Assets) -> dict[Ref, Any]:
        """The resources that were judged or written by values of objects that are others now."""
        found = {key: self.verdicts[key] for key in self.readers(objects) if key in self.verdicts}
        return {
            key: verdict.resource
            for key, verdict in found.items()
            if _is_stale(verdict, objects, assets)
        }


def files_differ(one: Verdict | None, other: Verdict | None) -> bool:
    """Whether other files must be mounted for one than for the other."""
    nothing: Mapping[str, str] = {}
    return (one.files if one else nothing) != (other.files if other else nothing)


def _is_stale(verdict: Verdict, changed: AbstractSet[Ref], assets: Assets) -> bool:
    return any(
        assets.value(source) != value
        for source, value in verdict.reads.items()
        if source.ref in changed
    )
