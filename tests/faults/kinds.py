"""The table of classes of faults."""

from __future__ import annotations

from tests.faults.crash import Crashes
from tests.faults.plans import Kind
from tests.faults.server import Servers
from tests.faults.watching import Watches

KINDS: dict[str, Kind] = {kind.name: kind for kind in (Crashes(), Servers(), Watches())}
