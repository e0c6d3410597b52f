"""Which object was probably meant by a name that does not exist."""

from collections.abc import Iterable

from stoker.spelling import nearest


def meant(path: str, known: Iterable[str]) -> str:
    """The object that a `namespace/name` should have named, of those that there are, or nothing.

    One of that very name elsewhere is nearer than one that is called otherwise.
    """
    namespace, _, name = path.rpartition("/")
    places: dict[str, list[str]] = {}
    for each in sorted(known):
        space, _, own = each.rpartition("/")
        places.setdefault(own, []).append(space)
    if name in places:
        spaces = places[name]
        return f"{nearest(namespace, spaces) or spaces[0]}/{name}"
    guess = nearest(name, [own for own, spaces in places.items() if namespace in spaces])
    if guess:
        return f"{namespace}/{guess}"
    guess = nearest(name, places)
    return f"{nearest(namespace, places[guess]) or places[guess][0]}/{guess}" if guess else ""
