"""What a resource names is known before it is judged."""

import io
from pathlib import Path
from typing import Any

import pytest

from stoker.api.monitors import ServiceMonitor
from stoker.offline.manifests import read
from stoker.offline.world import world_of
from stoker.plan import kept_of
from stoker.ref import Ref, ref_of
from stoker.select.assets import Missing, Source
from stoker.select.mentions import MOST_VALUES, mentioned
from stoker.settings import Capabilities
from tests import builders
from tests.builders import typed

CASES = sorted((Path(__file__).parents[1] / "golden" / "prometheus").glob("*/in.yaml"))


class Asked:
    """Values of which there are none, and who asked for which."""

    def __init__(self) -> None:
        self.sources: set[Source] = set()

    def value(self, source: Source) -> str | Missing:
        """Nothing."""
        self.sources.add(source)
        return Missing(source, object_exists=False)

    def all_of(self, _ref: Ref) -> dict[str, str | bytes]:
        """Nothing."""
        return {}


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.parent.name)
def test_whatever_is_asked_for_was_mentioned(case: Path) -> None:
    """So all of it can be read before the first is judged, and no later."""
    world = world_of(read(["-"], io.StringIO(case.read_text().replace("$VERSION", "v3.5.0"))))
    for workload in world.workloads:
        for resource in world.resources:
            asked = Asked()
            kept = kept_of(workload, Capabilities(), Asked(), None)
            kept.put_all({ref_of(resource): resource}, asked)
            named = {each.ref for each in asked.sources}
            assert named <= mentioned(resource.spec, resource.metadata.namespace or "")


def monitor(*endpoints: dict[str, Any]) -> ServiceMonitor:
    """A ServiceMonitor in the namespace of a shop."""
    return typed(ServiceMonitor, "web", builders.endpoints(*endpoints))


def test_all_ways_to_name_an_object_are_known() -> None:
    """In lists and mappings, too; one without a name is none."""
    authority = {"ca": {"configMap": {"name": "ca", "key": "k"}}}
    found = monitor(
        {"bearerTokenSecret": {"name": "token", "key": "k"}, "tlsConfig": authority},
        {"proxyConnectHeader": {"X-A": [{"name": "header", "key": "k"}]}},
        {"bearerTokenSecret": {"name": "", "key": ""}},
    )
    assert mentioned(found.spec, "shop") == {
        Ref("Secret", "shop", "token"),
        Ref("ConfigMap", "shop", "ca"),
        Ref("Secret", "shop", "header"),
    }


def test_of_a_large_resource_a_part_is_looked_at() -> None:
    """Looking must not cost what judging would."""
    tokens = [{"bearerTokenSecret": {"name": f"t-{at}", "key": "k"}} for at in range(MOST_VALUES)]
    few, many = monitor(*tokens[:1000]), monitor(*tokens)
    assert 0 < len(mentioned(few.spec, "shop")) < 1000
    assert mentioned(many.spec, "shop") == set()
