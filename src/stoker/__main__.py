"""The command line. Each command is a module of `stoker.cli`, imported only when it is called."""

import errno
import os
import sys
from collections.abc import Callable, Collection, Sequence
from importlib import import_module

from stoker import __version__
from stoker.cli.parser import Parser
from stoker.cli.streams import open_streams

COMMANDS = {
    "convert": "turn monitors into ScrapeConfigs, and kinds into other versions of theirs",
    "crds": "print the CustomResourceDefinitions of the ten kinds",
    "diff": "show what manifests would change: objects, configuration, and whether pods roll",
    "explain": "say who selects a resource, which targets it has, and if none, why",
    "lint": "check manifests as an API server would, without one",
    "migrate": "show what a change for good takes, step by step, before it is made",
    "operator": "run the operator in a cluster",
    "reloader": "unpack a configuration, fill in the pod's values, and have it reloaded",
    "render": "print the objects that manifests become, without a cluster",
    "serve": "show manifests on the status page, and keep up with them while you edit",
    "status": "list everything that is not well, on a cluster or among manifests",
    "version": "print the version, and those of everything that is taken for granted",
    "webhook": "answer the API server: validate, mutate and convert objects",
}
# Their flags are written as Go reads them, which argparse cannot.
GO_FLAGS = ("operator", "webhook")

# What can go wrong with a file or terminal that our output goes to.
UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)

EPILOG = "`stoker COMMAND --help` explains a command. The documentation is in docs/."


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that the arguments name; return its exit status."""
    open_streams()
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given and given[0] in GO_FLAGS:
        return _run(lambda: import_module(f"stoker.cli.{given[0]}").main(given[1:]))
    command = next((word for word in given if not word.startswith("-")), "")
    options = parser_of([command]).parse_args(given)
    return _run(lambda: options.run(options))


def parser_of(chosen: Collection[str]) -> Parser:
    """The command line, with the options of the commands that are chosen, which are imported."""
    parser = Parser(prog=_called(), description="A Prometheus Operator.", epilog=EPILOG)
    parser.add_argument("--version", action="version", version=f"stoker {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, summary in COMMANDS.items():
        described = commands.add_parser(name, help=summary)
        if name in chosen and name not in GO_FLAGS:
            module = import_module(f"stoker.cli.{name}")
            described.description = module.__doc__
            module.arguments(described)
            described.set_defaults(run=module.run)
    return parser


def _called() -> str:
    """What we are called: kubectl finds `kubectl-stoker`, and calls it for `kubectl stoker`."""
    return "kubectl stoker" if os.path.basename(sys.argv[0]) == "kubectl-stoker" else "stoker"


def _run(command: Callable[[], int]) -> int:
    try:
        status = int(command())
        sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        if error.errno not in UNWRITABLE:
            raise
        print(f"stoker: the output cannot be written: {error.strerror}", file=sys.stderr)
        # What is left of it would be tried again at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 2


if __name__ == "__main__":
    sys.exit(main())
