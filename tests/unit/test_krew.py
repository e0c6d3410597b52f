"""`kubectl stoker` by krew: the manifest is one, and names what is in the archive."""

import gzip
import hashlib
import io
import os
import re
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from tools.release import parts

ROOT = Path(__file__).parents[2]


@pytest.fixture
def made(tmp_path: Path) -> tuple[dict[str, Any], bytes]:
    """The manifest and the archive of a release, with a wheel that is none."""
    target = tmp_path / "dist"
    target.mkdir()
    (target / "stoker-9.8.7-py3-none-any.whl").write_text("wheel")
    parts._plugin(ROOT, "9.8.7", target)
    text = (target / "stoker-krew-9.8.7.yaml").read_text()
    return yaml.safe_load(text), (target / "stoker-krew-9.8.7.tar.gz").read_bytes()


def unpacked(content: bytes, folder: Path) -> Path:
    """Where krew would unpack an archive to."""
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(content))) as archive:
        archive.extractall(folder, filter="data")
    return folder / "stoker"


def test_the_manifest_is_one_that_krew_takes(made: tuple[dict[str, Any], bytes]) -> None:
    """Kind, name, a version that is one, and for each platform an archive with its checksum."""
    plugin, content = made
    assert plugin["apiVersion"] == "krew.googlecontainertools.github.com/v1alpha2"
    assert (plugin["kind"], plugin["metadata"]) == ("Plugin", {"name": "stoker"})
    spec = plugin["spec"]
    assert re.fullmatch(r"v\d+\.\d+\.\d+", spec["version"])
    assert 0 < len(spec["shortDescription"]) <= 60
    assert spec.keys() >= {"version", "homepage", "shortDescription", "description", "platforms"}
    for platform in spec["platforms"]:
        assert platform.keys() == {"selector", "uri", "sha256", "files", "bin"}
        assert platform["sha256"] == hashlib.sha256(content).hexdigest()
        assert platform["uri"].endswith("/stoker-krew-9.8.7.tar.gz")
        [expression] = platform["selector"]["matchExpressions"]
        assert set(expression["values"]) <= {"linux", "darwin"}


def test_the_archive_has_what_the_manifest_names(
    made: tuple[dict[str, Any], bytes], tmp_path: Path
) -> None:
    """The program can be executed, and lies where the manifest says."""
    plugin, content = made
    folder = unpacked(content, tmp_path)
    for platform in plugin["spec"]["platforms"]:
        assert platform["files"] == [{"from": "stoker/*", "to": "."}]
        assert os.access(folder / platform["bin"], os.X_OK)
    names = {path.name for path in folder.iterdir()}
    wheel = "stoker-9.8.7-py3-none-any.whl"
    assert names == {"kubectl-stoker", "LICENSE", "stoker.txt", "version", wheel}


def test_the_program_calls_what_is_installed(
    made: tuple[dict[str, Any], bytes], tmp_path: Path
) -> None:
    """With all words as they are; through the link that krew makes."""
    folder = unpacked(made[1], tmp_path)
    place = tmp_path / "cache" / "stoker" / "9.8.7" / "bin"
    place.mkdir(parents=True)
    (place / "kubectl-stoker").write_text("#!/bin/sh\nprintf '<%s>' \"$@\"\n")
    (place / "kubectl-stoker").chmod(0o755)
    link = tmp_path / "kubectl-stoker"
    link.symlink_to(folder / "kubectl-stoker")
    done = subprocess.run(
        [link, "lint", "a b", "$(x)"],
        env=os.environ | {"XDG_CACHE_HOME": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stdout, done.stderr) == ("<lint><a b><$(x)>", "")


def test_an_installation_that_fails_leaves_nothing(
    made: tuple[dict[str, Any], bytes], tmp_path: Path
) -> None:
    """Or the next call would take half of one for a whole."""
    folder = unpacked(made[1], tmp_path)
    python = tmp_path / "bin" / "python3"
    python.parent.mkdir()
    python.write_text(
        '#!/bin/sh\n[ "$2" = venv ] || exit 0\nmkdir -p "$3/bin"\n'
        'printf "#!/bin/sh\\nexit 1\\n" > "$3/bin/python"; chmod +x "$3/bin/python"\n'
    )
    python.chmod(0o755)
    cache = tmp_path / "cache"
    done = subprocess.run(
        [folder / "kubectl-stoker", "lint"],
        env=os.environ
        | {"XDG_CACHE_HOME": str(cache), "PATH": f"{python.parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert list((cache / "stoker").iterdir()) == []
