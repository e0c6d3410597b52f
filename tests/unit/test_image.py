"""The image and what it is made of, as far as they can be checked without a container engine."""

import json
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

from tools import sbom
from tools.lock import BUILDER, build_requirements

ROOT = Path(__file__).parents[2]
CONTAINERFILE = ROOT / "Containerfile"
USER = 65534


def instructions() -> list[tuple[str, str]]:
    """Each instruction with its argument, continued lines joined, comments left out."""
    lines = [line for line in CONTAINERFILE.read_text().splitlines() if not line.startswith("#")]
    joined = re.sub(r"\\\n", " ", "\n".join(lines))
    pairs = (line.split(maxsplit=1) for line in joined.splitlines() if line.strip())
    return [(name, " ".join(rest.split())) for name, rest in pairs]


def last_stage() -> dict[str, str]:
    """The instructions of what becomes the image."""
    made = instructions()
    start = max(index for index, (name, _) in enumerate(made) if name == "FROM")
    return dict(made[start:])


def test_the_base_is_pinned_and_can_be_named_by_digest() -> None:
    """One argument for both stages; its default names a version of Python and of the system."""
    made = instructions()
    base = dict(argument.split("=", 1) for name, argument in made if name == "ARG")["BASE"]
    assert re.fullmatch(r"python:3\.\d+-slim-[a-z]+", base)
    assert [argument for name, argument in made if name == "FROM"] == [
        "${BASE} AS build",
        "${BASE}",
    ]
    assert "latest" not in CONTAINERFILE.read_text()


def test_it_runs_as_nobody_by_number() -> None:
    """The user of the manifests; a name would not do for `runAsNonRoot`."""
    assert last_stage()["USER"] == f"{USER}:{USER}"
    for manifest in ("base/deployment.yaml", "webhook/base/deployment.yaml"):
        assert f"runAsUser: {USER}" in (ROOT / "deploy" / manifest).read_text()


def test_arguments_follow_the_command() -> None:
    """The entry point is the command itself, without a shell, so that it gets the signals."""
    assert json.loads(last_stage()["ENTRYPOINT"]) == ["/opt/stoker/bin/stoker"]


def test_it_has_the_reloader_where_pods_look_for_it(tmp_path: Path) -> None:
    """Whoever names the image for the reloader gets one: templates give a path, not a command."""
    made = tmp_path / "config-reloader"
    assert ("COPY", "--from=build /opt/config-reloader /bin/prometheus-config-reloader") in (
        instructions()
    )
    [written] = [
        argument for name, argument in instructions() if "> /opt/config-reloader" in argument
    ]
    here = written.replace("/opt/config-reloader", str(made))
    here = here.replace("/opt/stoker/bin/python", sys.executable)
    subprocess.run(["/bin/sh", "-c", here], check=True)
    answer = subprocess.run([made, "--help"], capture_output=True, text=True, check=True)
    assert "--config-envsubst-file" in answer.stdout


def test_only_what_is_locked_is_installed() -> None:
    """Everything by hash and as a wheel; nothing is compiled or written at run time."""
    runs = [argument for name, argument in instructions() if name == "RUN"]
    installs = [each for run in runs for each in run.split("&&") if " install " in each]
    assert len(installs) == 3
    for each in installs:
        own = "--no-index" in each and "--no-deps" in each
        assert own or ("--require-hashes" in each and "--only-binary=:all:" in each)
        assert "--no-cache-dir" in each
    assert "RUN" not in last_stage()
    assert "PYTHONDONTWRITEBYTECODE=1" in last_stage()["ENV"]


def test_what_is_copied_is_there_and_not_kept_out() -> None:
    """Sources exist, and .dockerignore lets them in, and nothing else."""
    sources = {
        word.rstrip("/").partition("/")[0]
        for name, argument in instructions()
        if name == "COPY" and "--from" not in argument
        for word in argument.split()[:-1]
    }
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    assert {line[1:] for line in lines if line.startswith("!")} == sources
    assert all((ROOT / each).exists() for each in sources)
    assert "*" in lines


def test_the_builder_is_locked_with_all_that_it_needs() -> None:
    """`requirements/build.txt` is the part of `requirements/dev.txt` that `make lock` takes."""
    dev = (ROOT / "requirements/dev.txt").read_text()
    assert (ROOT / "requirements/build.txt").read_text() == build_requirements(dev)
    asked = {re.split(r"[^\w-]", line)[0] for line in metadata.requires("hatchling") or ()}
    assert asked - {"tomli"} <= set(BUILDER)


def test_the_bill_of_materials_has_every_locked_package() -> None:
    """Valid CycloneDX 1.6: name, version, purl, hashes, license, and who needs whom."""
    made = sbom.document(sbom.pins(sbom.LOCKED.read_text()))
    locked = dict(re.findall(r"^([\w-]+)==(\S+)", sbom.LOCKED.read_text(), re.MULTILINE))
    assert {each["name"]: each["version"] for each in made["components"]} == locked
    assert (made["bomFormat"], made["specVersion"], made["version"]) == ("CycloneDX", "1.6", 1)
    refs = {each["bom-ref"] for each in made["components"]}
    assert len(refs) == len(locked)
    for each in made["components"]:
        assert each["type"] == "library"
        assert each["purl"] == f"pkg:pypi/{each['name']}@{each['version']}"
        assert each["hashes"]
        assert all(re.fullmatch(r"[0-9a-f]{64}", one["content"]) for one in each["hashes"])
    unknown = [each["name"] for each in made["components"] if not each.get("licenses")]
    # For Windows only, so it is not installed where this runs.
    assert set(unknown) <= {"colorama"}
    own = made["metadata"]["component"]["bom-ref"]
    assert {each["ref"] for each in made["dependencies"]} == refs | {own}
    assert all(set(each["dependsOn"]) <= refs for each in made["dependencies"])
    reached, waiting = set(), [own]
    needs = {each["ref"]: each["dependsOn"] for each in made["dependencies"]}
    while waiting:
        one = waiting.pop()
        if one not in reached:
            reached.add(one)
            waiting += needs[one]
    assert {each.partition("@")[0] for each in refs - reached} <= {"pkg:pypi/colorama"}


def test_the_same_lock_makes_the_same_document() -> None:
    """No dates, no random numbers: what changes between two documents has changed."""
    locked = sbom.pins(sbom.LOCKED.read_text())
    assert sbom.document(locked) == sbom.document(locked)
    assert "timestamp" not in json.dumps(sbom.document(locked))
