"""The catalogue of what can be built, and where each binary is kept.

Each folder in ``go/`` is one Go module that pins commands; its go.mod is the only place where
their versions stand. A module's binaries are kept in the cache in a folder named after a checksum
of everything that decides what they are, so a changed version builds anew and an unchanged one is
only looked up. Binaries in ``$KUBEBUILDER_ASSETS`` are used as they are.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tools import cache, golang
from tools.compiling import Recipe

MODULES = Path(__file__).parent / "go"
FLAGS = ("-mod=readonly", "-buildvcs=false", "-trimpath")


@dataclass(frozen=True)
class Binary:
    """One command: the module in ``go/`` that pins it, and the variable that holds its version."""

    name: str
    module: str
    package: str
    version_variable: str = ""
    # Whether it is left alone until somebody names it: no test needs it.
    by_hand: bool = False

    @property
    def folder(self) -> Path:
        """The Go module's own folder."""
        return MODULES / self.module

    @property
    def oldest_go(self) -> golang.Version:
        """The oldest Go that can build it."""
        return golang.required(self._go_mod())

    @property
    def version(self) -> str:
        """The version that go.mod pins for the module that the package is in; ours has none."""
        if self.package == ".":
            return ""
        for line in re.finditer(r"^\s*(?:require )?(\S+) (v\S+)", self._go_mod(), re.MULTILINE):
            if f"{self.package}/".startswith(f"{line[1]}/"):
                return line[2]
        raise LookupError(f"{self.folder}/go.mod does not require {self.package}")

    @property
    def ldflags(self) -> str:
        """No symbols (they double the size), and the version, which Go does not fill in itself."""
        stamp = f" -X {self.version_variable}={self._own_version()}"
        return "-s -w" + (stamp if self.version_variable else "")

    @property
    def recipe(self) -> Recipe:
        """How it is made."""
        return Recipe(self.name, self.folder, self.package, FLAGS, self.ldflags)

    def _own_version(self) -> str:
        if "/prometheus/prometheus/" in self.package:
            return prometheus_version(self.version)
        return self.version if self.module in WITH_V else self.version.removeprefix("v")

    def _go_mod(self) -> str:
        return (self.folder / "go.mod").read_text()


def prometheus_version(module_version: str) -> str:
    """Return the release that a Go module version stands for: v0.315.0 is 3.15.0."""
    _, both, patch = module_version.split(".")
    major, minor = divmod(int(both), 100)
    return f"{major}.{minor}.{patch}"


KUBERNETES_VERSION = "k8s.io/component-base/version.gitVersion"
PROMETHEUS_VERSION = "github.com/prometheus/common/version.Version"
PEER = "github.com/prometheus-operator/prometheus-operator"
RELOADER = "prometheus-config-reloader"
HELM_VERSION = "helm.sh/helm/v4/internal/version.version"
# These say `v1.2.3` of themselves, the others `1.2.3`.
WITH_V = ("kubernetes", "helm")


def _kubernetes(name: str) -> Binary:
    return Binary(name, "kubernetes", f"k8s.io/kubernetes/cmd/{name}", KUBERNETES_VERSION)


def _prometheus(name: str, module: str, project: str) -> Binary:
    package = f"github.com/prometheus/{project}/cmd/{name}"
    return Binary(name, module, package, PROMETHEUS_VERSION)


# In the order of building: the first of a module compiles most of what the others share.
BINARIES = {
    binary.name: binary
    for binary in (
        _kubernetes("kube-apiserver"),
        _kubernetes("kube-controller-manager"),
        _kubernetes("kube-scheduler"),
        _kubernetes("kubectl"),
        Binary("etcd", "kubernetes", "go.etcd.io/etcd/server/v3"),
        Binary("kwok", "kubernetes", "sigs.k8s.io/kwok/cmd/kwok"),
        # A module of its own, with the same libraries as kubectl: most is compiled already.
        Binary("helm", "helm", "helm.sh/helm/v4/cmd/helm", HELM_VERSION),
        _prometheus("prometheus", "prometheus", "prometheus"),
        _prometheus("promtool", "prometheus", "prometheus"),
        _prometheus("amtool", "prometheus", "alertmanager"),
        _prometheus("alertmanager", "alertmanager", "alertmanager"),
        Binary(RELOADER, "reloader", f"{PEER}/cmd/{RELOADER}", PROMETHEUS_VERSION),
        # Our own: Go's standard library, and the copy of a parser that Prometheus has.
        Binary("judge", "judge", "."),
        # The operator that ours takes over from: see `python -m tests.takeover`.
        Binary(
            "peer-operator",
            "peer-operator",
            f"{PEER}/cmd/operator",
            PROMETHEUS_VERSION,
            by_hand=True,
        ),
    )
}


def location(binary: Binary, environ: Mapping[str, str] = os.environ) -> Path:
    """Tell where a binary is, or will be once it is built."""
    if assets := environ.get("KUBEBUILDER_ASSETS"):
        own = Path(assets).absolute() / binary.name
        if os.access(own, os.X_OK):
            return own
    return cache_folder(binary.module, environ) / binary.name


def cache_folder(module: str, environ: Mapping[str, str] = os.environ) -> Path:
    """Return the folder of a module's binaries, named after what decides how they come out."""
    return cache.root(environ) / f"{module}-{cache_key(MODULES / module)}"


def cache_key(folder: Path) -> str:
    """Sum up a module's files, the flags it is built with, and the kind of machine."""
    digest = hashlib.sha256()
    for file in sorted([*folder.glob("go.*"), *folder.glob("*.go")]):
        digest.update(file.read_bytes() + b"\0")
    flags = [(b.name, b.ldflags) for b in BINARIES.values() if b.module == folder.name]
    digest.update(repr((FLAGS, flags, platform.system(), platform.machine())).encode())
    return digest.hexdigest()[:12]
