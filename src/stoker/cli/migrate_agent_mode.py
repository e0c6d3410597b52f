"""Show what it takes to run a PrometheusAgent in another way, and print its new manifest.

  stoker migrate agent-mode --to DaemonSet deploy/          agents in manifests
  stoker migrate agent-mode --to StatefulSet --context prod monitoring/light      … in a cluster
  stoker migrate agent-mode --to DaemonSet --beside deploy/ > new.yaml
  stoker migrate agent-mode --to DaemonSet --discovery Operator deploy/     who finds its targets

The new manifest goes to standard output; in files comments stay where that can be done. What must
go and what is lost with it, what nobody will scrape any more (as agents on nodes cannot, or as no
agent is where it runs), who else scrapes the same targets, and the steps in their order go to
standard error. Nothing is written to files or to the cluster.

Give manifests of everything that matters: other Prometheuses and agents, monitors, Probes,
ScrapeConfigs, Namespaces, and for agents on nodes Nodes, pods and Services. Without PATH the
cluster of the kubeconfig is asked.

Exit status: 0 if the change can be made as it is, 1 if something must be settled first (nobody
scrapes it any more, it is scraped twice, it is refused, a manifest cannot be read), 2 if the
command was not understood, the cluster does not answer, or there is no such agent.
"""

import argparse
import sys
from typing import TYPE_CHECKING, Any

from stoker.cli.access import advised
from stoker.cli.busy import ASKING, READING, busy
from stoker.cli.options import JSON, YAML, exclude_argument, output_argument
from stoker.cli.terminal import failed, harmless
from stoker.cli.values import print_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from stoker.offline.manifests import Document, Manifest
    from stoker.offline.migration.plan import Migration
    from stoker.offline.world import World

