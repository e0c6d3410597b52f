"""Print the CustomResourceDefinitions of the ten kinds as YAML.

  stoker crds | kubectl apply --server-side -f -
  stoker crds --no-descriptions | kubectl apply -f -
  stoker crds servicemonitor podmonitor

Client-side `kubectl apply` keeps a copy of each object in an annotation of at most 256 KiB, so it
takes the variant without descriptions; server-side apply takes either. Installing them changes
nothing about objects that exist.
"""

import argparse
import sys


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


def run(options: argparse.Namespace) -> int:
    """Print the chosen definitions; return the exit status."""
    import yaml

    from stoker.api.crd import manifest
    from stoker.api.kinds import KINDS, kind_called

    chosen = [(word, kind_called(word)) for word in options.kinds]
    unknown = [word for word, kind in chosen if kind is None]
    if unknown:
        names = ", ".join(kind.name for kind in KINDS)
        print(
            f"stoker crds: no kind called {', '.join(unknown)}; there are {names}", file=sys.stderr
        )
        return 2
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    for kind in [kind for _, kind in chosen if kind] or KINDS:
        document = manifest(
            kind, descriptions=not options.no_descriptions, cel=not options.without_cel
        )
        text = yaml.dump(document, Dumper=dumper, width=2**20, allow_unicode=True)
        print("---", text, sep="\n", end="")
    return 0
