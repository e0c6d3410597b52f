"""What several commands are told in the same way: manifests, kinds, and flags of the operator."""

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from stoker.api.crd import Kind
    from stoker.settings import OperatorSettings


def path_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the words that name manifests."""
    parser.add_argument(
        "paths", metavar="PATH", nargs="+", help="a file, a folder, or - for standard input"
    )


def kind_meant(word: str) -> "Kind":
    """The kind that a word means: `rule` and `rules` are short for PrometheusRule.

    StokerError where it means none.
    """
    from stoker.api.kinds import KINDS, kind_called
    from stoker.errors import StokerError
    from stoker.spelling import did_you_mean

    found = kind_called(word) or kind_called(f"prometheus{word}")
    if found is None:
        names = [each.name for each in KINDS]
        hint = did_you_mean(word, names) or f"; there are {', '.join(names)}"
        raise StokerError(f"there is no kind {word}{hint}")
    return found


def flag_settings(flags: "Iterable[str]") -> "OperatorSettings":
    """The settings of an operator that runs with these flags, each with dashes or without."""
    from stoker.cli.operator_settings import operator_settings

    return operator_settings([f"--{each.lstrip('-')}" for each in flags])
