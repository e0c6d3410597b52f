"""How everything among manifests is, with the line of each fault."""

from collections.abc import Iterator, Sequence

from stoker.offline.lines import Lines
from stoker.offline.manifests import files, read
from stoker.offline.surroundings import view_of
from stoker.offline.watched import stamp_of
from stoker.offline.world import Place, World, world_of
from stoker.page.answers import UnusableObject
from stoker.page.decided import decided
from stoker.page.health import Health, Look, health_of, ref_at
from stoker.ref import Ref
from stoker.settings import OperatorSettings


def health_of_manifests(
    paths: Sequence[str],
    settings: OperatorSettings,
    namespace: str = "",
    exclude: Sequence[str] = (),
) -> Health:
    """How everything is that manifests describe, or what of it is in one namespace."""
    world, lines = world_of(read(paths, exclude=exclude)), Lines()

    def place(ref: Ref, reason: str) -> str:
        found = world.places.get(ref)
        return f"{found.source}:{lines.line(found, reason)}" if found else ""

    problems = [*_refused(world, lines), *_doubled(world)]
    desk = decided(view_of(world, settings))
    unread = tuple(f"{each.source}: {each.reasons[0]}" for each in world.unread)
    look = Look(source=", ".join(paths), namespace=namespace, unseen=unread)
    return health_of(desk, problems, look, place)


class Watched:
    """How everything among manifests is, whenever it is asked for; read again when they change."""

    def __init__(
        self,
        paths: Sequence[str],
        settings: OperatorSettings,
        namespace: str,
        exclude: Sequence[str] = (),
    ) -> None:
        self._paths, self._settings, self._namespace = paths, settings, namespace
        self._exclude = exclude
        self._stamps: tuple[object, ...] = ()
        self._known: Health | None = None

    def __call__(self) -> Health:
        """As it is now."""
        found = [each for path in self._paths if path != "-" for each in files(path, self._exclude)]
        stamps = tuple((each, stamp_of(each) if isinstance(each, str) else ()) for each in found)
        if self._known is None or stamps != self._stamps:
            self._stamps = stamps
            self._known = health_of_manifests(
                self._paths, self._settings, self._namespace, self._exclude
            )
        return self._known


def _refused(world: World, lines: Lines) -> Iterator[UnusableObject]:
    for each in world.refused:
        where = each.source
        if each.line:
            place = Place(each.source, each.line, each.path)
            where = f"{where}:{lines.line(place, each.reasons[0])}"
        yield UnusableObject(source=where, subject=each.subject, reasons=each.reasons)


def _doubled(world: World) -> Iterator[UnusableObject]:
    for subject, reason in world.doubled:
        found = world.places.get(ref_at(subject))
        where = f"{found.source}:{found.line}" if found else ""
        yield UnusableObject(source=where, subject=subject, reasons=(reason,))
