"""Many paths as a short text: an object is a line with its members, told once.

    Probe/v1 spec status
    Probe/v1.spec.basicAuth password username
    Probe/v1.spec.oauth2.tlsConfig = Probe/v1.spec.tlsConfig

A list's or a map's own members stand under its name with `[]` or `{}`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

_Tree = dict[str, "_Tree"]
_SAME = " = "
_INSIDE = ("[]", "{}")


def packed(paths: Iterable[str]) -> str:
    """The text of some paths, whose steps have dots between them."""
    tree: _Tree = {}
    for path in paths:
        node = tree
        for step in path.split("."):
            node = node.setdefault(step, {})
    told: dict[str, str] = {}
    return "".join(f"{line}\n" for name in sorted(tree) for line in _lines(name, tree[name], told))


def _lines(path: str, node: _Tree, told: dict[str, str]) -> Iterator[str]:
    if not node:
        return
    content = repr(_sorted(node))
    if content in told:
        yield f"{path}{_SAME}{told[content]}"
        return
    told[content] = path
    yield f"{path} {' '.join(sorted(node))}"
    for name in sorted(node):
        yield from _lines(f"{path}.{name}", node[name], told)


def _sorted(node: _Tree) -> list[object]:
    return [(name, _sorted(node[name])) for name in sorted(node)]


def unpacked(text: str) -> set[str]:
    """The paths that a text tells."""
    members: dict[str, list[str]] = {}
    same: dict[str, str] = {}
    for line in text.splitlines():
        if _SAME in line:
            path, other = line.split(_SAME)
            same[path] = other
        else:
            path, *names = line.split(" ")
            members[path] = names

    def below(path: str, shown: str) -> Iterator[str]:
        source = same.get(path, path)
        for name in members.get(source, ()):
            if not name.endswith(_INSIDE):
                yield f"{shown}.{name}"
            yield from below(f"{source}.{name}", f"{shown}.{name}")

    tops = [path for path in (*members, *same) if "." not in path]
    return {each for top in tops for each in below(top, top)}
