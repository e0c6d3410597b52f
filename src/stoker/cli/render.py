"""Print what the operator would make of manifests, without a cluster.

  stoker render example/                           every object, for `kubectl apply -f -`
  stoker render example/ --output-dir out/         one file for each, and the configuration to read
  stoker render example/ --workload main --unpack  one workload, with what its Secrets hold as text
  stoker render example/ --config-only             nothing but configurations
  helm template chart/ | stoker render -

Objects go to standard output. What was selected, what was rejected and why, and which fields the
workload's version ignores go to standard error. Values of Secrets and ConfigMaps among the
manifests appear in the output as they would in the cluster's Secrets. What refers to others is
unknown, which is no fault: a cluster may have them. It is left out.

Objects are those of an operator without flags; --flag gives it some. A workload that such an
operator does not look after is named, and nothing is made of it. Objects have no owner, as
nobody knows the UID of a workload that is not in a cluster, unless the manifest has it.

Of an agent with discovery by the operator the configuration has no jobs: each is a file of its own
on the nodes that have a target of it. With Nodes, and pods and EndpointSlices as in a cluster among
the manifests, readable/…/portions/NODE/ has what each node gets; otherwise readable/…/jobs/ has all
jobs. Such an agent needs --flag node-discovery-url=URL.

The folder of --output-dir must be new, empty, or written by an earlier run, whose files are
replaced; what is for reading lies in readable/, where `kubectl apply -f out/` does not look.

Exit status: 0 if every resource was used as it is written, 1 if something was rejected, could not
be built or could not be read (the rest is rendered), 2 if the command was not understood, there was
no workload, or the folder cannot be written.
"""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from stoker.cli.busy import JUDGING, READING, busy
from stoker.cli.options import (
    JSON,
    flag_arguments,
    flag_settings,
    folder_argument,
    path_arguments,
)
from stoker.cli.terminal import failed, harmless, print_utf8
from stoker.cli.values import print_list

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stoker.api.core import ObjectMeta
    from stoker.offline.objects import Rendered
    from stoker.settings import OperatorSettings

_NAME = "render"
_GROUPS = ("What it looks after", "What it makes", "Node discovery (ours)")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `stoker render`."""
    path_arguments(parser)
    form = parser.add_mutually_exclusive_group()
    form.add_argument(
        "--config-only", action="store_true", help="print configurations instead of objects"
    )
    form.add_argument(
        "--unpack",
        action="store_true",
        help="print what Secrets hold as text: for reading, kubectl does not take it",
    )
    folder_argument(parser)
    parser.add_argument(
        "--workload", metavar="[NS/]NAME", help="only the workload of this name (default: all)"
    )
    flag_arguments(parser)
    parser.add_argument(
        "--consolidate-monitors",
        action="store_true",
        help="turn monitors into ScrapeConfigs, as the operator's flag of this name does",
    )
    parser.add_argument("--quiet", action="store_true", help="print no summary to standard error")


def run(options: argparse.Namespace) -> int:
    """Print the objects or write them to a folder; return the exit status."""
    from stoker.cli.render_summary import summary
    from stoker.errors import StokerError
    from stoker.offline.manifests import read
    from stoker.offline.objects import decided, rendered
    from stoker.offline.world import world_of

    if options.unpack and options.output_dir:
        return failed(_NAME, "--unpack is for printing; a folder has it in readable/")
    try:
        consolidating = ["consolidate-monitors"] if options.consolidate_monitors else []
        settings = _settings([*options.flag, *consolidating])
        with busy(_NAME, READING) as work:
            readings = read(options.paths, exclude=options.exclude)
            world = world_of(work.counted(readings, JUDGING))
            chosen = [one for one in world.workloads if _is_meant(one.metadata, options.workload)]
            made = (decided if options.config_only else rendered)(world, chosen, settings)
        if made:
            _put_out(made, options)
    except (StokerError, OSError) as error:
        return failed(_NAME, error)
    if not options.quiet:
        for line in summary(world, made):
            print(line, file=sys.stderr)
    if not made:
        called = f" called {options.workload}" if options.workload else ""
        return failed(_NAME, f"no workload{called} found")
    return 1 if world.refused or any(each.is_faulty for each in made) else 0


def _settings(flags: "Sequence[str]") -> "OperatorSettings":
    """The operator's settings; only flags that decide on objects mean anything here."""
    from stoker.cli.flag_table import GROUPS
    from stoker.errors import FieldError

    names = {flag.name for group in _GROUPS for flag in GROUPS[group]}
    for word in flags:
        name = word.lstrip("-").partition("=")[0]
        if name not in names:
            raise FieldError(f"--flag {name}", f"is not one of {', '.join(sorted(names))}")
    return flag_settings(flags)


def _is_meant(metadata: "ObjectMeta", wanted: str | None) -> bool:
    return wanted is None or wanted in (metadata.name, f"{metadata.namespace}/{metadata.name}")


def _put_out(made: "list[Rendered]", options: argparse.Namespace) -> None:
    from stoker.offline.folder import write
    from stoker.offline.readable import files_of, jobs_text, manifest_text, readable_text

    if options.output_dir:
        write(Path(options.output_dir), files_of(made))
        return
    if options.output == JSON and not options.config_only:
        print_list([one for each in made for one in each.objects])
        return
    print_utf8()
    text_of = readable_text if options.unpack else manifest_text
    for each in made:
        if options.config_only and each.plan.text:
            # A name is a user's: after a line break it would be a part of the configuration.
            print(f"---\n# {harmless(each.title)}\n{each.plan.text}", end="")
            print(jobs_text(each.shares), end="")
        for one in each.objects:
            print(text_of(one), end="")
