"""Writes the image as an OCI archive: `make image`.

Made from Debian's packages and the locked wheels, as the Containerfile is from a base image; no
engine, no registry. Beside it lies what is in it, as CycloneDX.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from stoker import __version__
from tools import sbom
from tools.image import debian, oci, root

ROOT = Path(__file__).parents[2]
PACKAGES = f"{root.HOME}/lib/python{root.PYTHON}/site-packages"
OWN = (f"{PACKAGES}/stoker", f"{root.HOME}/bin/stoker", root.RELOADER)
LAYERS = (
    oci.Layer(f"packages of Debian {debian.SUITE}", lambda _path: True),
    oci.Layer("locked wheels", lambda path: path.startswith(root.HOME)),
    oci.Layer("stoker", lambda path: path.startswith(OWN)),
)
SETTINGS: dict[str, Any] = {
    "User": f"{root.USER}:{root.USER}",
    "Env": [
        f"PATH=/{root.HOME}/bin:/usr/bin",
        "PYTHONDONTWRITEBYTECODE=1",
        "PYTHONUNBUFFERED=1",
        "LC_ALL=C.UTF-8",
    ],
    "Entrypoint": [f"/{root.HOME}/bin/stoker"],
    "Cmd": ["--help"],
    "WorkingDir": "/",
    "Labels": {
        "org.opencontainers.image.title": "stoker",
        "org.opencontainers.image.description": "A Prometheus Operator in Python",
        "org.opencontainers.image.licenses": "Apache-2.0",
        "org.opencontainers.image.version": __version__,
    },
}


def main(argv: list[str] | None = None) -> int:
    """Make the image; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.image", description=__doc__)
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "dist", help="default: dist/")
    parser.add_argument("--root", type=Path, help="leave the file system there, too, to look at")
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="stoker-image-") as scratch:
        made = Path(scratch, "root")
        try:
            packages = build(Path(scratch), made)
        except (debian.DebianError, OSError) as error:
            print(f"image: {error}", file=sys.stderr)
            return 1
        _write(made, packages, options.output)
        if options.root:
            shutil.copytree(made, options.root, symlinks=True)
    return 0


def build(scratch: Path, made: Path) -> list[debian.Package]:
    """Make the file system; Debian's packages in it."""
    for folder in ("debian", "wheel"):
        (scratch / folder).mkdir()
    made.mkdir()
    packages = debian.fetched(scratch / "debian")
    build_wheel = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory"]
    subprocess.run(
        [*build_wheel, str(scratch / "wheel")], cwd=ROOT, check=True, capture_output=True
    )
    [wheel] = (scratch / "wheel").glob("*.whl")
    root.assemble(made, packages, ROOT, wheel)
    return packages


def _write(made: Path, packages: list[debian.Package], output: Path) -> None:
    output.mkdir(parents=True, exist_ok=True)
    machine = debian.architecture()
    content, digest = oci.archive(made, LAYERS, SETTINGS, machine=machine, name=__version__)
    file = output / f"stoker-image-{__version__}-{machine}.tar"
    file.write_bytes(content)
    document = sbom.document(sbom.pins(sbom.LOCKED.read_text()), packages)
    materials = file.with_suffix(".cdx.json")
    materials.write_text(json.dumps(document, indent=2) + "\n")
    print(f"{file}: {len(content) / 1e6:.1f} MB, {digest}\n{materials}")


if __name__ == "__main__":
    sys.exit(main())
