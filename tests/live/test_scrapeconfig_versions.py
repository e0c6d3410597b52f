"""ScrapeConfigs in three versions on a real API server, converted by the webhook."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from stoker.api.convert import ANNOTATION, converted
from stoker.api.crd import GROUP
from tests.builders import resource
from tests.live.test_webhook import Site, path_of
from tools.api import ApiError
from tools.cluster import Cluster
from tools.crds import install_crds
from tools.waiting import until

VERSIONS = ("v1alpha1", "v1beta1", "v1")
OLD: dict[str, Any] = {
    "scheme": "HTTPS",
    "proxyUrl": "http://proxy:3128",
    "relabelings": [{"action": "LabelMap", "regex": "a"}, {"action": "keep", "regex": "b"}],
    "dockerSwarmSDConfigs": [{"role": "Tasks", "host": "tcp://docker:2375"}],
    "consulSDConfigs": [{"server": "consul:8500", "tokenRef": {"name": "keys", "key": "token"}}],
}
SIGNED = {
    "clientID": {"secret": {"name": "keys", "key": "id"}},
    "tokenURL": "https://login/token",
    "grantType": "JWTBearer",
    "clientCertificateKey": {"name": "keys", "key": "pem"},
}


def config(name: str, version: str, **spec: Any) -> dict[str, Any]:
    """A ScrapeConfig."""
    return resource("ScrapeConfig", name, spec, version=version, namespace="default")


def serve(site: Site, *options: str) -> None:
    """Install what `stoker crds` prints; the API server of a test reaches no Services."""
    command = [sys.executable, "-m", "stoker", "crds", "scrapeconfig", "--no-descriptions"]
    command += ["--conversion-webhook", "stoker/stoker-webhook", *options]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    crd = yaml.load(printed, Loader=yaml.CSafeLoader)
    crd["spec"]["conversion"]["webhook"]["clientConfig"] = site.client("/convert")
    text = json.dumps(crd)
    site.cluster.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", input=text)


def read(site: Site, version: str, name: str = "") -> Any:
    """One ScrapeConfig, or all, in a version."""
    return site.cluster.api.get(path_of(f"{GROUP}/{version}", "scrapeconfigs", name))


def discovered(cluster: Cluster) -> set[str]:
    """The versions that clients are told of."""
    found = cluster.api.get(f"/apis/{GROUP}")["versions"]
    return {each["version"] for each in found}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A cluster with an object from before, whose API server then converts."""
    with Cluster.start(nodes=0) as cluster:
        install_crds(cluster, "scrapeconfig")
        made = Site(cluster, tmp_path_factory.mktemp("webhook"))
        until("the kind", lambda: not made.refusal(config("old", "v1alpha1", **OLD)))
        serve(made)
        until("the conversion", lambda: read(made, "v1")["items"])
        until("kubectl to know", lambda: discovered(cluster) == set(VERSIONS))
        yield made


def test_what_was_stored_before_is_read_in_every_version(site: Site) -> None:
    """Each shows what the conversion makes of it, and v1alpha1 what was written."""
    stored = config("old", "v1alpha1", **OLD)
    for version in VERSIONS:
        expected = converted(stored, f"{GROUP}/{version}").object
        found = read(site, version, "old")
        assert found["spec"] == expected["spec"]
        assert found["apiVersion"] == f"{GROUP}/{version}"
    assert json.loads(read(site, "v1", "old")["metadata"]["annotations"][ANNOTATION])


@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_written_in_one_version_is_read_in_the_others(site: Site, version: str) -> None:
    """And comes back as it was written, after it was stored as v1; lists have all of them."""
    given = converted(config(f"as-{version}", "v1alpha1", **OLD), f"{GROUP}/{version}").object
    name = given["metadata"]["name"]
    site.put(given)
    for other in VERSIONS:
        expected = converted(given, f"{GROUP}/{other}").object
        assert read(site, other, name)["spec"] == expected["spec"]
        assert name in {one["metadata"]["name"] for one in read(site, other)["items"]}
    assert read(site, version, name)["spec"] == given["spec"]


def test_an_edit_in_v1_keeps_the_spelling_of_v1alpha1(site: Site) -> None:
    """Of what was not edited; what was is written in the usual way."""
    site.put(config("edited", "v1alpha1", **OLD))
    seen = read(site, "v1", "edited")
    seen["spec"]["scheme"] = "HTTP"
    seen["spec"]["jobName"] = "edited"
    where = path_of(f"{GROUP}/v1", "scrapeconfigs", "edited")
    site.cluster.api.request("PUT", where, seen)
    assert read(site, "v1alpha1", "edited")["spec"] == OLD | {"scheme": "http", "jobName": "edited"}


def test_annotations_that_leave_no_room_fail_no_list(site: Site) -> None:
    """The API server takes 256 KiB of them, and ours come to those of the user."""
    steps = [{"action": "Keep", "regex": str(number)} for number in range(1500)]
    full = config("full", "v1alpha1", relabelings=steps)
    full["metadata"]["annotations"] = {"mine": "x" * 200_000}
    site.put(full)
    for version in VERSIONS:
        assert "full" in {one["metadata"]["name"] for one in read(site, version)["items"]}
    found = read(site, "v1", "full")
    assert found["spec"]["relabelings"] == steps
    assert found["metadata"]["annotations"] == full["metadata"]["annotations"]
    site.cluster.api.request("DELETE", path_of(f"{GROUP}/v1", "scrapeconfigs", "full"))


def test_v1_says_and_refuses_what_v1alpha1_could_not(site: Site) -> None:
    """Signed tokens need no client secret; two credentials of a discovery are refused at once."""
    signed = config("signed", "v1", oauth2=SIGNED)
    assert site.refusal(signed) == ""
    assert "clientSecret" not in read(site, "v1alpha1", "signed")["spec"]["oauth2"]
    plain = {name: SIGNED[name] for name in ("clientID", "tokenURL")}
    assert "clientSecret is needed" in site.refusal(config("plain", "v1", oauth2=plain))
    both = {"url": "http://list", "oauth2": SIGNED, "authorization": {"type": "Bearer"}}
    said = site.refusal(config("both", "v1", httpSDConfigs=[both]))
    assert "authorization and oauth2 exclude each other" in said
    assert "scheme" in site.refusal(config("lower", "v1", scheme="http"))


def test_v1alpha1_answers_with_a_deprecation_warning(site: Site) -> None:
    """Kubectl shows the API server's warning, which names the version to use."""
    for version, warned in (("v1alpha1", True), ("v1beta1", False), ("v1", False)):
        words = site.cluster.kubectl("get", f"scrapeconfigs.{version}.{GROUP}").stderr
        assert (f"use {GROUP}/v1 ScrapeConfig" in words) is warned


def test_a_version_can_be_taken_out_of_service(site: Site) -> None:
    """`--not-served`: what was stored in it is still read in the others."""
    serve(site, "--not-served", "scrapeconfigs/v1alpha1")

    def gone() -> bool:
        try:
            read(site, "v1alpha1", "old")
        except ApiError as error:
            return error.status == 404
        return False

    until("v1alpha1 to be gone", gone)
    assert read(site, "v1", "old")["spec"]["proxyURL"] == OLD["proxyUrl"]
