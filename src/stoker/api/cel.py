"""CEL rules, evaluated here as the API server evaluates them.

The rules are written once, in the declarations. The API server enforces them where it knows CEL;
the operator and the offline tools evaluate the same text, so that all give the same answer.
"""

import importlib.util
import threading
from functools import cache
from importlib.machinery import ExtensionFileLoader
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import cel


def holds(rule: str, value: Any) -> bool:
    """Whether an object satisfies a rule; one that cannot be evaluated counts as broken."""
    try:
        return _program(rule).execute({"self": value}) is True
    except (ArithmeticError, LookupError, RuntimeError, TypeError, ValueError):
        return False


# Rules are asked from several threads, and the evaluator can be loaded only once in a process.
_LOADING = threading.Lock()


@cache
def _program(rule: str) -> "cel.Program":
    with _LOADING:
        program: cel.Program = _engine().compile(rule)
    return program


@cache
def _engine() -> ModuleType:
    """The evaluator without its package.

    `import cel` also imports that package's interactive shell (30 MiB and 0.25 s; the evaluator
    alone is 7 MiB and 0.04 s), so the extension module is loaded by itself.
    """
    package = importlib.util.find_spec("cel")
    locations = package.submodule_search_locations if package else None
    module = importlib.machinery.PathFinder.find_spec("cel", locations)
    if module is None or not isinstance(module.loader, ExtensionFileLoader):
        raise ModuleNotFoundError("the package common-expression-language is not installed")
    engine = importlib.util.module_from_spec(module)
    module.loader.exec_module(engine)
    return engine
