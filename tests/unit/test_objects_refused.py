"""What may be written though the API server refuses what runs the pods."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from stoker.api.core import Object
from stoker.api.decode import convert
from stoker.errors import StokerError, WorkloadError
from stoker.kube.errors import ApiError, Conflict, Forbidden, Invalid, Unavailable
from stoker.operator.checks import AwaitedError
from stoker.operator.objects import ObjectWriter, RefusedObjects, can_do_with, is_refusal
from stoker.plan.existing import Running
from stoker.ref import Ref, ref_of_manifest


def a_set(name: str = "main", *secrets: str, version: str = "3.1.0") -> Object:
    """A StatefulSet whose pods mount these Secrets."""
    volumes = [{"name": each, "secret": {"secretName": each}} for each in secrets]
    template = {
        "metadata": {"labels": {"app.kubernetes.io/version": version}},
        "spec": {"volumes": volumes},
    }
    metadata = {"name": name, "namespace": "shop"}
    return {"kind": "StatefulSet", "metadata": metadata, "spec": {"template": template}}


def an_object(kind: str, name: str) -> Object:
    """Something else."""
    return {"kind": kind, "metadata": {"name": name, "namespace": "shop"}}


def refusal() -> Invalid:
    """What the server says to an object that is wrong."""
    return Invalid("patch", "/apis/x", "spec.y: wrong", status=422)


class Cluster:
    """The writer and the caches, of a cluster that refuses some names."""

    def __init__(self, existing: list[Object], *, checks: set[str], writes: set[str]) -> None:
        self.asked: list[str] = []
        self.written: list[str] = []
        self.most = self._at_once = 0
        self._checks, self._writes = checks, writes
        by_name = {each["metadata"]["name"]: each for each in existing}
        store: Any = SimpleNamespace(
            get=lambda _, name: convert(Running, by_name[name]) if name in by_name else None
        )
        owned = dict.fromkeys(("StatefulSet", "DaemonSet"), SimpleNamespace(store=store))
        caches = SimpleNamespace(
            owned=owned,
            exists=lambda identity: identity.name in by_name,
            is_absent=lambda identity: identity.name not in by_name,
        )
        self.tools: Any = SimpleNamespace(writer=self, caches=caches, client=None)

    async def check(self, wanted: Object, *, alone: bool) -> None:
        """Refuse what is to be refused beforehand; what is alone is not tried."""
        self.asked.append(wanted["metadata"]["name"])
        if alone:
            return
        if wanted["metadata"]["name"] in self._checks:
            raise refusal()

    def is_replacing(self, _: object) -> bool:
        """Nothing is."""
        return False

    async def write(self, wanted: Object) -> None:
        """Refuse what is to be refused, and note the rest."""
        name = wanted["metadata"]["name"]
        self._at_once += 1
        self.most = max(self.most, self._at_once)
        await asyncio.sleep(0)
        self._at_once -= 1
        if name in self._writes:
            raise refusal()
        self.written.append(name)

    def put(self, *wanted: Object, problem: WorkloadError | None = None) -> RefusedObjects:
        """Write these."""
        return asyncio.run(ObjectWriter(self.tools).write(wanted, problem))


CONFIG = an_object("Secret", "config")


def test_what_is_beside_a_refused_set_is_written() -> None:
    """Its pods read the same and are of the same version: they can do with the configuration."""
    cluster = Cluster([a_set("main", "config", "old")], checks={"main"}, writes=set())
    refused = cluster.put(CONFIG, an_object("Service", "s"), a_set("main", "config"))
    assert cluster.written == ["config", "s"]
    assert "StatefulSet shop/main" in refused.message
    assert "/apis/x" in refused.message
    assert "spec.y: wrong" in refused.message
    # What they mount must stay with them, whether or not it is wanted.
    assert Ref("Secret", "shop", "old") in refused.mounted


@pytest.mark.parametrize(
    ("existing", "wanted"),
    [
        ([a_set("main", "config")], [a_set("main", "config", "config-1")]),
        ([a_set("main", version="3.0.0")], [a_set("main")]),
        ([a_set("other")], [a_set("other"), a_set("main")]),
    ],
    ids=["a further Secret", "another version", "a shard that is missing"],
)
def test_nothing_is_written_that_pods_could_not_do_with(
    existing: list[Object], wanted: list[Object]
) -> None:
    """Then all stays as it is, as a configuration for others is worse than an old one."""
    cluster = Cluster(existing, checks={"main"}, writes=set())
    with pytest.raises(Invalid):
        cluster.put(CONFIG, *wanted)
    assert cluster.written == []


def test_where_there_are_no_pods_yet_nobody_can_misread_anything() -> None:
    """All but what runs them is made."""
    cluster = Cluster([], checks={"main"}, writes={"main"})
    assert cluster.put(CONFIG, a_set("main")).errors
    assert cluster.written == ["config"]
    problem = WorkloadError("spec.storage", "there is no StorageClass `x`")
    told = Cluster([], checks=set(), writes=set()).put(a_set("a"), a_set("b"), problem=problem)
    assert told.message.count("StorageClass") == 1
    assert told.errors.keys() == {ref_of_manifest(a_set("a")), ref_of_manifest(a_set("b"))}


@pytest.mark.parametrize(
    ("existing", "asked"),
    [([], []), ([an_object("Service", "s")], []), ([CONFIG], ["main"])],
    ids=["nothing", "what is not mounted", "a configuration"],
)
def test_a_set_is_looked_for_only_if_there_is_something_to_mount(
    existing: list[Object], asked: list[str]
) -> None:
    """One that somebody took the label from is not in the caches, though its pods read on."""
    cluster = Cluster(existing, checks=set(), writes=set())
    cluster.put(CONFIG, an_object("Service", "s"), a_set("main"))
    assert cluster.asked == asked


def test_nothing_relies_on_what_was_refused() -> None:
    """Not a configuration on its files, nor pods on what they mount; a Service is neither."""
    wanted = (an_object("Secret", "files"), CONFIG, an_object("Service", "s"), a_set("main"))
    cluster = Cluster([], checks=set(), writes={"files"})
    assert cluster.put(*wanted).stopped
    assert cluster.written == ["s"]
    cluster = Cluster([], checks=set(), writes={"s"})
    assert not cluster.put(*wanted).stopped
    assert cluster.written == ["files", "config", "main"]


def test_rules_that_are_refused_are_those_of_before() -> None:
    """As long as there are some; otherwise pods would wait for the ConfigMap."""
    rules = an_object("ConfigMap", "rules")
    for existing, written in (([rules], ["config", "main"]), ([], [])):
        cluster = Cluster(existing, checks=set(), writes={"rules"})
        cluster.put(rules, CONFIG, a_set("main"))
        assert cluster.written == written


def test_config_maps_are_written_at_once_and_what_comes_after_waits_for_them() -> None:
    """Four of them, in their place between what is before and behind; one that fails stops none."""
    maps = [an_object("ConfigMap", f"rules-{number}") for number in range(6)]
    cluster = Cluster([*maps], checks=set(), writes={"rules-1"})
    cluster.put(an_object("Secret", "files"), *maps, CONFIG)
    assert cluster.most == 4
    assert cluster.written[0] == "files"
    assert cluster.written[-1] == "config"
    assert sorted(cluster.written[1:-1]) == [f"rules-{number}" for number in (0, 2, 3, 4, 5)]


def test_what_may_go_well_the_next_time_is_no_refusal() -> None:
    """Only what is about the object is."""
    for kind in (Unavailable, Conflict):
        assert not is_refusal(kind("patch", "/x", "no"))
    assert not is_refusal(ApiError("patch", "/x", "no", status=0))
    for error in (refusal(), Forbidden("patch", "/x", "no"), ApiError("a", "b", "c", status=400)):
        assert is_refusal(error)


def test_configmaps_and_projected_volumes_are_mounted_too() -> None:
    """All ways in which a pod gets to read them."""
    sources = [{"secret": {"name": "a"}}, {"configMap": {"name": "b"}}]
    wanted = a_set("main")
    wanted["spec"]["template"]["spec"]["volumes"] = [{"projected": {"sources": sources}}]
    assert not can_do_with(convert(Running, a_set("main", "a")), wanted)
    assert can_do_with(convert(Running, wanted), a_set("main", "a"))


@pytest.mark.parametrize("again", [refusal(), AwaitedError("spec.storage", "cannot grow yet")])
def test_what_may_go_well_the_next_time_is_not_hidden_by_what_cannot(again: StokerError) -> None:
    """No event tells when it would: the workload has to be tried again, whatever else is wrong."""
    wrong = WorkloadError("spec.serviceName", "selects other pods")
    for errors in ((wrong, again), (again, wrong)):
        named = {Ref("Secret", "shop", str(number)): each for number, each in enumerate(errors)}
        assert RefusedObjects(named).foremost is again
    assert RefusedObjects({Ref("Secret", "shop", "a"): wrong}).foremost is wrong
    assert RefusedObjects().foremost is None
