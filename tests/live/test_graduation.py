"""The whole way from v1alpha1 to v1 with the definitions as users have them.

`test_storage_version.py` looks at a migration that is stopped, refused and resumed beside a running
operator, on definitions that take anything. Here are the real ones: the API server drops fields
that a schema does not have, fills in defaults, and holds objects against the rules of each version.
Objects are written in an old version and must be the same at the end of each step.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from http import HTTPStatus
from pathlib import Path

import pytest
import yaml

from stoker.api.admit import admit
from stoker.api.convert import converted
from stoker.api.crd import GROUP, Kind
from stoker.api.kinds import kind_called
from stoker.api.schema import schema_of
from stoker.api.scrapeconfig import v1alpha1
from tests.live.operating import Object
from tests.live.test_storage_version import Command, Output, Store
from tests.live.test_webhook import Site, path_of
from tests.unit import test_amconfig_convert, test_scrapeconfig_convert
from tests.unit.discovery_examples import CREDENTIALS, EXAMPLES, HTTP, LOGINS
from tools.api import ApiError
from tools.cluster import Cluster
from tools.crds import install_crds

ROOT = Path(__file__).parents[2]
FILES = ("example/*.yaml", "tests/golden/prometheus/*/in.yaml")
# What the API server does not need to know, but reads for each change.
BRIEF = "--no-descriptions"
WEBHOOK = ("--conversion-webhook=stoker/stoker-webhook",)
# The new version of each kind.
NEWEST = {"ScrapeConfig": "v1", "AlertmanagerConfig": "v1beta1"}
STORED = ("--storage-version=alertmanagerconfigs=v1beta1",)
MADE_UP = 60
# The rule that an object from before breaks.
RULE = "spec: proxyFromEnvironment excludes proxyURL and noProxy"
BROKEN = {"proxyFromEnvironment": True, "proxyUrl": "http://proxy:3128", "scheme": "HTTPS"}
BINDING = {
    "group": GROUP,
    "resource": "prometheuses",
    "name": "main",
    "namespace": "default",
    "conditions": [
        {
            "type": "Accepted",
            "status": "True",
            "lastTransitionTime": "2026-01-31T12:00:00Z",
            "observedGeneration": 1,
        }
    ],
}

NO_YAML = "error converting YAML to JSON"


def kind_of(given: Object) -> Kind:
    """The declaration of an object's kind."""
    found = kind_called(given["kind"])
    assert found
    return found


def written_by_users() -> Iterator[Object]:
    """What the examples and golden files of this repository have in an old version."""
    for pattern in FILES:
        for file in sorted(ROOT.glob(pattern)):
            for each in yaml.load_all(file.read_text(), Loader=yaml.CSafeLoader):
                if each and each["kind"] in NEWEST and each["apiVersion"].endswith("/v1alpha1"):
                    yield each


def full_discoveries() -> Iterator[Object]:
    """Each discovery with everything that it can say, with each way to log in in turn."""
    items = schema_of(v1alpha1.ScrapeConfigSpec)["properties"]
    for number, (field, (example, _)) in enumerate(EXAMPLES.items()):
        login = {} if example.keys() & LOGINS else CREDENTIALS[number % len(CREDENTIALS)]
        known = items[field]["items"]["properties"]
        shared = {name: item for name, item in (HTTP | login).items() if name in known}
        yield {"kind": "ScrapeConfig", "spec": {field: [shared | example]}}


