"""Nothing is kept in the package that nobody in the package uses."""

import ast
import re
from collections import Counter
from pathlib import Path

from stoker.web.metric_table import TABLE

SOURCE = Path(__file__).parents[2] / "src" / "stoker"

# Called by the names that others give them: a library, the interpreter, or a table of texts.
CALLED_BY_OTHERS = {
    "main": "the entry point of the package",
    "decode_page": "the bench reads lists with it, and a test holds what it says of bad items",
}


def test_whatever_is_defined_is_used_somewhere() -> None:
    """A function, class or method whose name stands only where it is defined is dead."""
    defined: dict[str, str] = {}
    used: Counter[str] = Counter()
    for path in sorted(SOURCE.rglob("*.py")):
        text = path.read_text()
        used.update(re.findall(r"\w+", text))
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                defined[node.name] = f"{path.relative_to(SOURCE)}:{node.lineno}"
    dead = {
        name: place
        for name, place in defined.items()
        if used[name] == 1 and not name.startswith("__") and name not in CALLED_BY_OTHERS
    }
    assert dead == {}
    assert {name for name in CALLED_BY_OTHERS if used[name] > 1 and name != "main"} == set()


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
