"""Change something for good, step by step, and know beforehand what that means.

  stoker migrate agent-mode --to DaemonSet deploy/     an agent on every node, or in StatefulSets
  stoker migrate storage-version --dry-run             objects that lie in an old version in etcd
  stoker migrate takeover                              from prometheus-operator to stoker

`stoker migrate WHAT --help` says more. `agent-mode` and `takeover` write nothing, neither to files
nor to a cluster; `storage-version` writes to the cluster, unless --dry-run is given.
"""

import argparse
from importlib import import_module

MIGRATIONS = {
    "agent-mode": "run a PrometheusAgent in its other mode",
    "takeover": "say what happens when stoker takes over from prometheus-operator",
    "storage-version": "store all objects in the storage version of their kind",
}


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the migrations, each with options of its own."""
    known = parser.add_subparsers(dest="migration", metavar="WHAT", required=True)
    for name, summary in MIGRATIONS.items():
        module = import_module(f"stoker.cli.migrate_{name.replace('-', '_')}")
        described = known.add_parser(name, help=summary, description=module.__doc__)
        module.arguments(described)
        described.set_defaults(migrate=module.run)


def run(options: argparse.Namespace) -> int:
    """Run the migration that was asked for; return the exit status."""
    return int(options.migrate(options))
