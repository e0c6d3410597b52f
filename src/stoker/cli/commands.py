"""The commands as a table. Each is a module of `stoker.cli`, imported only when it is called."""

import os
import sys
from collections.abc import Collection
from importlib import import_module
from typing import Final

from stoker import __version__
from stoker.cli.parser import Parser

COMMANDS: Final = {
    "completion": "print what makes a shell complete commands, options and kinds",
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
GO_FLAGS: Final = ("operator", "webhook")

_EPILOG: Final = "`stoker COMMAND --help` explains a command. The documentation is in docs/."


def parser_of(chosen: Collection[str]) -> Parser:
    """The command line, with the options of the commands that are chosen, which are imported."""
    parser = Parser(prog=_called(), description="A Prometheus Operator.", epilog=_EPILOG)
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
