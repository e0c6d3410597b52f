"""Writes what the operator's image installs as a CycloneDX document: `make sbom`.

`make image` adds Debian's packages, of which it knows the hashes and not the licenses: those lie
in the image, in /usr/share/doc.

Names, versions and hashes are those of requirements/stoker.txt; licenses are what the installed
packages say of themselves. A package that is not installed here (it is for another platform) has
no license in the document.
"""

import argparse
import json
import re
import sys
from collections.abc import Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from stoker import __version__
from tools.image.debian import Package

ROOT = Path(__file__).parent.parent
LOCKED = ROOT / "requirements" / "stoker.txt"
_PIN = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^\s;\\]+)")
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
_EXPRESSION = re.compile(r"[A-Za-z0-9.+() -]+")
_CLASSIFIER = "License :: OSI Approved :: "


class Pin(NamedTuple):
    """A locked package; one of its hashes is that of the file that is installed."""

    name: str
    version: str
    hashes: tuple[str, ...]


def pins(text: str) -> list[Pin]:
    """The packages of a file with locked requirements."""
    found: list[Pin] = []
    for line in text.splitlines():
        if match := _PIN.match(line):
            found.append(Pin(match["name"], match["version"], ()))
        elif match := _HASH.search(line):
            last = found[-1]
            found[-1] = last._replace(hashes=(*last.hashes, match[1]))
    return found


def document(locked: list[Pin], packages: Sequence[Package] = ()) -> dict[str, Any]:
    """The document. Nothing in it depends on when or where it is made."""
    root = _component("stoker", __version__, kind="application")
    root["licenses"] = [{"expression": "Apache-2.0"}]
    components = [_library(pin) for pin in locked]
    direct = [f"pkg:pypi/{name}" for name in _needs("stoker")]
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": root},
        "components": [*components, *map(_debian, packages)],
        "dependencies": [
            {"ref": root["bom-ref"], "dependsOn": _refs(components, direct)},
            *(_edges(pin, components) for pin in locked),
        ],
    }


def _component(name: str, version: str, *, kind: str = "library") -> dict[str, Any]:
    purl = f"pkg:pypi/{_normal(name)}@{version}"
    return {"type": kind, "bom-ref": purl, "name": name, "version": version, "purl": purl}


def _debian(package: Package) -> dict[str, Any]:
    """A package of Debian, by the hash of the file that it came in."""
    version = quote(package.version, safe="+~.-")
    place = f"?arch={package.architecture}&distro=debian-13"
    purl = f"pkg:deb/debian/{package.name}@{version}{place}"
    return {
        "type": "library",
        "bom-ref": purl,
        "name": package.name,
        "version": package.version,
        "purl": purl,
        "hashes": [{"alg": "SHA-256", "content": package.sha256}],
    }


def _library(pin: Pin) -> dict[str, Any]:
    component = _component(pin.name, pin.version)
    component["hashes"] = [{"alg": "SHA-256", "content": each} for each in sorted(pin.hashes)]
    if license_ := _license(pin.name):
        component["licenses"] = [license_]
    return component


def _license(name: str) -> dict[str, Any] | None:
    """What a package says: an SPDX expression, else a name of it in words."""
    try:
        about = metadata.metadata(name)
    except metadata.PackageNotFoundError:
        return None
    if "License-Expression" in about:
        return {"expression": about["License-Expression"]}
    words = about["License"] if "License" in about else ""  # noqa: SIM401 (it has no `get`)
    classified = [
        each.removeprefix(_CLASSIFIER)
        for each in about.get_all("Classifier") or ()
        if each.startswith(_CLASSIFIER)
    ]
    chosen = words if words and _EXPRESSION.fullmatch(words) else "; ".join(classified)
    return {"license": {"name": chosen}} if chosen else None


def _needs(name: str) -> Iterator[str]:
    """The names of what a package asks for, options aside."""
    try:
        asked = metadata.requires(name) or ()
    except metadata.PackageNotFoundError:
        return
    for line in asked:
        if "extra ==" not in line:
            yield _normal(re.split(r"[^A-Za-z0-9._-]", line, maxsplit=1)[0])


def _edges(pin: Pin, components: list[dict[str, Any]]) -> dict[str, Any]:
    wanted = [f"pkg:pypi/{name}" for name in _needs(pin.name)]
    return {
        "ref": _component(pin.name, pin.version)["bom-ref"],
        "dependsOn": _refs(components, wanted),
    }


def _refs(components: list[dict[str, Any]], wanted: list[str]) -> list[str]:
    known = {each["purl"].partition("@")[0]: each["bom-ref"] for each in components}
    return sorted({known[each] for each in wanted if each in known})


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def main(argv: list[str] | None = None) -> int:
    """Print the document, or write it where the command line says."""
    parser = argparse.ArgumentParser(prog="python -m tools.sbom", description=__doc__)
    parser.add_argument("-o", "--output", type=Path, help="write it there instead of printing it")
    options = parser.parse_args(argv)
    text = json.dumps(document(pins(LOCKED.read_text())), indent=2) + "\n"
    if options.output is None:
        print(text, end="")
        return 0
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(text)
    print(options.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
