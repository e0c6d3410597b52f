"""Small checks for the tables of `alertmanager.yaml`: what members exclude or need each other.

Each makes a function that raises a `FieldError` for a mapping of the file that is not as it should
be. No message holds a value: it may be secret.
"""

from stoker.errors import FieldError, below
from stoker.generate.block import Block
from stoker.generate.grammar import TextCheck
from stoker.validate.alertmanager.syntax import url_or_template_problem
from stoker.validate.syntax import web_url_problem
from stoker.version import Version, parse_version


def web(*keys: str) -> TextCheck:
    """Each of these is a URL, if it is set."""

    def check(block: Block, _version: Version, path: str) -> None:
        for key in keys:
            problem = web_url_problem(block[key]) if block.get(key) else ""
            if problem:
                raise FieldError(below(path, key), problem)

    return check


def web_or_template(*keys: str, since: str = "0.0.0") -> TextCheck:
    """Each of these is a URL or, `since` some version, a template that makes one, if it is set."""

    def check(block: Block, version: Version, path: str) -> None:
        templates = version >= parse_version(since)
        for key in keys:
            text = block.get(key) or ""
            if templates or not text:
                problem = url_or_template_problem(text, version, secret=True)
            else:
                problem = web_url_problem(text)
            if problem:
                raise FieldError(below(path, key), problem)

    return check


def at_most_one(*keys: str) -> TextCheck:
    """These exclude each other."""

    def check(block: Block, _version: Version, path: str) -> None:
        found = [key for key in keys if block.get(key)]
        if len(found) > 1:
            raise FieldError(below(path, found[1]), f"excludes `{found[0]}`")

    return check


def any_of(*keys: str, until: str = "") -> TextCheck:
    """One of these is needed, unless the version (`until`) can take it from elsewhere."""

    def check(block: Block, version: Version, path: str) -> None:
        elsewhere = until and version >= parse_version(until)
        if not elsewhere and not any(block.get(key) for key in keys):
            names = " or ".join(f"`{key}`" for key in keys)
            raise FieldError(path, f"needs {names}")

    return check


def all_of(*keys: str) -> TextCheck:
    """Each of these is needed."""

    def check(block: Block, _version: Version, path: str) -> None:
        for key in keys:
            if not block.get(key):
                raise FieldError(below(path, key), "must be set")

    return check


def among(key: str, *words: str) -> TextCheck:
    """A word of a list, if it is set."""

    def check(block: Block, _version: Version, path: str) -> None:
        if block.get(key) and block[key] not in words:
            allowed = ", ".join(f"`{word}`" for word in words)
            raise FieldError(below(path, key), f"is not one of {allowed}")

    return check
