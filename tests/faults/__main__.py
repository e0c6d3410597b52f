"""Do harm to a running operator, and see that its world comes out as if nothing had been.

    python -m tests.faults quiet                 # the script without faults: can runs be compared?
    python -m tests.faults crash --worlds 8      # killed before and after each write
    python -m tests.faults server watch --minutes 30 --seed 7
    python -m tests.faults crash --only "storage grows"
    python -m tests.faults machines replicas --rounds 1
    python -m tests.faults rights soak --changes 50000

Users do things to a small world (`script.py`), one after the other. What must come of each is known
from two runs without faults; they are kept, for as long as neither the operator nor this package
changes. Then many worlds go through the script side by side, each with harm of its own. After each
action the state must be that of the quiet run, and stay so; nothing may have been deleted, made
anew or rolled that was not in the quiet run.

A failure names the plan, what differs, and a command that repeats it, at last with the shortest
history that was found to fail. The operators' logs of failures, and of what was right later than is
promised, are kept in the folder that is named at the end. Exit status 1 if a plan failed, 2 if two
quiet runs differ, 130 if interrupted.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tests.faults.campaign import Campaign, Results
from tests.faults.kinds import KINDS, RUNS
from tests.faults.oracle import DisagreementError, Expected, expectations, load, save
from tests.faults.plans import Kind, Lane, Outcome, Plan
from tests.faults.runs import Run
from tests.faults.script import NAMES, SCRIPT, Action
from tests.faults.world import FIRST_VERSION, VERSIONS, new_ground
from tools import cache
from tools.host import ROOT
from tools.progress import say

QUIET, ALL = "quiet", "all"
_SHRINK_SECONDS = 300.0
# What decides on what must come of an action, beside the operator.
_DECISIVE = ("oracle", "script", "state", "world")


def main(arguments: list[str] | None = None) -> int:
    """Run the classes that are named, and tell what came of them."""
    options = _parser().parse_args(arguments)
    # A shell lets what is in its background ignore the first; the second would leave operators.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    chosen = [*KINDS, *RUNS] if ALL in options.kind else options.kind
    walks = [each for each in chosen if each in KINDS]
    try:
        worst = max((_run_alone(each, options) for each in chosen if each in RUNS), default=0)
        if not walks and QUIET not in chosen:
            return worst
        script = _script(options.after, options.only)
        fresh = options.fresh or QUIET in options.kind
        expected = _expected(script, options.scrapeconfig_version, fresh=fresh)
        _describe(expected)
        return max([worst, *(_run(name, script, expected, options) for name in walks)])
    except DisagreementError as error:
        say(f"two runs without faults differ, so nothing can be said: {error}")
        return 2
    except KeyboardInterrupt:
        return 130


def _script(after: Sequence[str], only: Sequence[str]) -> list[Action]:
    """The script, or what is left of it: a history and the actions that are meant."""
    if not after:
        last = max((NAMES.index(each) for each in only), default=len(SCRIPT) - 1)
        return list(SCRIPT[: last + 1])
    named = {*after, *only}
    return [each for each in SCRIPT if each.name in named]


def _expected(script: Sequence[Action], version: str, *, fresh: bool) -> list[Expected]:
    """What must come of each action: kept from before, or found out."""
    path = cache.root() / "faults" / f"{_digest(script, version)}.json"
    if path.exists() and not fresh:
        say(f"what must come of each action is known: {path}")
        return load(path)
    with new_ground(version=version) as ground:
        found = expectations(ground, script, say)
    path.parent.mkdir(parents=True, exist_ok=True)
    save(path, found)
    return found


def _digest(script: Sequence[Action], version: str) -> str:
    """A word for the operator, this package, the actions, and the cluster."""
    made = hashlib.sha256("\n".join([version, *(each.name for each in script)]).encode())
    own = [ROOT / "tests" / "faults" / f"{name}.py" for name in _DECISIVE]
    for path in (*sorted((ROOT / "src").rglob("*.py")), *own):
        made.update(path.read_bytes())
    return made.hexdigest()[:16]


def _describe(expected: Sequence[Expected]) -> None:
    writes = sum(len(each.writes) for each in expected)
    seconds = sum(each.seconds for each in expected)
    say(f"{len(expected)} actions, {writes} different writes, {seconds:.0f} s without faults")


# --- A class with a world of its own --------------------------------------------------------------


def _run_alone(name: str, options: argparse.Namespace) -> int:
    begun = time.monotonic()
    told = RUNS[name].run(say, options.changes, options.seed)
    say(f"--- {name}, {(time.monotonic() - begun) / 60:.1f} minutes")
    say(told.text)
    say(f"failures: {len(told.problems)}")
    for problem in told.problems:
        say(f"- {problem}")
    return 1 if told.problems else 0


# --- One class ------------------------------------------------------------------------------------


def _run(
    name: str,
    script: Sequence[Action],
    expected: Sequence[Expected],
    options: argparse.Namespace,
) -> int:
    kind = KINDS[name]
    rounds = max(options.rounds, (options.round or 0) + 1)
    lanes = _chosen(kind.lanes(expected, options.seed, rounds), options)
    worlds = min(options.worlds, kind.worlds)
    together = min(options.worlds, kind.together)
    say(f"{name}: {sum(map(len, lanes))} plans in {len(lanes)} walks, {worlds * together} worlds")
    with kind.ground(options.scrapeconfig_version) as ground:
        campaign = Campaign(ground, script, expected, say)
        results = campaign.run(KINDS, lanes, worlds, options.minutes * 60, together)
        histories = {
            id(each): campaign.shortest(kind, each, options.shrink) if options.shrink else None
            for each in _distinct(results.failures)
        }
    _summarise(name, results, histories, options.scrapeconfig_version)
    _keep(name, results, options.report)
    return 1 if results.failures or results.broken else 0


def _chosen(lanes: Iterable[Lane], options: argparse.Namespace) -> list[Lane]:
    """The lanes, without what was not asked for."""
    if options.at:
        plans = [
            Plan(options.kind[0], name, options.seed, options.round or 0, options.at)
            for name in options.only
        ]
        return [{plan.action: plan} for plan in plans]

    def is_meant(plan: Plan) -> bool:
        right_round = options.round is None or plan.round == options.round
        return right_round and (not options.only or plan.action in options.only)

    left = [{name: plan for name, plan in lane.items() if is_meant(plan)} for lane in lanes]
    return [lane for lane in left if lane]


def _distinct(failures: Iterable[Outcome]) -> list[Outcome]:
    """One failure of each action: most others are the same."""
    return list({each.plan.action: each for each in failures}.values())


def _summarise(
    name: str, results: Results, histories: dict[int, list[str] | None], version: str
) -> None:
    outcomes = results.outcomes
    reached = [each for each in outcomes if each.reached]
    faults: Counter[str] = sum((each.faults for each in outcomes), Counter())
    seconds = sorted(each.seconds for each in reached if not each.problems)
    say(f"--- {name}, {(time.monotonic() - results.begun) / 60:.1f} minutes")
    say(f"plans: {len(outcomes)} of {results.total}, {len(reached)} with harm done")
    say(f"faults: {sum(faults.values())}: {dict(faults.most_common())}")
    if seconds:
        p50, p99 = quantile(seconds, 0.5), quantile(seconds, 0.99)
        say(f"seconds until right: p50 {p50:.1f}, p99 {p99:.1f}, longest {seconds[-1]:.1f}")
    say(f"failures: {len(results.failures)}, broken off: {len(results.broken)}")
    for each in reached:
        if each.is_late and not each.problems:
            say("\n  ".join([f"- after {each.seconds:.1f} s: {each.plan}", *each.awaited]))
    more = "" if version == FIRST_VERSION else f" --scrapeconfig-version {version}"
    for each in results.failures:
        command = each.plan.command(histories.get(id(each)))
        say(f"- {each.plan}\n  {each.problems[0]}\n  {command}{more}")
    for text in results.broken:
        say(text)


def quantile(seconds: Sequence[float], part: float) -> float:
    """Of sorted numbers, the one below which this part of them is."""
    return seconds[min(len(seconds) - 1, int(part * len(seconds)))]


def _keep(name: str, results: Results, report: str) -> None:
    """Write logs of failures and of what was late, and all outcomes if that is asked for."""
    logged = [each for each in results.outcomes if each.log]
    if logged:
        folder = Path(tempfile.mkdtemp(prefix="stoker-faults-"))
        for number, each in enumerate(logged):
            late = f"right after {each.seconds:.1f} s"
            head = (str(each.plan), late, *each.awaited, *each.problems)
            (folder / f"{name}-{number}.log").write_text("\n".join([*head, "", each.log]))
        say(f"logs of failures and of what was late: {folder}")
    if report:
        rows: list[dict[str, Any]] = [
            {
                **each.plan._asdict(),
                "problems": each.problems,
                "seconds": each.seconds,
                "awaited": each.awaited,
                "faults": each.faults,
            }
            for each in results.outcomes
        ]
        with Path(report).open("a") as file:
            file.writelines(f"{json.dumps(row)}\n" for row in rows)


def _parser() -> argparse.ArgumentParser:
    every: list[Kind | Run] = [*KINDS.values(), *RUNS.values()]
    parser = argparse.ArgumentParser(
        "python -m tests.faults",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="classes:\n" + "\n".join(f"  {each.name:9}{each.help}" for each in every),
    )
    kinds = (QUIET, *KINDS, *RUNS, ALL)
    parser.add_argument("kind", nargs="+", choices=kinds, metavar="CLASS", help=", ".join(kinds))
    parser.add_argument("--seed", type=int, default=0, help="what is left to chance (0)")
    parser.add_argument(
        "--rounds", type=int, default=4, help="walks through the script that are left to chance (4)"
    )
    parser.add_argument("--changes", type=int, default=0, help="how many the soak is long (50,000)")
    parser.add_argument("--worlds", type=int, default=8, help="how many at once (8)")
    parser.add_argument("--minutes", type=float, default=600, help="no new plan after so many")
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        choices=NAMES,
        metavar="ACTION",
        help="only plans for this action; may be repeated",
    )
    parser.add_argument("--round", type=int, help="only plans of this round")
    parser.add_argument("--at", default="", help="the plan that is aimed at this, as failures say")
    parser.add_argument(
        "--after",
        action="append",
        default=[],
        metavar="ACTION",
        help="a history: only these actions before it; may be repeated",
    )
    parser.add_argument(
        "--shrink",
        type=float,
        default=_SHRINK_SECONDS,
        metavar="SECONDS",
        help="how long to look for the shortest history of a failure (300); 0 for not at all",
    )
    parser.add_argument(
        "--scrapeconfig-version",
        default=FIRST_VERSION,
        choices=VERSIONS,
        help=f"in which version the cluster has ScrapeConfigs ({FIRST_VERSION})",
    )
    parser.add_argument("--fresh", action="store_true", help="run the script without faults anew")
    parser.add_argument(
        "--report", default="", metavar="FILE", help="add all outcomes, as JSON lines"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
