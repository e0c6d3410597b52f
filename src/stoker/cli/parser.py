"""Reads a command line: options may stand anywhere, and misspelt words are understood."""

import argparse
import re
from collections.abc import Sequence
from typing import Any, NoReturn

_CHOICE = re.compile(r"invalid choice: '(?P<word>[^']*)' \(choose from (?P<choices>.*)\)")


class Parser(argparse.ArgumentParser):
    """A command's parser."""

    def __init__(self, **kw: Any) -> None:
        super().__init__(formatter_class=argparse.RawDescriptionHelpFormatter, **kw)

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """The options; all words that are left over are reported at once."""
        found, rest = super().parse_known_args(args, namespace)
        if hasattr(found, "files"):
            # argparse takes no words for a list once there was an option between them.
            late = [word for word in rest if word == "-" or not word.startswith("-")]
            found.paths = [*found.paths, *found.files, *late]
            rest = [word for word in rest if word not in late]
            del found.files
        if getattr(found, "needs_paths", False) and not found.paths and not rest:
            self.error("name manifests: a file, a folder, or - for standard input")
        if rest:
            self._refuse(rest)
        return found, rest

    def error(self, message: str) -> NoReturn:
        """End with a sentence; of a word that is none of several, the nearest one is named."""
        found = _CHOICE.search(message)
        if found:
            from stoker.spelling import did_you_mean

            choices = [each.strip(" '") for each in found["choices"].split(",")]
            message += did_you_mean(found["word"], choices)
        super().error(message)

    def _refuse(self, rest: Sequence[str]) -> NoReturn:
        from stoker.spelling import did_you_mean

        word = next((each for each in rest if each.startswith("-")), "").partition("=")[0]
        if not word:
            self.error(f"too many words: {' '.join(rest)}")
        known = [each for each in self._option_string_actions if each.startswith("--")]
        hint = did_you_mean(word, known) or "; --help lists all options"
        self.error(f"there is no option {word}{hint}")
