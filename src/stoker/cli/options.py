"""What all commands take in the same way: manifests, namespaces, forms of output, flags, kinds.

Each option has one spelling everywhere. Those that commands had before are understood and not
shown in `--help`; whoever uses one is given the new one on standard error.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from stoker.api.crd import Kind
    from stoker.settings import OperatorSettings

TEXT: Final = "text"
JSON: Final = "json"
YAML: Final = "yaml"


def path_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the words that name manifests, bare or as for kubectl; `paths` holds all of them."""
    parser.add_argument(
        "paths", metavar="PATH", nargs="*", help="a file, a folder, or - for standard input"
    )
    parser.add_argument(
        "-f", dest="files", metavar="PATH", action="append", default=[], help="the same as PATH"
    )
    exclude_argument(parser)
    parser.set_defaults(needs_paths=True)


def instead_of_cluster(parser: argparse.ArgumentParser) -> None:
    """Declare the option for manifests that are read instead of a cluster, as `paths`."""
    words = "files and folders with manifests, or - for standard input, instead of a cluster"
    parser.add_argument("-f", dest="files", metavar="PATH", action="append", default=[], help=words)
    parser.add_argument(
        "--from", dest="paths", metavar="PATH", nargs="+", action="extend", default=[], help=words
    )
    exclude_argument(parser)


def exclude_argument(parser: argparse.ArgumentParser) -> None:
    """Declare the option for files and folders that are not looked at."""
    parser.add_argument(
        "--exclude",
        metavar="PATTERN",
        action="append",
        default=[],
        help="files and folders that are not looked at, such as '*-values.yaml'; may be repeated",
    )


def namespace_argument(parser: argparse.ArgumentParser, meaning: str) -> None:
    """Declare the option for a namespace."""
    parser.add_argument("-n", "--namespace", metavar="NS", help=meaning)


def output_argument(parser: argparse.ArgumentParser, *forms: str, default: str = TEXT) -> None:
    """Declare the form of what is printed, one of `forms`."""
    parser.add_argument(
        "-o", "--output", choices=forms, default=default, help=f"how to print (default: {default})"
    )


def folder_argument(parser: argparse.ArgumentParser) -> None:
    """Declare where manifests go: printed as YAML or JSON, or written to a folder.

    The folder was named by -o before, which is understood: `output` is a form, `output_dir` a
    folder or None.
    """
    parser.add_argument(
        "-o",
        "--output",
        metavar="{yaml,json}",
        action=_FormOrFolder,
        default=YAML,
        help="print YAML, or a v1 List as JSON (default: yaml)",
    )
    parser.add_argument(
        "--output-dir", metavar="DIR", help="write files to this folder instead of printing"
    )


def flag_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the option that describes an operator that was started with flags."""
    parser.add_argument(
        "--flag",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="a flag that the operator runs with, such as namespaces=shop; may be repeated",
    )
    renamed(parser, "--operator-flag", to="--flag")


def renamed(
    parser: argparse.ArgumentParser,
    old: str,
    to: str,
    *,
    choices: Sequence[str] | None = None,
    meant: Callable[[str], str] = str,
) -> None:
    """Declare the old spelling of the option `to`; `meant` makes the new value of an old one."""
    parser.add_argument(
        old,
        dest=to.split(maxsplit=1)[0].lstrip("-"),
        action=_Renamed,
        to=to,
        meant=meant,
        choices=choices,
        help=argparse.SUPPRESS,
        default=argparse.SUPPRESS,
    )


class _Renamed(argparse.Action):
    """An option that is called otherwise now."""

    def __init__(self, *, to: str, meant: Callable[[str], str], **kw: Any) -> None:
        super().__init__(**kw)
        self._to, self._meant = to, meant

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        """Take the value for the new option, and say what that is called."""
        told_new_spelling(parser, option_string or "", self._to)
        value, before = self._meant(values), getattr(namespace, self.dest)
        setattr(namespace, self.dest, [*before, value] if isinstance(before, list) else value)


class _FormOrFolder(argparse.Action):
    """`-o yaml` and `-o json`; any other word is a folder, as it was before."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        """Take a form, or else a folder."""
        if values in (YAML, JSON):
            namespace.output = values
        elif values != "-":
            told_new_spelling(parser, f"{option_string} DIR", "--output-dir DIR")
            namespace.output_dir = values


def told_new_spelling(parser: argparse.ArgumentParser, old: str, new: str) -> None:
    """Say on standard error what an option is called now."""
    print(f"{parser.prog}: {old} still works, and is called {new} now", file=sys.stderr)


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


def object_meant(words: Sequence[str], namespace: str | None) -> "tuple[Kind, str, str]":
    """The kind, namespace and name of `KIND NAME`, `KIND NS/NAME`, `KIND/NAME` or `KIND/NS/NAME`.

    The namespace is `namespace` where the words name none, and may be empty. StokerError where
    the words name nothing.
    """
    from stoker.errors import StokerError

    parts = (f"{words[0]}/{words[1]}" if len(words) == 2 else words[0]).split("/")
    if len(words) > 2 or len(parts) not in (2, 3) or not all(parts):
        said = " ".join(words)
        raise StokerError(f"{said}: name an object as KIND NAME or KIND/NAME, with -n NAMESPACE")
    kind, *inside, name = parts
    return kind_meant(kind), inside[0] if inside else namespace or "", name


def flag_settings(flags: "Iterable[str]", *, judging: bool = False) -> "OperatorSettings":
    """The settings of an operator that runs with these flags, each with dashes or without.

    With `judging`, for who makes no objects of them: what depends on the place where the operator
    runs alone, and nobody said, is taken for granted.
    """
    from msgspec.structs import replace

    from stoker.cli.operator_settings import operator_settings
    from stoker.settings import SOME_NODE_SERVER

    found = operator_settings([f"--{each.lstrip('-')}" for each in flags])
    if not judging or found.objects.node_server:
        return found
    return replace(found, objects=replace(found.objects, node_server=SOME_NODE_SERVER))
