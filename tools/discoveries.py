"""What Prometheus itself says about its scrape jobs: the list our tables are held against.

Reads the Go source of Prometheus: the discoveries that `discovery/install` registers, the members
of their configuration with type, default and whether they are needed, the members of a scrape job,
and those of an HTTP client. The newest version says what there is; the releases before it, as far
as the module proxy has them, say since when. Not each release is there, so a member has two
versions: `present`, the first that was seen with it, and `absent`, the last that was seen without.

    python -m tools.discoveries     # writes tests/data/discoveries.json; needs the network

The test `tests/unit/test_discoveries.py` then names what a new Prometheus has and we lack.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tools import golang
from tools.catalogue import BINARIES

PROMETHEUS = "github.com/prometheus/prometheus"
COMMON = "github.com/prometheus/common"
TARGET = Path(__file__).parent.parent / "tests" / "data" / "discoveries.json"

Member = dict[str, Any]
Members = dict[str, Member]

_FIELD = re.compile(r'^\t(?:(\w+)\s+)?([^\s`]+)\s+`yaml:"([^",]*)([^"]*)"[^`]*`', re.MULTILINE)
_UNITS = {"Second": "s", "Minute": "m", "Hour": "h"}


class Package:
    """The source of one Go package, tests left out."""

    def __init__(self, folder: Path) -> None:
        files = sorted(folder.glob("*.go"))
        texts = [file.read_text() for file in files if not file.name.endswith("_test.go")]
        self.text = "\n".join(texts)

    def body(self, type_name: str) -> str | None:
        """What stands between the braces of a struct; an alias stands for its original."""
        alias = self._search(rf"^type {type_name} = (\w+)$")
        if alias:
            return self.body(alias)
        return self._search(rf"^type {type_name} struct \{{\n(.*?)^\}}")

    def registered(self) -> Iterator[tuple[str, str]]:
        """The discoveries that the package registers: their names and types."""
        for type_name in re.findall(r"discovery\.RegisterConfig\(&(\w+)\{", self.text):
            receiver = rf"^func \((?:\w+ )?\*?{type_name}\) Name\(\) string \{{\s*"
            name = self._search(receiver + r'return "(\w+)"')
            if name:
                yield name, type_name

    def defaults(self, type_name: str) -> dict[str, str]:
        """The values that Prometheus starts from, by the name of the struct's field."""
        found = self._search(rf"^\t?(?:var )?Default\w* += {type_name}\{{\n(.*?)^\t?\}}") or ""
        pairs = re.findall(r"^\t+(\w+):\s+(.*?),(?:\s*//.*)?$", found, re.MULTILINE)
        return {name: self.value(text) for name, text in pairs}

    def value(self, text: str) -> str:
        """A constant as it would stand in YAML."""
        duration = re.fullmatch(r"model\.Duration\((\d+) \* time\.(\w+)\)", text)
        if duration:
            return duration[1] + _UNITS[duration[2]]
        if re.fullmatch(r"\w+", text):
            constant = self._search(rf'^\t?(?:const )?{text}\s+(?:\w+\s+)?= "([^"]*)"')
            return text if constant is None else constant
        return text.strip('"')

    def words(self, type_name: str) -> list[str]:
        """The values of a type that is a choice of words."""
        return sorted(re.findall(rf'^\t\w+\s+{type_name}\s*= "([^"]+)"', self.text, re.MULTILINE))

    def required(self, type_name: str) -> set[str]:
        """Fields of which reading the configuration says that they must not be empty."""
        receiver = rf"^func \(c \*{type_name}\) (?:UnmarshalYAML|validate)\(.*?^\}}"
        checks = "".join(re.findall(receiver, self.text, re.MULTILINE | re.DOTALL))
        blank = r'^\tif (?:strings\.TrimSpace\()?c\.(\w+)\)? == "" \{\n\t\t(?://.*\n\t\t)?return'
        empty = r"^\tif len\(c\.(\w+)\) == 0 \{\n\t\treturn"
        return set(re.findall(blank, checks, re.MULTILINE)) | set(
            re.findall(empty, checks, re.MULTILINE)
        )

    def _search(self, pattern: str) -> str | None:
        found = re.search(pattern, self.text, re.MULTILINE | re.DOTALL)
        return found[1] if found else None


