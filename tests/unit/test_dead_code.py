"""Nothing is kept in the package that nobody in the package uses."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final, TypeAlias

from stoker.web.metric_table import TABLE

SOURCE = Path(__file__).parents[2] / "src" / "stoker"
Place: TypeAlias = tuple[str, str]
"""A module, and a name in it."""

# Called by what is no part of the package.
CALLED_BY_OTHERS: Final = {
    ("stoker.api.decode", "decode_page"): "the bench reads lists with it, and a test holds it",
    ("stoker.api.reference", "pages"): "`make reference` writes them",
}
# What `cli/commands.py` finds by the name of a command's module.
OF_A_COMMAND: Final = ("arguments", "run", "main")


def test_whatever_is_defined_is_used_somewhere() -> None:
    """A function, class or method whose name stands only where it is defined is dead."""
    defined: dict[str, str] = {}
    used: Counter[str] = Counter()
    for path in sorted(SOURCE.rglob("*.py")):
        text = path.read_text()
        used.update(re.findall(r"\w+", text))
        for node in _nodes(_parsed(path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                defined[node.name] = f"{path.relative_to(SOURCE)}:{node.lineno}"
    excused = {name for _, name in CALLED_BY_OTHERS}
    dead = {
        name: place
        for name, place in defined.items()
        if used[name] == 1 and not name.startswith("__") and name not in excused
    }
    assert dead == {}


def test_whatever_a_module_offers_is_read_by_one() -> None:
    """By itself, or by one that imports it: the same word elsewhere is no use of it.

    Tests do not count. To hand a name on, as a package does, is not to read it.
    """
    modules = {_name_of(path): _parsed(path) for path in SOURCE.rglob("*.py")}
    origins = {place: origin for each in modules.items() for place, origin in _imported(*each)}
    read = set[Place]()
    found = {place for name, tree in modules.items() for place in _read(name, tree, origins)}
    while found:
        read |= found
        found = {origins[each] for each in found if each in origins} - read
    unread = {(name, each) for name, tree in modules.items() for each in _offered(tree)} - read
    commands = {(name, each) for name, each in unread if _is_of_a_command(name, each)}
    assert unread - commands == CALLED_BY_OTHERS.keys()


@cache
def _parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@cache
def _nodes(tree: ast.Module) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(tree))


def _name_of(path: Path) -> str:
    parts = ("stoker", *path.relative_to(SOURCE).with_suffix("").parts)
    return ".".join(parts).removesuffix(".__init__")


def _is_of_a_command(module: str, name: str) -> bool:
    return module.startswith("stoker.cli.") and name in OF_A_COMMAND


def _offered(tree: ast.Module) -> Iterator[str]:
    """Functions, classes and values; what has a decorator may be taken by that."""
    for each in tree.body:
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from () if each.decorator_list else (each.name,)
        elif isinstance(each, ast.Assign | ast.AnnAssign):
            targets = each.targets if isinstance(each, ast.Assign) else [each.target]
            names = {one.id for one in targets if isinstance(one, ast.Name)}
            yield from names - {"__all__"}


def _imported(module: str, tree: ast.Module) -> Iterator[tuple[Place, Place]]:
    for each in _nodes(tree):
        if isinstance(each, ast.ImportFrom) and each.module:
            for one in each.names:
                yield (module, one.asname or one.name), (each.module, one.name)


def _read(module: str, tree: ast.Module, origins: dict[Place, Place]) -> Iterator[Place]:
    for each in _nodes(tree):
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load):
            yield module, each.id
        elif isinstance(each, ast.Attribute) and isinstance(each.value, ast.Name):
            yield ".".join(origins.get((module, each.value.id), ())), each.attr


def test_every_metric_that_is_promised_is_moved_by_something() -> None:
    """One that nobody sets would say for ever that nothing happens."""
    text = "".join(
        path.read_text() for path in SOURCE.rglob("*.py") if path.name != "metric_table.py"
    )
    # Those of lists and watches are put together from their parts.
    counted = {
        f"{verb}_operations{end}_total" for verb in ("list", "watch") for end in ("", "_failed")
    }
    unmoved = [row.name for row in TABLE if f'"{row.name}"' not in text]
    assert set(unmoved) == counted
    assert 'f"{operation}_operations{name}_total"' in text


def test_no_text_names_a_module_that_is_gone() -> None:
    """Docstrings and comments lead a reader to what is there."""
    named = re.compile(r"`{1,2}stoker((?:\.\w+)+)`")
    gone = [
        f"{path.relative_to(SOURCE)}: stoker{found}"
        for path in sorted(SOURCE.rglob("*.py"))
        for found in named.findall(path.read_text())
        if not _leads_somewhere(found.strip(".").split("."))
    ]
    assert gone == []


def _leads_somewhere(words: list[str]) -> bool:
    """Whether a path of names is a module, a package, or something that one of them has."""
    for count in range(len(words), 0, -1):
        place = SOURCE.joinpath(*words[:count])
        module = next(
            (each for each in (place.with_suffix(".py"), place / "__init__.py") if each.exists()),
            None,
        )
        if module is not None:
            return all(re.search(rf"\b{word}\b", module.read_text()) for word in words[count:])
    return False
