"""ScrapeConfigs in three versions: definitions, and the commands that read manifests."""

import base64
from pathlib import Path
from typing import Any

import pytest
import yaml

from stoker.__main__ import main
from stoker.api.admit import admit
from stoker.api.convert import converted, typed
from stoker.api.crd import GROUP
from stoker.api.schema import schema_of
from stoker.api.scrapeconfig import SCRAPE_CONFIG, v1alpha1
from stoker.api.scrapeconfig.graduated import differences
from stoker.web.reviews import Reviewer, rules_reader
from tests.builders import thing
from tests.unit.discovery_examples import CREDENTIALS, EXAMPLES, HTTP, LOGINS

Captured = pytest.CaptureFixture[str]
VERSIONS = ("v1alpha1", "v1beta1", "v1")
WEBHOOK = ("--conversion-webhook", "stoker/stoker-webhook")
PAGE = Path(__file__).parents[2] / "docs/scrapeconfig-versions.md"


def crds(capsys: Captured, *options: str) -> dict[str, Any]:
    """The definitions that `stoker crds` prints, by plural."""
    assert main(["crds", "--no-descriptions", *options]) == 0
    printed = yaml.load_all(capsys.readouterr().out, Loader=yaml.CSafeLoader)
    return {one["spec"]["names"]["plural"]: one["spec"] for one in printed}


def told(capsys: Captured, *options: str) -> str:
    """What `stoker crds` says against its options."""
    assert main(["crds", *options]) == 2
    answer = capsys.readouterr()
    assert answer.out == ""
    return answer.err


def versions(spec: dict[str, Any]) -> dict[str, tuple[bool, bool]]:
    """Whether each version of a definition is served, and whether it is stored."""
    return {one["name"]: (one["served"], one["storage"]) for one in spec["versions"]}


def test_without_a_webhook_one_version_is_served(capsys: Captured) -> None:
    """The API server would drop renamed fields; which version it is can be chosen."""
    plain = crds(capsys, "scrapeconfig")["scrapeconfigs"]
    assert versions(plain) == {"v1alpha1": (True, True)}
    assert "conversion" not in plain
    assert "deprecated" not in plain["versions"][0]
    for name in VERSIONS:
        chosen = crds(capsys, "scrapeconfig", "--scrapeconfig-version", name)["scrapeconfigs"]
        assert versions(chosen) == {name: (True, True)}


def test_with_a_webhook_all_versions_are_served(capsys: Captured, tmp_path: Path) -> None:
    """v1 is stored, v1alpha1 is deprecated, and the API server knows whom to ask and to trust."""
    bundle = b"-----BEGIN CERTIFICATE-----\nMA==\n-----END CERTIFICATE-----\n"
    (tmp_path / "ca.crt").write_bytes(bundle)
    kinds = ("scrapeconfig", "alertmanagerconfig", "probe")
    given = crds(capsys, *kinds, *WEBHOOK, "--ca-bundle", str(tmp_path / "ca.crt"))
    scrape, alert = given["scrapeconfigs"], given["alertmanagerconfigs"]
    assert versions(scrape) == dict(
        zip(VERSIONS, [(True, False), (True, False), (True, True)], strict=True)
    )
    assert versions(alert) == {"v1alpha1": (True, True), "v1beta1": (True, False)}
    warnings = [one.get("deprecationWarning") for one in scrape["versions"]]
    assert "use monitoring.coreos.com/v1 ScrapeConfig" in str(warnings[0])
    assert warnings[1:] == [None, None]
    service = {"namespace": "stoker", "name": "stoker-webhook", "port": 443, "path": "/convert"}
    for spec in (scrape, alert):
        assert spec["conversion"]["strategy"] == "Webhook"
        client = spec["conversion"]["webhook"]["clientConfig"]
        assert client == {"service": service, "caBundle": base64.b64encode(bundle).decode()}
    assert "conversion" not in given["probes"]


