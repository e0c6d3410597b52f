"""The table of classes of faults."""

from __future__ import annotations

from tests.faults.crash import Crashes
from tests.faults.machines import Machines
from tests.faults.plans import Kind
from tests.faults.replicas import Replicas
from tests.faults.rights_elsewhere import RightsRun
from tests.faults.runs import Run
from tests.faults.server import Servers
from tests.faults.soak import SoakRun
from tests.faults.watching import Watches

KINDS: dict[str, Kind] = {
    kind.name: kind for kind in (Crashes(), Servers(), Watches(), Machines(), Replicas())
}

RUNS: dict[str, Run] = {run.name: run for run in (RightsRun(), SoakRun())}
"""Classes that have a world of their own."""
