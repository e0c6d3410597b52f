"""Print the CustomResourceDefinitions of the ten kinds as YAML.

  stoker crds | kubectl apply --server-side -f -      install or update them
  stoker crds --no-descriptions | kubectl apply -f -  the same without server-side apply
  stoker crds servicemonitor podmonitor               two of them
  stoker crds --conversion-webhook stoker/stoker-webhook --ca-bundle ca.crt
                                                      all versions, converted by this Service

Client-side `kubectl apply` keeps a copy of each object in an annotation of at most 256 KiB, so it
takes the variant without descriptions; server-side apply takes either. Installing them changes
nothing about objects that exist.

ScrapeConfig has three versions, of which an API server can serve several only with a webhook that
converts them (`stoker webhook`): docs/scrapeconfig-versions.md.

Exit status: 0 if they were printed, 2 if the command was not understood.
"""

import argparse
from typing import TYPE_CHECKING

from stoker.cli.options import JSON, YAML, kind_meant, output_argument
from stoker.cli.terminal import failed
from stoker.cli.values import print_list

if TYPE_CHECKING:
    from stoker.api.crd import Kind


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `stoker crds`."""
    parser.add_argument(
        "kinds",
        metavar="KIND",
        nargs="*",
        help="only these kinds (by kind, plural or short name); all ten if none is named",
    )
    parser.add_argument(
        "--no-descriptions",
        action="store_true",
        help="leave out the descriptions: small enough for client-side kubectl apply",
    )
    parser.add_argument(
        "--without-cel",
        action="store_true",
        help="leave out the CEL rules, for API servers before Kubernetes 1.25",
    )
    parser.add_argument(
        "--scrapeconfig-version",
        metavar="VERSION",
        help="the one version of ScrapeConfig to serve without a webhook (default: v1alpha1)",
    )
    parser.add_argument(
        "--conversion-webhook",
        metavar="NAMESPACE/SERVICE[:PORT][/PATH]",
        help="serve all versions of ScrapeConfig and AlertmanagerConfig, converted by this Service",
    )
    parser.add_argument(
        "--ca-bundle",
        metavar="FILE",
        help="certificate authorities (PEM) by which the API server knows the webhook",
    )
    parser.add_argument(
        "--storage-version",
        metavar="RESOURCE=VERSION",
        action="append",
        default=[],
        help="with a webhook: store objects in this version; may be repeated (default: "
        "scrapeconfigs=v1, alertmanagerconfigs=v1alpha1)",
    )
    parser.add_argument(
        "--not-served",
        metavar="RESOURCE/VERSION",
        action="append",
        default=[],
        help="with a webhook: keep this version in the definition, for stored objects, but do not "
        "serve it, as in scrapeconfigs/v1alpha1; may be repeated",
    )
    output_argument(parser, YAML, JSON, default=YAML)


def run(options: argparse.Namespace) -> int:
    """Print the chosen definitions; return the exit status."""
    import yaml

    from stoker.api.crd import manifest
    from stoker.cli.crd_versions import servings
    from stoker.errors import StokerError

    try:
        chosen = _kinds(options.kinds)
        serving = servings(options, chosen)
    except StokerError as error:
        return failed("crds", error)
    documents = [
        manifest(
            kind,
            serving=serving[kind.plural],
            descriptions=not options.no_descriptions,
            cel=not options.without_cel,
        )
        for kind in chosen
    ]
    if options.output == JSON:
        print_list(documents)
        return 0
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    for document in documents:
        text = yaml.dump(document, Dumper=dumper, width=2**20, allow_unicode=True)
        print("---", text, sep="\n", end="")
    return 0


def _kinds(words: list[str]) -> "tuple[Kind, ...]":
    from stoker.api.kinds import KINDS

    return tuple(kind_meant(word) for word in words) or KINDS
