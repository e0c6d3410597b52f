"""What becomes of a workload in tests that have everything at hand."""

from collections.abc import Iterable

from stoker.generate.fragments import StandIns
from stoker.plan import Facts, Plan, plan
from stoker.select.assets import WholeAssets
from stoker.select.choice import NamespaceLabels, Resource
from stoker.select.workload import Workload, controller_of
from stoker.settings import Capabilities, OperatorSettings


def decide(  # noqa: PLR0913 - what is decided, and all that it depends on
    workload: Workload,
    resources: Iterable[Resource],
    namespaces: NamespaceLabels,
    assets: WholeAssets,
    capabilities: Capabilities,
    *,
    stand_ins: StandIns | None = None,
) -> Plan:
    """The plan of an operator without flags; whether objects can be made is only tried."""
    facts = Facts(
        settings=OperatorSettings(
            controller_id=controller_of(workload), unmanaged_configurations=False
        ),
        capabilities=capabilities,
        assets=assets,
        namespaces=namespaces,
        resources=resources,
        stand_ins=stand_ins,
        brief=True,
    )
    return plan(facts, workload)
