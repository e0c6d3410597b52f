"""Say what happens when stoker takes over from the prometheus-operator of a cluster.

  stoker migrate takeover                          look; nothing is written
  stoker migrate takeover -o move > move.sh        the commands that take over, as a script
  stoker migrate takeover -o back > back.sh        and those that go back
  stoker migrate takeover -o json | jq -r '.workloads[] | select(.pods == "roll") | .workload'

prometheus-operator is found by its Deployment, in whatever namespace and by whatever name; its
flags are read there. If there are several, name one with --deployment. --flag adds what its
Deployment does not say; it may be repeated, and wins:

  stoker migrate takeover --deployment monitoring/prometheus-operator --flag namespaces=shop

For each workload, the worst first: whether its pods stay, and if not, which field of the pod
template differs; which resources the two operators judge otherwise; which objects come, go or get
another content. Then flags that mean nothing to stoker, definitions that are older or newer than
ours, rights that are missing, and fields that change hands. Everything is read with your own
permissions; what you are not allowed to see is reported as not known. Values of Secrets are never
shown.

Exit status: 0 if no pod would change and nothing would be judged otherwise, 1 if something would,
2 if that is not known: no prometheus-operator was found, or several; a flag is not known, or
something cannot be seen (and nothing else is to be said); the command was not understood, or the
cluster does not answer. A script of -o move or back is printed unless the status is 2.
"""

import argparse
from typing import TYPE_CHECKING, Final

from stoker.cli.access import access_arguments, access_to_read, advised
from stoker.cli.busy import ASKING, busy
from stoker.cli.options import JSON, TEXT, YAML, flag_arguments, output_argument
from stoker.cli.terminal import failed

if TYPE_CHECKING:
    from stoker.cli.peer_flags import PeerFlags
    from stoker.cluster.takeover.peer import PeerOperator, Peers
    from stoker.cluster.takeover.report import TakeoverReport
    from stoker.kube.client import Client

_NAME: Final = "migrate takeover"
_MOVE: Final = "move"
_BACK: Final = "back"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `stoker migrate takeover`."""
    parser.add_argument(
        "--deployment",
        metavar="NS/NAME",
        default="",
        help="the Deployment of prometheus-operator (default: the one that is found)",
    )
    access_arguments(parser)
    flag_arguments(parser)
    parser.add_argument(
        "--image",
        metavar="IMAGE",
        default="",
        help="the image of stoker, for -o move (default: that of deploy/)",
    )
    output_argument(parser, TEXT, JSON, YAML, _MOVE, _BACK)


def run(options: argparse.Namespace) -> int:
    """Look, and say what would happen; return the exit status."""
    import asyncio

    from stoker.errors import StokerError

    if options.deployment and options.deployment.count("/") != 1:
        return failed(_NAME, f"--deployment {options.deployment}: name it as NAMESPACE/NAME")
    try:
        return asyncio.run(_looked(options))
    except StokerError as error:
        return failed(_NAME, advised(error))


async def _looked(options: argparse.Namespace) -> int:
    from stoker import __version__
    from stoker.cli.peer_flags import flags_of
    from stoker.cluster.takeover.peer import peers_in
    from stoker.kube.client import Client

    access = access_to_read(options.kubeconfig, options.context)
    async with Client(access, user_agent=f"stoker-migrate/{__version__}") as client:
        peers = await peers_in(client, options.deployment)
        why = _unclear(peers, has_flags=bool(options.flag))
        if why:
            return failed(_NAME, why)
        peer = peers.found[0] if peers.found else None
        flags = flags_of(peer, options.flag)
        if options.output in (_MOVE, _BACK):
            return await _scripted(client, peer, flags, options)
        return await _reported(client, peer, flags, options.output)


def _unclear(peers: "Peers", *, has_flags: bool) -> str:
    """Why it is not clear from whom we take over."""
    if len(peers.found) > 1:
        names = ", ".join(each.title for each in peers.found)
        return f"there are several prometheus-operators: name one with --deployment: {names}"
    if peers.found or has_flags:
        return ""
    return peers.unknown or (
        "no Deployment of prometheus-operator was found: name it with --deployment, or tell its "
        "flags with --flag"
    )


async def _reported(
    client: "Client", peer: "PeerOperator | None", flags: "PeerFlags", form: str
) -> int:
    from stoker.cli.takeover_text import printed
    from stoker.cluster.takeover.report import takeover_report

    with busy(_NAME, ASKING):
        found = await takeover_report(client, flags.settings, peer.account if peer else "")
    printed(peer, flags, found, form)
    return _exit_status(flags, found)


def _exit_status(flags: "PeerFlags", found: "TakeoverReport") -> int:
    if not found.is_well:
        return 1
    return 2 if flags.doubts or found.unknown else 0


async def _scripted(
    client: "Client", peer: "PeerOperator | None", flags: "PeerFlags", options: argparse.Namespace
) -> int:
    from stoker.cli.takeover_script import Destination, back_script, move_script
    from stoker.cluster.takeover.report import definitions_of

    if peer is None:
        return failed(_NAME, "a script needs the Deployment of prometheus-operator: --deployment")
    place = Destination(options.kubeconfig or "", options.context or "", options.image)
    if options.output == _BACK:
        print(back_script(peer, place), end="")
        return 0
    if flags.doubts:
        return failed(_NAME, f"a script would be wrong: {'; '.join(flags.doubts)}")
    definitions, hidden = await definitions_of(client)
    if hidden:
        return failed(_NAME, hidden[0])
    # Of those that a webhook converts, ours without it would serve fewer versions.
    ours = [each.kind for each in definitions if not each.conversion]
    print(move_script(peer, flags, place, ours), end="")
    return 0
