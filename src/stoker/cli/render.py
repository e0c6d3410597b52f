"""Print what the operator would make of manifests, without a cluster.

  stoker render --config-only example/                    every Prometheus and PrometheusAgent
  stoker render --config-only example/ --workload main    one of them
  helm template chart/ | stoker render --config-only -

The configuration goes to standard output, one document for each workload. What was selected, what
was rejected and why, and which fields the workload's version ignores go to standard error. Secrets
and ConfigMaps that monitors refer to must be among the manifests; their values appear in the output
as they would in the cluster's Secret.

Exit status: 0 if every resource was used as it is written, 1 if something was rejected or could
not be read, 2 if the command was not understood or there was no workload.
"""

import argparse
import sys
from typing import TYPE_CHECKING

from stoker.cli.terminal import harmless

if TYPE_CHECKING:
    from stoker.api.core import ObjectMeta
    from stoker.decide import Decision
    from stoker.offline.world import World
    from stoker.validate.verdicts import Verdict


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `stoker render`."""
    parser.add_argument(
        "paths", metavar="PATH", nargs="+", help="a file, a folder, or - for standard input"
    )
    parser.add_argument(
        "--config-only",
        action="store_true",
        required=True,
        help="print configurations (objects come in a later version)",
    )
    parser.add_argument("--workload", metavar="[NS/]NAME", help="only the workload of this name")
    parser.add_argument("--quiet", action="store_true", help="print no summary")


def run(options: argparse.Namespace) -> int:
    """Print the configurations; return the exit status."""
    from stoker.decide import decide
    from stoker.offline.manifests import read
    from stoker.offline.world import world_of
    from stoker.settings import Capabilities

    world = world_of(read(options.paths))
    chosen = [each for each in world.workloads if _is_meant(each.metadata, options.workload)]
    decisions = [
        decide(each, world.monitors, world.namespaces, world.assets, Capabilities())
        for each in chosen
    ]
    for decision in decisions:
        _print_configuration(decision)
    if not options.quiet:
        for line in summary(world, decisions):
            print(line, file=sys.stderr)
    if not decisions:
        print("stoker render: no Prometheus or PrometheusAgent found", file=sys.stderr)
        return 2
    return 1 if world.refused or any(_is_faulty(decision) for decision in decisions) else 0


def _is_meant(metadata: "ObjectMeta", wanted: str | None) -> bool:
    return wanted is None or wanted in (metadata.name, f"{metadata.namespace}/{metadata.name}")


def _is_faulty(decision: "Decision") -> bool:
    rejected = any(not verdict.accepted for verdict in decision.verdicts)
    return bool(decision.problem) or rejected


def _print_configuration(decision: "Decision") -> None:
    if decision.text:
        print(f"---\n# {_title(decision)}")
        print(decision.text, end="")


def _title(decision: "Decision") -> str:
    workload = decision.workload
    kind = "PrometheusAgent" if workload.agent else "Prometheus"
    return f"{kind} {workload.namespace}/{workload.name}"


def summary(world: "World", decisions: "list[Decision]") -> list[str]:
    """What was used, rejected and ignored, one line each."""
    lines = []
    for refused in world.refused:
        subject = " ".join(part for part in (refused.source, refused.subject) if part)
        lines += [f"refused   {subject}: {reason}" for reason in refused.reasons]
    for decision in decisions:
        lines += _decision_lines(decision)
    return [harmless(line) for line in lines]


def _decision_lines(decision: "Decision") -> list[str]:
    used = [verdict for verdict in decision.verdicts if verdict.accepted]
    rejected = [verdict for verdict in decision.verdicts if not verdict.accepted]
    version = "" if decision.problem else f" ({decision.workload.version})"
    lines = [f"{_title(decision)}{version}: {len(used)} used, {len(rejected)} rejected"]
    if decision.problem:
        lines.append(f"  no configuration: {decision.problem}")
    lines += [f"  note      {note}" for note in decision.notes]
    lines += [f"  used      {_named(verdict)}" for verdict in used]
    lines += [
        f"  rejected  {_named(verdict)}: {found}"
        for verdict in rejected
        for found in verdict.findings
    ]
    for (kind, key), fields in sorted(decision.ignored.items()):
        subject = f"{kind} {key}" if kind else _title(decision)
        lines += [f"  ignored   {subject}: {field.path} {field.reason}" for field in fields]
    return lines


def _named(verdict: "Verdict") -> str:
    kind, namespace, name = verdict.key
    return f"{kind} {namespace}/{name}"