SCHEMA = "stoker/migrate-agent-mode/v1"
_NAME = "migrate agent-mode"
_MOST_NAMES = 5


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `stoker migrate agent-mode`."""
    parser.add_argument(
        "paths",
        metavar="PATH",
        nargs="*",
        help="a file, a folder, or - for standard input; with --kubeconfig or --context the "
        "[NS/]NAME of an agent in the cluster",
    )
    parser.add_argument(
        "--to", required=True, choices=("DaemonSet", "StatefulSet"), help="the mode to change to"
    )
    parser.add_argument(
        "--discovery",
        choices=("Kubernetes", "Operator"),
        help="who finds the targets of agents on nodes (default: as it is), also for agents that "
        "are on nodes already",
    )
    parser.add_argument(
        "--targets-without-agent",
        choices=("Nobody", "Spread"),
        help="who scrapes targets that have no agent on their node (default: as it is)",
    )
    parser.add_argument(
        "--workload", metavar="[NS/]NAME", help="only the agent of this name (default: all)"
    )
    parser.add_argument(
        "--beside",
        action="store_true",
        help="print a StatefulSet agent too, NAME-central, for what agents on nodes cannot take",
    )
    parser.add_argument(
        "--kubeconfig", metavar="FILE", help="read from the cluster of this file, not from PATH"
    )
    parser.add_argument("--context", metavar="NAME", help="read from the cluster of this context")
    parser.add_argument(
        "-f", dest="files", metavar="PATH", action="append", default=[], help="the same as PATH"
    )
    exclude_argument(parser)
    output_argument(parser, YAML, JSON, default=YAML)


def run(options: argparse.Namespace) -> int:
    """Report and print; return the exit status."""
    from stoker.errors import StokerError
    from stoker.offline.manifests import Unreadable
    from stoker.offline.world import world_of

    names = [options.workload] if options.workload else []
    if options.to != "DaemonSet" and (options.discovery or options.targets_without_agent):
        return failed(_NAME, "--discovery and --targets-without-agent are for --to DaemonSet")
    try:
        with busy(_NAME, ASKING if _asks_cluster(options) else READING):
            readings, names = _given(options, names)
            world = world_of(readings)
    except StokerError as error:
        asked = _asks_cluster(options)
        return failed(_NAME, advised(error, "a file or folder") if asked else error)
    agents = [each for each in readings if not isinstance(each, Unreadable) and _is_agent(each)]
    meant = [each for each in agents if _is_meant(each, names)]
    unknown = _strangers(world, meant)
    if not meant:
        _say(f"unknown   {each}" for each in unknown)
        called = f" called {' or '.join(names)}" if names else ""
        return failed(_NAME, f"no PrometheusAgent{called} found")
    plans = [_plan(each, world, options) for each in meant]
    _show(list(zip(meant, plans, strict=True)), unknown, options)
    return 1 if unknown or any(each.needs_care for each in plans) else 0


# --- What there is --------------------------------------------------------------------------------


def _given(options: argparse.Namespace, names: list[str]) -> "tuple[list[Document], list[str]]":
    """Everything that was found, and the names of the agents that are meant."""
    from stoker.offline.manifests import read

    if _asks_cluster(options):
        from stoker.cli.cluster import found_in_cluster

        return found_in_cluster(options.kubeconfig, options.context), [*names, *options.paths]
    return list(read(options.paths, exclude=options.exclude)), names


def _asks_cluster(options: argparse.Namespace) -> bool:
    return bool(options.kubeconfig or options.context or not options.paths)


def _is_agent(reading: "Manifest") -> bool:
    from stoker.api.kinds import version_of
    from stoker.api.prometheus import PrometheusAgent

    found = reading.object
    version = version_of(str(found.get("apiVersion", "")), str(found.get("kind", "")))
    return version is not None and version.model is PrometheusAgent


def _is_meant(reading: "Manifest", names: "Sequence[str]") -> bool:
    from stoker.offline.migration.plan import identity_of

    identity = identity_of(reading.object)
    return not names or identity in names or identity.partition("/")[2] in names


def _plan(reading: "Manifest", world: "World", options: argparse.Namespace) -> "Migration":
    from stoker.offline.migration.fields import WantedDiscovery
    from stoker.offline.migration.plan import migration

    return migration(
        reading.object,
        options.to,
        world,
        discovery=WantedDiscovery(options.discovery, options.targets_without_agent),
        beside=options.beside,
        in_cluster=_asks_cluster(options),
    )


def _strangers(world: "World", meant: "Iterable[Manifest]") -> list[str]:
    """What could not be read or would be refused, so that it was not looked at."""
    from stoker.offline.migration.plan import identity_of

    own = {f"PrometheusAgent {identity_of(each.object)}" for each in meant}
    return [
        " ".join(part for part in (each.source, each.subject, f"({reason})") if part)
        for each in world.refused
        if each.subject not in own
        for reason in each.reasons
    ]


# --- What is said ---------------------------------------------------------------------------------


def _show(
    found: "list[tuple[Manifest, Migration]]", unknown: list[str], options: argparse.Namespace
) -> None:
    if options.output == "json":
        for reading, plan in found:
            print_value(SCHEMA, _as_json(reading, plan, unknown), JSON, indent=None)
        return
    _say(f"unknown   {each}" for each in unknown)
    for reading, plan in found:
        text, note = ("", "") if plan.is_done else _text(reading, plan)
        print(text, end="")
        _say(_report(plan, note))


def _say(lines: "Iterable[str]") -> None:
    for line in lines:
        print(harmless(line), file=sys.stderr)


def _as_json(reading: "Manifest", plan: "Migration", unknown: list[str]) -> dict[str, Any]:
    from msgspec import to_builtins

    told: dict[str, Any] = to_builtins(plan)
    return {"source": reading.source} | told | {"unknown": unknown, "done": plan.is_done}


def _text(reading: "Manifest", plan: "Migration") -> tuple[str, str]:
    """The manifests, and what became of the comments."""
    from stoker.offline.migration.text import edited
    from stoker.offline.readable import manifest_text

    further = manifest_text(plan.beside) if plan.beside else ""
    gone = {each.field for each in plan.removed}
    kept = None
    if not reading.path and not reading.text.startswith("{"):
        kept = edited(reading.text, gone, plan.after, plan.manifest, plan.settings)
    if kept is not None:
        note = "the manifest is yours with lines taken out: look at the comments around them"
        return f"{further}---\n{kept}", note
    note = "the manifest is rewritten, without your comments" if reading.text else ""
    return f"{further}{manifest_text(plan.manifest)}", note


def _report(plan: "Migration", note: str) -> "Iterator[str]":
    if plan.is_done:
        yield f"PrometheusAgent {plan.agent}: is a {plan.after} already, nothing to do"
        return
    yield f"PrometheusAgent {plan.agent}: {_to(plan)}"
    for name, value in plan.settings.items():
        yield f"  becomes   spec.daemonSet.{name}: {value or 'unset'}"
    for word, losses in (("goes", plan.removed), ("idle", plan.idle)):
        for each in losses:
            instead = f"; instead: {each.instead}" if each.instead else ""
            yield f"  {word:9} spec.{each.field}: {each.lost}{instead}"
    kept = len(plan.manifest["spec"]) - 1
    yield f"  kept      {kept} other field{'' if kept == 1 else 's'} of the spec, as they are"
    yield from (f"  problem   {each}" for each in plan.problems)
    yield from (f"  homeless  {each}: nobody will scrape it" for each in plan.homeless)
    yield from _on_nodes(plan)
    for overlap in plan.overlaps:
        yield f"  twice     {_few(overlap.resources)}: {overlap.workload} takes it too"
    if not plan.overlaps and not plan.problems:
        yield "  once      no other Prometheus or agent here takes any of its monitors"
    yield from (f"  note      {each}" for each in (*plan.notes, note) if each)
    yield from (f"  step {number}    {each}" for number, each in enumerate(plan.steps, 1))


def _to(plan: "Migration") -> str:
    if plan.before != plan.after:
        return f"{plan.before} -> {plan.after}"
    return f"stays a {plan.after}"


def _on_nodes(plan: "Migration") -> "Iterator[str]":
    nodes = plan.nodes
    if nodes.covers:
        yield f"  nodes     {nodes.covers}"
    if nodes.doubt:
        yield f"  nodes     {nodes.doubt}"
    for each in nodes.lost:
        count = f"{each.targets} target{'' if each.targets == 1 else 's'}"
        what = f"{count} of {_few(each.resources)} ({_few(each.names)})"
        yield f"  lost      {what}: {each.why}; nobody will scrape them"


def _few(names: "Sequence[str]") -> str:
    rest = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {rest} more" if rest > 0 else "")