def test_what_is_stored_and_served_can_be_chosen(capsys: Captured) -> None:
    """As a migration needs it; port and path of the Service too."""
    options = ("--conversion-webhook", "a/b:8443/x/y", "--storage-version", "scrapeconfigs=v1beta1")
    given = crds(capsys, "scrapeconfig", *options, "--not-served", "scrapeconfigs/v1alpha1")[
        "scrapeconfigs"
    ]
    assert versions(given) == {
        "v1alpha1": (False, False),
        "v1beta1": (True, True),
        "v1": (True, False),
    }
    service = given["conversion"]["webhook"]["clientConfig"]["service"]
    assert service == {"namespace": "a", "name": "b", "port": 8443, "path": "/x/y"}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--scrapeconfig-version v2", "ScrapeConfig has no version `v2`; there are v1alpha1, v1be"),
        ("--scrapeconfig-version v1 probe", "no ScrapeConfig is printed"),
        ("--scrapeconfig-version v1 --conversion-webhook a/b", "--conversion-webhook serves all"),
        ("--ca-bundle x", "--ca-bundle needs --conversion-webhook"),
        ("--storage-version scrapeconfigs=v1", "--storage-version needs --conversion-webhook"),
        ("--not-served scrapeconfigs/v1", "--not-served needs --conversion-webhook"),
        ("--conversion-webhook stoker", "is not NAMESPACE/SERVICE[:PORT][/PATH]"),
        ("--conversion-webhook a/b:0", "is not NAMESPACE/SERVICE[:PORT][/PATH]"),
        ("--conversion-webhook a/b:99999", "is not NAMESPACE/SERVICE[:PORT][/PATH]"),
        ("--conversion-webhook A_B/c", "is not NAMESPACE/SERVICE[:PORT][/PATH]"),
        ("--conversion-webhook a/b --ca-bundle nowhere.crt", "nowhere.crt: No such file"),
        (f"--conversion-webhook a/b --ca-bundle {PAGE}", "holds no certificate"),
        ("--conversion-webhook a/b --storage-version scrapeconfigs=v3", "has no version `v3`"),
        ("--conversion-webhook a/b --storage-version v1", "is not RESOURCE=VERSION"),
        ("--conversion-webhook a/b --not-served probes", "is not RESOURCE/VERSION"),
        ("--conversion-webhook a/b probe --not-served scrapeconfigs/v1", "is not RESOURCE/VERSION"),
        ("--conversion-webhook a/b --not-served probes/v1", "no version of probes would be left"),
        (
            "--conversion-webhook a/b --storage-version scrapeconfigs=v1"
            " --storage-version scrapeconfigs=v1beta1",
            "is stored in one version only",
        ),
    ],
)
def test_options_that_make_no_sense_are_refused(capsys: Captured, options: str, words: str) -> None:
    """With one sentence that says what is wrong."""
    said = told(capsys, *options.split())
    assert said.startswith("stoker crds: ")
    assert words in said
    assert said.count("\n") == 1


WORKLOAD = {
    "apiVersion": f"{GROUP}/v1",
    "kind": "Prometheus",
    "metadata": {"name": "main", "namespace": "shop"},
    "spec": {"version": "v3.5.0", "scrapeConfigSelector": {}},
}
SPEC: dict[str, Any] = {
    "scheme": "HTTPS",
    "proxyUrl": "http://proxy:3128",
    "staticConfigs": [{"targets": ["a:1"]}],
    "relabelings": [{"action": "LabelDrop", "regex": "x"}],
    "dockerSwarmSDConfigs": [{"role": "Tasks", "host": "tcp://docker:2375"}],
    "lightSailSDConfigs": [{"region": "eu", "externalID": "id"}],
}


def config(version: str, **spec: Any) -> dict[str, Any]:
    """A ScrapeConfig in a version; the spec is v1alpha1's."""
    return converted(thing("ScrapeConfig", "it", spec=spec), f"{GROUP}/{version}").object


def write(folder: Path, *objects: dict[str, Any]) -> str:
    """Write manifests to a file."""
    (folder / "all.yaml").write_text(yaml.safe_dump_all(objects))
    return str(folder / "all.yaml")


def rendered(folder: Path, capsys: Captured, given: dict[str, Any]) -> tuple[str, str]:
    """The configuration that a ScrapeConfig makes, and what is said about it."""
    main(["render", "--config-only", write(folder, WORKLOAD, given)])
    answer = capsys.readouterr()
    return answer.out, answer.err


def test_every_version_renders_the_same(tmp_path: Path, capsys: Captured) -> None:
    """What is written as v1 works like what was written as v1alpha1."""
    texts = {rendered(tmp_path, capsys, config(version, **SPEC))[0] for version in VERSIONS}
    assert len(texts) == 1
    text = texts.pop()
    for part in ("scheme: https", "role: tasks", "action: labeldrop", "proxy_url: http://proxy"):
        assert part in text


@pytest.mark.parametrize("version", VERSIONS)
def test_every_discovery_can_be_written_in_every_version(version: str) -> None:
    """With all of its fields: the schema takes it, and it becomes the same internal object."""
    declared = SCRAPE_CONFIG.version(version)
    assert declared
    items = schema_of(v1alpha1.ScrapeConfigSpec)["properties"]
    for field, (example, _) in EXAMPLES.items():
        shared = HTTP if example.keys() & LOGINS else HTTP | CREDENTIALS[2]
        known = items[field]["items"]["properties"]
        full = {name: item for name, item in shared.items() if name in known} | example
        given = config(version, **{field: [full]})
        admission = admit(declared, given)
        assert not admission.findings, field
        assert not admission.unknown, field
        assert spec_of(given) == spec_of(config("v1alpha1", **{field: [full]}))