def everything() -> dict[tuple[str, str], Object]:
    """Objects of v1alpha1 that its API server takes, by kind and name."""
    found = [
        *written_by_users(),
        *full_discoveries(),
        {"kind": "ScrapeConfig", "spec": BROKEN},
        *test_scrapeconfig_convert.objects("v1alpha1", MADE_UP),
        *test_amconfig_convert.objects("v1alpha1", MADE_UP // 3),
    ]
    made = {}
    for number, each in enumerate(found):
        name = "broken" if each["spec"] is BROKEN else f"it-{number}"
        one = {
            "apiVersion": f"{GROUP}/v1alpha1",
            "kind": each["kind"],
            "metadata": {"name": name, "namespace": "default", "labels": {"number": str(number)}},
            "spec": each["spec"],
        }
        version = kind_of(one).version("v1alpha1")
        assert version
        admitted = admit(version, one)
        if not (admitted.findings or admitted.unknown):
            # With the defaults of the schema.
            made[each["kind"], name] = one | {"spec": admitted.stored["spec"]}
    return made


def breaks_a_rule(given: Object) -> bool:
    """Whether its new version would not take a new object like this one."""
    newest = NEWEST[given["kind"]]
    version = kind_of(given).version(newest)
    assert version
    return bool(admit(version, converted(given, f"{GROUP}/{newest}").object).findings)


class Walk:
    """A cluster on its way, and what users have written there."""

    def __init__(self, site: Site) -> None:
        self.site, self.cluster, self.store = site, site.cluster, Store(site.cluster)
        self.given = everything()
        self.first: dict[tuple[str, str], Object] = {}

    def write(self) -> None:
        """Everything that users have, with what an operator says about some of it."""
        for kind in NEWEST:
            self.cluster.until("the kind", partial(self.is_served, "v1alpha1", kind))
        for one in self.given.values():
            self._write(one)
        for kind, name in self.given:
            if name == "broken" or name.endswith("0"):
                where = self._path(kind, "v1alpha1", f"{name}/status?fieldManager=operator")
                said = {"status": {"bindings": [BINDING]}}
                self.cluster.api.request("PATCH", where, said, "application/merge-patch+json")
        self.first = self.read("v1alpha1", *NEWEST)

    def _write(self, one: Object) -> None:
        """Apply an object, or create it if it has characters that YAML has not."""
        if NO_YAML in (said := self.site.refusal(one)):
            self.cluster.api.request("POST", self._path(one["kind"], "v1alpha1"), one)
        else:
            assert not said, one["metadata"]["name"]

    def serve(self, *options: str, kinds: tuple[str, ...] = tuple(NEWEST)) -> None:
        """Install what `stoker crds` prints; the API server of a test reaches no Services."""
        command = [sys.executable, "-m", "stoker", "crds", *map(str.lower, kinds), BRIEF, *options]
        printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        crds = list(yaml.load_all(printed, Loader=yaml.CSafeLoader))
        for each in crds:
            if "conversion" in each["spec"]:
                client = self.site.client("/convert")
                if each["spec"]["names"]["kind"] == "ScrapeConfig":
                    del client["caBundle"]
                each["spec"]["conversion"]["webhook"]["clientConfig"] = client
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": crds})
        self.cluster.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", input=text)

    def trust(self) -> None:
        """Have somebody else write the webhook's authority, as a script or cert-manager does."""
        client = {"caBundle": self.site.client("/convert")["caBundle"]}
        conversion = {"webhook": {"clientConfig": client}}
        self.store.patch("scrapeconfigs", {"spec": {"conversion": conversion}})

    def read(self, version: str, *kinds: str) -> dict[tuple[str, str], Object]:
        """All objects of these kinds in a version, by kind and name."""
        found: dict[tuple[str, str], Object] = {}
        for kind in kinds:
            # After a change of a definition the API server may say: in a moment.
            path = self._path(kind, version)
            listed = self.cluster.until("a list", partial(self.cluster.api.get, path))
            found |= {(kind, each["metadata"]["name"]): each for each in listed["items"]}
        return found

    def names(self, kind: str) -> set[str]:
        """The objects of a kind that users have written."""
        return {name for of, name in self.given if of == kind}

    def is_served(self, version: str, kind: str) -> bool:
        """Whether objects can be had in a version now."""
        return bool(self.cluster.api.get(self._path(kind, version)))

    def is_gone(self, version: str, kind: str) -> bool:
        """Whether a version is served no longer."""
        try:
            return not self.is_served(version, kind)
        except ApiError as error:
            return error.status == HTTPStatus.NOT_FOUND

    def is_complete(self, version: str, *kinds: str) -> None:
        """See that each object is what users wrote and the operator said, in a version's words."""
        found = self.read(version, *kinds)
        assert found.keys() == {(kind, name) for kind in kinds for name in self.names(kind)}
        for key, each in found.items():
            expected = converted(self.first[key], each["apiVersion"]).object
            assert each["spec"] == expected["spec"], key
            assert each.get("status") == expected.get("status"), key
            for name in ("uid", "generation", "labels", "annotations"):
                assert each["metadata"].get(name) == expected["metadata"].get(name), (key, name)
            if version == "v1alpha1":
                assert each["spec"] == self.given[key]["spec"], key

    def refusal(self, version: str, name: str, spec: Object) -> str:
        """What the API server says against a change of a ScrapeConfig."""
        path = self._path("ScrapeConfig", version, f"{name}?dryRun=All")
        try:
            patch = {"spec": spec}
            self.cluster.api.request("PATCH", path, patch, "application/merge-patch+json")
        except ApiError as error:
            return str(error)
        return ""

    def is_applied(self, found: Object) -> bool:
        """Whether an object can be applied as it is, by whoever applied it at first."""
        own = {"name": found["metadata"]["name"], "namespace": "default"}
        applied = {name: found[name] for name in ("apiVersion", "kind", "spec")}
        said = self.site.refusal(applied | {"metadata": own})
        return not said or NO_YAML in said

    def _path(self, kind: str, version: str, name: str = "") -> str:
        return path_of(f"{GROUP}/{version}", f"{kind.lower()}s", name)


@pytest.fixture(scope="module")
def walk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Walk]:
    """A control plane of its own, with objects from before, and then all versions of the kinds."""
    with Cluster.start(nodes=0) as cluster:
        install_crds(cluster, *map(str.lower, NEWEST), BRIEF)
        made = Walk(Site(cluster, tmp_path_factory.mktemp("webhook")))
        made.write()
        made.serve(*WEBHOOK, *STORED)
        made.trust()
        for kind, newest in NEWEST.items():
            cluster.until("the conversion", partial(made.is_served, newest, kind))
        yield made


