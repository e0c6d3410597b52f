"""The image that is made without an engine, as far as nothing is fetched for it.

`make image-test` runs one.
"""

import gzip
import hashlib
import io
import json
import tarfile
from pathlib import Path
from typing import Any

from tools import sbom
from tools.image import __main__ as image
from tools.image import debian, oci, root

SETTINGS = {"User": "1:1", "Labels": {"a": "b"}}
LAYERS = (oci.Layer("below", lambda _path: True), oci.Layer("ours", lambda p: p.startswith("opt")))


def tree(folder: Path, mode: int) -> Path:
    """A file system with a folder, a link, a program, an empty folder, and one for anybody."""
    (folder / "opt" / "ours").mkdir(parents=True)
    (folder / "opt" / "ours" / "program").write_text("x")
    (folder / "opt" / "ours" / "program").chmod(0o755)
    (folder / "usr").mkdir()
    (folder / "usr" / "file").write_text("y")
    (folder / "usr" / "file").chmod(mode)
    (folder / "bin").symlink_to("usr")
    (folder / "tmp").mkdir(mode=0o700)
    return folder


def opened(content: bytes) -> dict[str, bytes]:
    """The files of an archive."""
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        members = ((each.name, archive.extractfile(each)) for each in archive)
        return {name: member.read() for name, member in members if member}


def of(files: dict[str, bytes], described: dict[str, Any]) -> bytes:
    """What a descriptor describes, which it must do truly."""
    content = files[f"blobs/sha256/{described['digest'].removeprefix('sha256:')}"]
    assert hashlib.sha256(content).hexdigest() == described["digest"].removeprefix("sha256:")
    assert len(content) == described["size"]
    return content


def test_the_archive_is_an_image(tmp_path: Path) -> None:
    """From the index to each file: what is named by a digest has it, packed and unpacked."""
    content, digest = oci.archive(
        tree(tmp_path, 0o600), LAYERS, SETTINGS, machine="amd64", name="1.2.3"
    )
    files = opened(content)
    assert json.loads(files["oci-layout"]) == {"imageLayoutVersion": "1.0.0"}
    [described] = json.loads(files["index.json"])["manifests"]
    assert described["digest"] == digest
    assert described["annotations"] == {"org.opencontainers.image.ref.name": "1.2.3"}
    manifest = json.loads(of(files, described))
    config = json.loads(of(files, manifest["config"]))
    assert (config["architecture"], config["os"], config["config"]) == ("amd64", "linux", SETTINGS)
    found = []
    for layer, unpacked in zip(manifest["layers"], config["rootfs"]["diff_ids"], strict=True):
        packed = of(files, layer)
        with tarfile.open(fileobj=io.BytesIO(packed), mode="r:gz") as opened_layer:
            found.append({each.name: oct(each.mode) for each in opened_layer})
            assert {(each.uid, each.gid, each.mtime) for each in opened_layer} == {
                (0, 0, 315532800)
            }
        assert f"sha256:{hashlib.sha256(gzip.decompress(packed)).hexdigest()}" == unpacked
    below, ours = found
    assert below == {"bin": "0o777", "tmp": "0o1777", "usr": "0o755", "usr/file": "0o644"}
    assert ours == {"opt": "0o755", "opt/ours": "0o755", "opt/ours/program": "0o755"}


def test_the_same_files_are_the_same_image(tmp_path: Path) -> None:
    """Whoever made them, and when; one byte more is another."""
    made = []
    for number, mode in enumerate((0o600, 0o664)):
        (tmp_path / str(number)).mkdir()
        made.append(tree(tmp_path / str(number), mode))
    images = [oci.archive(one, LAYERS, SETTINGS, machine="amd64", name="x") for one in made]
    assert images[0] == images[1]
    (made[1] / "usr" / "file").write_text("z")
    assert oci.archive(made[1], LAYERS, SETTINGS, machine="amd64", name="x")[1] != images[0][1]


def test_a_new_version_of_ours_changes_the_last_layer_alone() -> None:
    """What is pulled for an upgrade is small."""
    places = [image.PACKAGES, "usr/lib", root.HOME]
    chosen = {path: [one.what for one in image.LAYERS if one.has(path)][-1] for path in places}
    assert chosen == {
        image.PACKAGES: "locked wheels",
        "usr/lib": f"packages of Debian {debian.SUITE}",
        root.HOME: "locked wheels",
    }
    assert image.LAYERS[-1].has(f"{image.PACKAGES}/stoker/__main__.py")
    assert image.LAYERS[-1].has(f"{image.PACKAGES}/stoker-1.2.3.dist-info/RECORD")
    assert image.LAYERS[-1].has(root.RELOADER)


def test_it_is_run_as_the_containerfile_says() -> None:
    """Two ways to one image: user, command, place of the reloader, and what Python is told."""
    text = (image.ROOT / "Containerfile").read_text()
    assert f"USER {image.SETTINGS['User']}\n" in text
    assert json.dumps(image.SETTINGS["Entrypoint"]) in text
    assert json.dumps(image.SETTINGS["Cmd"]) in text
    assert f"/{root.RELOADER.removeprefix('usr/')}\n" in text
    told = {word for word in image.SETTINGS["Env"] if word.startswith("PYTHON")}
    assert all(word in text for word in told)
    assert told


def test_mirrors_are_those_of_the_machine() -> None:
    """In both ways in which apt is told; the first of each sort, and no others."""
    old = "deb [arch=amd64] http://a.example/debian bookworm main\n# deb http://x/debian y\n"
    new = "Types: deb\nURIs: http://b.example/debian-security/\nURIs: http://b.example/debian\n"
    other = "deb http://c.example/tool stable main\n"
    assert debian.mirrors(iter((other, old, new))) == {
        "debian": "http://a.example/debian",
        "debian-security": "http://b.example/debian-security/",
    }


def test_packages_of_debian_are_in_the_bill_of_materials() -> None:
    """By name, version, processor and hash of the file."""
    package = debian.Package("zlib1g", "1:1.3+b1", "amd64", "0" * 64, Path("x.deb"))
    [found] = sbom.document([], [package])["components"]
    assert found["purl"] == "pkg:deb/debian/zlib1g@1%3A1.3+b1?arch=amd64&distro=debian-13"
    assert found["hashes"] == [{"alg": "SHA-256", "content": "0" * 64}]