def spec_of(given: dict[str, Any]) -> Any:
    """The spec that everything works with."""
    found: Any = typed(given)
    return found.spec


@pytest.mark.parametrize(
    ("version", "paths"),
    [
        ("v1alpha1", ("spec.proxyUrl", "spec.lightSailSDConfigs[0].externalID")),
        ("v1", ("spec.proxyURL", "spec.lightsailSDConfigs[0].externalID")),
    ],
)
def test_render_speaks_the_words_of_the_version(
    version: str, paths: tuple[str, str], tmp_path: Path, capsys: Captured
) -> None:
    """Of what is rejected, and of fields that the Prometheus does not know."""
    assert f"{paths[1]} " in rendered(tmp_path, capsys, config(version, **SPEC))[1]
    bad = config(version, **SPEC | {"proxyUrl": "http://a b"})
    assert f"{paths[0]}: " in rendered(tmp_path, capsys, bad)[1]


def test_lint_knows_the_fields_of_each_version(tmp_path: Path, capsys: Captured) -> None:
    """A name of another version is an unknown field, with the right one beside it."""
    for version in VERSIONS:
        assert main(["lint", write(tmp_path, config(version, **SPEC))]) == 0
    capsys.readouterr()
    stale = config("v1alpha1", **SPEC) | {"apiVersion": f"{GROUP}/v1"}
    assert main(["lint", "--strict", write(tmp_path, stale)]) == 1
    said = capsys.readouterr().out
    assert "spec.proxyUrl" in said
    assert "did you mean `proxyURL`?" in said
    assert "spec.dockerSwarmSDConfigs[0].role" in said


def test_the_webhook_validates_every_version() -> None:
    """The same mistake is refused at the path that the user wrote."""
    reviewer = Reviewer(rules_reader("legacy"))
    for version, name in (("v1alpha1", "proxyUrl"), ("v1beta1", "proxyURL"), ("v1", "proxyURL")):
        given = config(version, noProxy="a", staticConfigs=[{"targets": ["a:1"]}])
        request = {"uid": "1", "operation": "CREATE", "object": given}
        review = {
            "apiVersion": "admission.k8s.io/v1",
            "kind": "AdmissionReview",
            "request": request | {"kind": {"kind": "ScrapeConfig"}},
        }
        answer = reviewer.answer("/admission-scrapeconfigs/validate", review).body["response"]
        assert not answer["allowed"]
        assert f"spec.noProxy: needs `{name}`" in answer["status"]["message"]


def conversion(desired: str, *objects: Any) -> dict[str, Any]:
    """What the webhook answers to a request for a conversion."""
    request = {"uid": "1", "desiredAPIVersion": desired, "objects": list(objects)}
    review = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview"}
    answer = Reviewer(rules_reader("legacy")).answer("/convert", review | {"request": request})
    found: dict[str, Any] = answer.body["response"]
    return found


def test_a_list_is_converted_whole_though_one_object_is_a_mess() -> None:
    """It comes along as it is, in its place; the others are not the worse for it."""
    mess = config("v1alpha1") | {"spec": {"scheme": 7, "oauth2": [[]], "relabelings": "none"}}
    found = conversion(f"{GROUP}/v1", config("v1beta1", **SPEC), mess, config("v1alpha1", **SPEC))
    assert found["result"]["status"] == "Success"
    assert found["convertedObjects"] == [
        config("v1", **SPEC),
        mess | {"apiVersion": f"{GROUP}/v1"},
        config("v1", **SPEC),
    ]


def test_a_version_that_nobody_knows_is_named_in_the_answer() -> None:
    """The one that is asked for, or that an object claims to have."""
    found = conversion(f"{GROUP}/v7", config("v1"))["result"]
    assert found["status"] == "Failure"
    assert "request.desiredAPIVersion: there is no ScrapeConfig in" in found["message"]
    claimed = config("v1") | {"apiVersion": f"{GROUP}/v8"}
    found = conversion(f"{GROUP}/v1", config("v1alpha1"), claimed)["result"]
    assert (
        f"request.objects[1].apiVersion: there is no ScrapeConfig in `{GROUP}/v8`"
        in (found["message"])
    )


def test_the_page_of_the_versions_has_the_table() -> None:
    """It is the one that the conversion is made from; paste it anew if it changed."""
    assert differences() in PAGE.read_text()
