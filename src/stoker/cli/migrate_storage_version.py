"""Write the objects of our kinds once more, so that all lie in the storage version of their kind.

  stoker migrate storage-version --dry-run        what would be done, tried by the API server
  stoker migrate storage-version                  every kind that has objects in an old version
  stoker migrate storage-version scrapeconfig     this kind

Changing the storage version in a definition (CRD) leaves objects as they lie in etcd. This writes
each of them again, unchanged, and then takes the old versions out of `status.storedVersions` of the
definition; only after that may an old version be removed. Nobody notices: the content and the
generation of objects stay, only their resourceVersion is another.

It may be stopped at any time (Ctrl-C, a kill, a lost connection): the same command goes on where it
was. For that it keeps the annotation operator.prometheus.io/storage-migration on the definition
while it runs. An object that is refused, by a rule of the new version or by a webhook, is named at
the end; until it is put right, `status.storedVersions` stays as it is. One that breaks a rule of
the new version but is stored all the same (API servers since 1.30) is named, too.

When a version is not served any more, run this again before you remove the version: it brings
`managedFields` into a version that is served, without which nobody could apply these objects.

It needs: get and patch on customresourcedefinitions, patch on customresourcedefinitions/status, and
list, get and patch on the objects in all namespaces (deploy/storage-version has this as a role).

Exit status: 0 if everything is done, or nothing was to do, 1 if objects were refused or it could
not go on, 2 if it did not begin: it was not understood, not allowed, or the cluster does not
answer, 130 after Ctrl-C.
"""

import argparse
import sys
from typing import TYPE_CHECKING

from stoker.cli.access import access_arguments, access_to_read, advised
from stoker.cli.options import kind_meant
from stoker.cli.terminal import failed, harmless

if TYPE_CHECKING:
    from stoker.api.crd import Kind
    from stoker.cluster.definitions import Definition
    from stoker.cluster.storage_version import StorageMigration
    from stoker.kube.access import Access
    from stoker.kube.client import Client

_NAME = "migrate storage-version"
_EVERY = 500
_MOST_FAILURES = 50
_INTERRUPTED = 130


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `stoker migrate storage-version`."""
    parser.add_argument(
        "kinds",
        metavar="KIND",
        nargs="*",
        help="as for kubectl: scrapeconfig, amcfg, …; without one, all that have anything to do",
    )
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="have the API server try each write, keep nothing, and say what would be done",
    )
    parser.add_argument(
        "--qps",
        metavar="N",
        type=float,
        default=50.0,
        help="requests a second, at most; 0 for no limit (default: 50)",
    )
    access_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Migrate what was asked for; return the exit status."""
    import asyncio

    from stoker.errors import StokerError

    progress = _Progress(sys.stderr.isatty(), dry_run=options.dry_run)
    try:
        kinds = [kind_meant(word) for word in options.kinds]
        try:
            access = access_to_read(options.kubeconfig, options.context)
        except StokerError as error:
            return failed(_NAME, advised(error))
        return asyncio.run(_migrated(access, options, kinds, progress))
    except StokerError as error:
        return failed(_NAME, error)
    except KeyboardInterrupt:
        progress.interrupted()
        return _INTERRUPTED


async def _migrated(
    access: "Access", options: argparse.Namespace, kinds: "list[Kind]", progress: "_Progress"
) -> int:
    from stoker import __version__
    from stoker.kube.client import Client
    from stoker.kube.limits import RateLimit

    limits = RateLimit(options.qps, burst=max(int(options.qps), 1))
    agent = f"stoker-migrate/{__version__}"
    async with Client(access, limits=limits, user_agent=agent) as client:
        definitions = await _definitions(client, kinds)
        if not definitions:
            print("nothing to do: the cluster has no kind of ours with several versions")
        statuses = [await _one(client, each, progress) for each in definitions]
    return max(statuses, default=0)