def test_nothing_is_lost_from_the_first_version_to_the_last_alone(
    walk: Walk, capsys: Output
) -> None:
    """Read as each version, stored anew, and read when all that was there before is gone."""
    written = {name for (kind, _), each in walk.given.items() for name in each["spec"]}
    assert written >= schema_of(v1alpha1.ScrapeConfigSpec)["properties"].keys()
    walk.is_complete("v1alpha1", *NEWEST)
    walk.is_complete("v1beta1", *NEWEST)
    walk.is_complete("v1", "ScrapeConfig")

    migrate = Command(walk.cluster.kubeconfig, capsys)
    migrates(walk, migrate)
    walk.is_complete("v1alpha1", *NEWEST)
    assert not walk.refusal("v1", "broken", {"scheme": "HTTPS"})
    assert RULE.removeprefix("spec: ") in walk.refusal("v1", "broken", {"scheme": "HTTP"})

    unserved = ("scrapeconfigs/v1alpha1", "scrapeconfigs/v1beta1", "alertmanagerconfigs/v1alpha1")
    walk.serve(*WEBHOOK, *STORED, *(f"--not-served={each}" for each in unserved))
    for kind in NEWEST:
        walk.cluster.until("v1alpha1 to go", partial(walk.is_gone, "v1alpha1", kind))
    # Now `managedFields` are to be put in order, which is another way through the rules.
    code, said = migrate()
    assert (code, RULE in said) == (0, True)
    walk.store.patch("scrapeconfigs", {"spec": {"conversion": None}})
    walk.serve("--scrapeconfig-version=v1", kinds=("ScrapeConfig",))
    assert walk.site.webhook.stop() == 0
    walk.is_complete("v1", "ScrapeConfig")
    walk.is_complete("v1beta1", "AlertmanagerConfig")
    assert "nothing to do" in migrate("scrapeconfig")[1]
    # Nobody needs the webhook any more, not even who applies what was applied as v1alpha1.
    for each in walk.read("v1", "ScrapeConfig").values():
        walk.cluster.until("an apply", partial(walk.is_applied, each))


def migrates(walk: Walk, migrate: Command) -> None:
    """Store all objects in the new versions; ScrapeConfigs are tried, stopped half-way, resumed."""
    plural, mine = "scrapeconfigs", walk.names("ScrapeConfig")
    code, said = migrate(plural, "--dry-run")
    assert (code, f"{len(mine)} of {len(mine)} objects would be" in said) == (0, True)
    assert broken(said) == {
        name for name in mine if breaks_a_rule(walk.given["ScrapeConfig", name])
    }
    assert walk.store.versions(plural) == {"v1alpha1": len(mine)}
    assert migrate.ended_by(signal.SIGINT, walk.store, plural)[0] == 130
    assert 0 < walk.store.versions(plural)["v1"] < len(mine)
    assert migrate()[0] == 0
    for kind, newest in NEWEST.items():
        plural = f"{kind.lower()}s"
        assert walk.store.versions(plural) == {newest: len(walk.names(kind))}
        assert walk.store.said(plural) == [newest]


def broken(said: str) -> set[str]:
    """The objects that a report names for rules that they break."""
    _, _, listed = said.partition("break a rule")
    lines = [line.strip() for line in listed.splitlines()[1:]]
    return {line.partition(":")[0].removeprefix("default/") for line in lines if "/" in line}
