"""Turn ServiceMonitors, PodMonitors and Probes into ScrapeConfigs that scrape the same.

  stoker convert monitors/                           print a ScrapeConfig for each endpoint
  stoker convert monitors/ --output-dir out/         write them to files
  stoker convert all.yaml --workload monitoring/main as this Prometheus of them sees them
  stoker convert . --to v1                           in this version, ScrapeConfigs and
                                                     AlertmanagerConfigs among the manifests too
  kubectl get servicemonitors -A -o yaml | stoker convert -

What the operator adds to a monitor's job is written into the ScrapeConfig, so it scrapes the same
targets with the same labels. Some of that depends on the Prometheus (podTargetLabels,
ignoreNamespaceSelectors, enforcedNamespaceLabel, …): name it with --workload. Other manifests are
passed over. Monitors that no ScrapeConfig can express are named on standard error, with the path.

The ScrapeConfigs have the monitor's labels. As long as the monitor exists too, a Prometheus that
selects both scrapes its targets twice.

Exit status: 0 if everything was converted, 1 if something could not be expressed or read (the rest
is converted), 2 if the command was not understood, there was nothing to convert, or the folder
cannot be written.
"""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from stoker.cli.busy import JUDGING, READING, busy
from stoker.cli.options import JSON, folder_argument, path_arguments
from stoker.cli.terminal import failed, harmless, print_utf8
from stoker.cli.values import print_list

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stoker.api.core import Object

_NAME = "convert"
_VERSIONS = ("v1alpha1", "v1beta1", "v1")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `stoker convert`."""
    path_arguments(parser)
    parser.add_argument(
        "--workload",
        metavar="[NS/]NAME",
        default="",
        help="the Prometheus or PrometheusAgent, among the manifests, to convert for (default: one "
        "without settings that matter)",
    )
    parser.add_argument(
        "--to",
        choices=_VERSIONS,
        default="",
        help="version of the result; converts ScrapeConfigs and AlertmanagerConfigs as well "
        "(default: v1alpha1, of monitors only)",
    )
    folder_argument(parser)


def run(options: argparse.Namespace) -> int:
    """Print or write what manifests become; return the exit status."""
    from stoker.errors import StokerError
    from stoker.offline.conversion import conversion
    from stoker.offline.manifests import read

    try:
        with busy(_NAME, READING) as work:
            readings = work.counted(read(options.paths, exclude=options.exclude), JUDGING)
            made = conversion(readings, options.workload, options.to)
        _put_out(made.objects, options)
    except (StokerError, OSError) as error:
        return failed(_NAME, error)
    for line in made.problems:
        print(harmless(line), file=sys.stderr)
    if not made.found:
        return failed(_NAME, "nothing to convert found")
    return 1 if made.problems else 0


def _put_out(objects: "Sequence[Object]", options: argparse.Namespace) -> None:
    from stoker.offline.folder import write
    from stoker.offline.readable import manifest_files, manifest_text

    if options.output_dir:
        if objects:
            write(Path(options.output_dir), manifest_files(objects))
        return
    if options.output == JSON:
        print_list(objects)
        return
    print_utf8()
    for each in objects:
        print(manifest_text(each), end="")