def members(package: Package, type_name: str, above: str = "") -> Members:
    """The members of a configuration; those of an object in it have its name before theirs."""
    found: Members = {}
    defaults, required = package.defaults(type_name), package.required(type_name)
    for attribute, go_type, name, options in _FIELD.findall(package.body(type_name) or ""):
        if name == "-":
            continue
        plain = go_type.strip("*[]")
        if "inline" in options:
            found |= _inlined(package, plain, above)
            continue
        member: Member = {"type": go_type.replace("*", "")}
        if attribute in defaults:
            member["default"] = defaults[attribute]
        if attribute in required:
            member["required"] = True
        found[above + name] = member
        found |= {f"{above}{name}={word}": {"type": "word"} for word in package.words(plain)}
        found |= members(package, plain, f"{above}{name}.")
    return found


def _inlined(package: Package, type_name: str, above: str) -> Members:
    """Members that are written as if they were those of the object around them."""
    if type_name.endswith("HTTPClientConfig"):
        return {f"{above}<http>": {"type": "HTTPClientConfig"}}
    return members(package, type_name, above)


def described(folder: Path, common: Path) -> dict[str, Members]:
    """Everything that one version knows: its discoveries, scrape jobs and HTTP clients."""
    install = (folder / "discovery" / "install" / "install.go").read_text()
    found: dict[str, Members] = {}
    for name in re.findall(r"prometheus/prometheus/discovery/(\w+)\"", install):
        package = Package(folder / "discovery" / name)
        for discovery, type_name in package.registered():
            found[f"{discovery}_sd_configs"] = members(package, type_name)
    found["<job>"] = members(Package(folder / "config"), "ScrapeConfig")
    found["<http>"] = members(Package(common / "config"), "HTTPClientConfig")
    return dict(sorted(found.items()))


class Proxy:
    """The Go module proxy, with a folder for what comes from it."""

    def __init__(self, folder: Path) -> None:
        self._go = str(golang.command(BINARIES["promtool"].oldest_go))
        self._environment = os.environ | {"GOMODCACHE": str(folder), "GOFLAGS": "-modcacherw"}
        self._folder = folder

    def releases(self) -> list[str]:
        """All releases of Prometheus as a module, the oldest first."""
        names = self._run("list", "-m", "-versions", PROMETHEUS).split()[1:]
        return [name for name in names if "-" not in name]

    def source(self, module: str, version: str) -> Path:
        """The source of a module."""
        return Path(json.loads(self._run("mod", "download", "-json", f"{module}@{version}"))["Dir"])

    def described(self, version: str) -> dict[str, Members]:
        """Everything that one version of Prometheus knows."""
        folder = self.source(PROMETHEUS, version)
        common = re.search(rf"^\t{COMMON} (\S+)", (folder / "go.mod").read_text(), re.MULTILINE)
        if common is None:
            raise SystemExit(f"Prometheus {version} does not say which {COMMON} it needs")
        return described(folder, self.source(COMMON, common[1]))

    def _run(self, *arguments: str) -> str:
        done = subprocess.run(
            [self._go, *arguments],
            cwd=self._folder,
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise SystemExit(done.stderr or done.stdout)
        return done.stdout


def release(module_version: str) -> str:
    """The release that a version of the Go module is: v0.55.1 is 2.55.1, v0.300.0 is 3.0.0."""
    _, minor, patch = module_version.removeprefix("v").split(".")
    number = int(minor)
    return f"3.{number - 300}.{patch}" if number >= 300 else f"2.{number}.{patch}"


def dated(history: list[tuple[str, dict[str, Members]]]) -> dict[str, Members]:
    """What the newest version knows, each member with the versions around its beginning."""
    newest = history[-1][1]
    return {
        name: {member: facts | _beginning(history, name, member) for member, facts in known.items()}
        | {"<since>": _beginning(history, name)}
        for name, known in newest.items()
    }


def _beginning(
    history: list[tuple[str, dict[str, Members]]], name: str, member: str = ""
) -> dict[str, str]:
    absent = ""
    for version, known in history:
        if name in known and (not member or member in known[name]):
            return {"present": version} | ({"absent": absent} if absent else {})
        absent = version
    return {}


def main() -> None:
    """Write the file."""
    with tempfile.TemporaryDirectory() as folder:
        proxy = Proxy(Path(folder))
        history = [(release(one), proxy.described(one)) for one in proxy.releases()]
    facts = {"prometheus": history[-1][0], "configurations": dated(history)}
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_text(json.dumps(facts, indent=1, sort_keys=True) + "\n")
    print(f"{TARGET.name}: {len(facts['configurations'])} configurations of {history[-1][0]}")


if __name__ == "__main__":
    main()