async def _definitions(client: "Client", kinds: "list[Kind]") -> "list[Definition]":
    """The definitions that were named, or those that have something to do."""
    from stoker.api.kinds import KINDS
    from stoker.cluster.definitions import definition_of
    from stoker.errors import StokerError
    from stoker.kube.errors import NotFound

    found = []
    for kind in kinds or KINDS:
        try:
            definition = await definition_of(client, kind)
        except NotFound:
            if kinds:
                raise StokerError(f"the cluster does not have {kind.plural}") from None
            continue
        if kinds or len(kind.versions) > 1 or definition.note or not definition.is_migrated:
            found.append(definition)
    return found


async def _one(client: "Client", definition: "Definition", progress: "_Progress") -> int:
    from stoker.cluster.storage_version import NotStartedError, StoppedError, StorageMigration

    migration = StorageMigration(client, definition, told=progress.told, dry_run=progress.dry_run)
    progress.begin(migration)
    try:
        await migration.run()
    except NotStartedError as error:
        return failed(_NAME, error)
    except StoppedError as error:
        progress.end()
        failed(_NAME, f"{error}; {progress.so_far}")
        return 1
    progress.end()
    return _report(migration, dry_run=progress.dry_run)


def _report(migration: "StorageMigration", *, dry_run: bool) -> int:
    """Say what came of it on standard output; the exit status."""
    definition, counts = migration.definition, migration.counts
    if not (counts.written or counts.failures) and migration.began_migrated:
        print(f"{definition.name}: nothing to do, all are stored as {definition.storage}")
        return 0
    done = f"{counts.done} of {counts.total}"
    would = "would be" if dry_run else "are"
    print(f"{definition.name}: {done} objects {would} stored as {definition.storage}")
    if not counts.failures:
        becomes = "would become" if dry_run else "is"
        print(f"{definition.name}: status.storedVersions {becomes} [{definition.storage}]")
    else:
        stored = ", ".join(definition.stored)
        stays = "would stay" if dry_run else "stays"
        print(f"{definition.name}: status.storedVersions {stays} [{stored}], as these are refused:")
        _list([f"{each.name}: {each.reason}" for each in counts.failures])
    if counts.broken:
        version = definition.resource.version
        print(
            f"{definition.name}: these break a rule of {version}; nothing is lost, but what is "
            "wrong has to be put right before that part of them can be changed:"
        )
        _list([f"{name}: {reason}" for name, reason in counts.broken.items()])
    return 1 if counts.failures else 0


def _list(found: list[str]) -> None:
    """Print objects with reasons, but not thousands."""
    for each in found[:_MOST_FAILURES]:
        print(harmless(f"  {each}"))
    if len(found) > _MOST_FAILURES:
        print(f"  … and {len(found) - _MOST_FAILURES} more")


class _Progress:
    """Shows how far it is: one line on a terminal, a line now and then elsewhere."""

    def __init__(self, terminal: bool, *, dry_run: bool) -> None:
        self.dry_run = dry_run
        self._terminal = terminal
        self._migration: StorageMigration | None = None
        self._open = False

    def begin(self, migration: "StorageMigration") -> None:
        """A kind is next."""
        self._migration = migration

    def told(self, migration: "StorageMigration") -> None:
        """One object more."""
        counts = migration.counts
        if self._terminal:
            print(f"\r{self.so_far}\x1b[K", end="", file=sys.stderr, flush=True)
            self._open = True
        elif (counts.done + len(counts.failures)) % _EVERY == 0:
            print(self.so_far, file=sys.stderr, flush=True)

    def end(self) -> None:
        """Nothing more to come in this line."""
        if self._open:
            print(file=sys.stderr)
        self._open = False

    @property
    def so_far(self) -> str:
        """How far it is, in words."""
        if self._migration is None:
            return "nothing was written"
        counts, definition = self._migration.counts, self._migration.definition
        tried = "tried" if self.dry_run else "stored"
        refused = f", {len(counts.failures)} refused" if counts.failures else ""
        done = f"{counts.done} of {counts.total} {tried} as {definition.storage}"
        return f"{definition.plural}: {done}{refused}"

    def interrupted(self) -> None:
        """Say where it was left."""
        self.end()
        rest = "" if self.dry_run else "; the same command goes on from there"
        print(f"stopped: {self.so_far}{rest}", file=sys.stderr)
