"""The contents of the Secrets and ConfigMaps that somebody refers to, read when they are needed.

Of all Secrets and ConfigMaps only the metadata is watched. Judging a resource asks for values
without waiting; what was not read yet is noted and read afterwards, and whoever asked looks again:

    view = values.view()
    kept.put(key, monitor, view)             # asks the view
    kept.touched(await values.load(view), view)     # reads what was missing, and looks again
"""

import asyncio
import base64
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from msgspec import Struct

from stoker.kube.client import Client
from stoker.kube.errors import Forbidden, NotFound
from stoker.kube.resources import CONFIG_MAP as CONFIG_MAPS
from stoker.kube.resources import SECRET as SECRETS
from stoker.select.assets import CONFIG_MAP, SECRET, Missing, Source
from stoker.select.references import ObjectKey

_RESOURCES: Final = {SECRET: SECRETS, CONFIG_MAP: CONFIG_MAPS}
_READ_AT_ONCE: Final = 16
# Who lacks a permission for one Secret may lack it for thousands; others have work to do too.
_ASKED_AGAIN: Final = 100

REFUSED_SECONDS: Final = 30.0
"""After how long somebody may have allowed us what was refused: nothing tells us of it."""


class _Content(Struct, frozen=True):
    """An object as it was read; without data where it could not be.

    `problem` is why we may not read it, and `refused` when that was, by the loop's clock.
    """

    version: str = ""
    data: Mapping[str, str | bytes] | None = None
    problem: str = ""
    refused: float = 0.0


class Values:
    """What was read of Secrets and ConfigMaps, for as long as somebody refers to it.

    `is_absent` tells whether an object is known not to exist; it need not be read then.
    """

    def __init__(self, client: Client, is_absent: Callable[[ObjectKey], bool]) -> None:
        self._client = client
        self._is_absent = is_absent
        self._contents: dict[ObjectKey, _Content] = {}
        # What is being read, by how many, and how often it changed meanwhile.
        self._reading: Counter[ObjectKey] = Counter()
        self._news: Counter[ObjectKey] = Counter()

    def view(self) -> "View":
        """Assets that note what they do not know yet."""
        return View(self)

    def find(self, key: ObjectKey) -> _Content | None:
        """What is known of an object; None if it must be read."""
        known = self._contents.get(key)
        if known is None and self._is_absent(key):
            return _Content()
        return known

    def changed(self, key: ObjectKey, version: str) -> None:
        """An object has this version now ("" for none): what was read of another is forgotten."""
        known = self._contents.get(key)
        if known is not None and known.version != version:
            del self._contents[key]
        if self._reading[key]:
            self._news[key] += 1

    def is_refused(self, key: ObjectKey) -> bool:
        """Whether we were not allowed to read an object."""
        known = self._contents.get(key)
        return known is not None and bool(known.problem)

    def ask_again(self, keys: Iterable[ObjectKey]) -> None:
        """Forget that we may not read some of these, those first that were refused long ago."""
        before = asyncio.get_running_loop().time() - REFUSED_SECONDS
        since = {key: self._contents[key].refused for key in keys if self.is_refused(key)}
        due = [key for key in sorted(since, key=since.__getitem__) if since[key] <= before]
        for key in due[:_ASKED_AGAIN]:
            del self._contents[key]

    async def load(self, view: "View") -> set[ObjectKey]:
        """Read what a view was asked for and did not know; what was read."""
        wanted, view.unread = view.unread, set()
        gate = asyncio.Semaphore(_READ_AT_ONCE)
        problems: list[Exception] = []

        async def read(key: ObjectKey) -> None:
            async with gate:
                if problems:
                    return
                # Not for the group: one that fails takes a cancellation of ours for its own.
                try:
                    await self._read_latest(key)
                except Exception as error:
                    problems.append(error)

        async with asyncio.TaskGroup() as tasks:
            for key in wanted:
                tasks.create_task(read(key))
        if problems:
            raise problems[0]
        return wanted

    def keep_only(self, is_referenced: Callable[[ObjectKey], bool]) -> None:
        """Forget what nobody refers to any longer."""
        for key in [key for key in self._contents if not is_referenced(key)]:
            del self._contents[key]

    async def _read_latest(self, key: ObjectKey) -> None:
        """Read an object, again if the news of a change came before the answer."""
        self._reading[key] += 1
        try:
            while True:
                known = self._news[key]
                content = await self._read(key)
                if self._news[key] == known:
                    self._contents[key] = content
                    return
        finally:
            self._reading[key] -= 1
            if not self._reading[key]:
                del self._reading[key], self._news[key]

    async def _read(self, key: ObjectKey) -> _Content:
        kind, namespace, name = key
        try:
            found = await self._client.get(_RESOURCES[kind], namespace, name)
        except NotFound:
            return _Content()
        except Forbidden as error:
            return _Content(problem=str(error), refused=asyncio.get_running_loop().time())
        version = found["metadata"].get("resourceVersion", "")
        return _Content(version, _values(kind, found.get("data") or {}))


def _values(kind: str, data: Mapping[str, Any]) -> dict[str, str | bytes]:
    """The values as text, and as bytes where that is impossible."""
    if kind == CONFIG_MAP:
        return dict(data)
    values: dict[str, str | bytes] = {}
    for name, encoded in data.items():
        decoded = base64.b64decode(encoded)
        try:
            values[name] = decoded.decode()
        except ValueError:
            values[name] = decoded
    return values


class View:
    """The values as they are now; `unread` are those that must be read first.

    `asked` are the objects that somebody looked for, each noted before the look: a change that is
    told after that was perhaps not seen.
    """

    def __init__(self, values: Values) -> None:
        self._values = values
        self.asked: set[ObjectKey] = set()
        self.unread: set[ObjectKey] = set()

    def value(self, source: Source) -> str | Missing:
        """The text behind a key, or why there is none (yet)."""
        content = self._content((source.kind, source.namespace, source.name))
        if content is None:
            return Missing(source, object_exists=False)
        if content.data is None:
            return Missing(source, object_exists=False, problem=content.problem)
        found = content.data.get(source.key)
        # What is no text can be of no use in a configuration.
        return found if isinstance(found, str) else Missing(source, object_exists=True)

    def all_of(self, kind: str, namespace: str, name: str) -> Mapping[str, str | bytes]:
        """What an object holds by its keys; nothing (yet) if there is none."""
        content = self._content((kind, namespace, name))
        return (content and content.data) or {}

    def _content(self, key: ObjectKey) -> _Content | None:
        self.asked.add(key)
        content = self._values.find(key)
        if content is None:
            self.unread.add(key)
        return content
