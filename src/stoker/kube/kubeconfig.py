"""Kubeconfig files: read, laid over each other, and one context chosen.

As kubectl does it: of several files the first that names a cluster, user or context wins, and paths
in a file are relative to that file.
"""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Struct

from stoker import yamltree
from stoker.kube.errors import AccessError

T = TypeVar("T")

_PATHS: Final = ("certificate-authority", "client-certificate", "client-key", "tokenFile")


class Cluster(Struct, rename="kebab", frozen=True):
    """Where an API server is."""

    server: str = ""
    tls_server_name: str = ""
    insecure_skip_tls_verify: bool = False
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    proxy_url: str = ""
    extensions: list[Any] | None = None


class Exec(Struct, rename="camel", frozen=True):
    """A command that hands out credentials."""

    command: str
    api_version: str
    args: list[str] | None = None
    env: list[dict[str, str]] | None = None
    install_hint: str = ""
    provide_cluster_info: bool = False
    interactive_mode: str = "IfAvailable"

    def __repr__(self) -> str:
        return f"Exec({self.command!r}, …)"


class User(Struct, rename="kebab", frozen=True):
    """Who we are."""

    client_certificate: str = ""
    client_certificate_data: str = ""
    client_key: str = ""
    client_key_data: str = ""
    token: str = ""
    token_file: str = msgspec.field(name="tokenFile", default="")
    username: str = ""
    password: str = ""
    exec: Exec | None = None
    auth_provider: dict[str, Any] | None = None
    as_user: str = msgspec.field(name="as", default="")
    as_uid: str = ""
    as_groups: list[str] | None = None
    as_user_extra: dict[str, list[str]] | None = None

    def __repr__(self) -> str:
        return "User(…)"


class Context(Struct, frozen=True):
    """A cluster, a user and a namespace, by name."""

    cluster: str = ""
    user: str = ""
    namespace: str = ""


class ChosenContext(Struct, frozen=True):
    """What a context stands for, and the directory of the file that names its user."""

    cluster: Cluster
    user: User
    namespace: str
    directory: Path


class _Named(Struct, frozen=True):
    name: str
    cluster: dict[str, Any] | None = None
    user: dict[str, Any] | None = None
    context: dict[str, Any] | None = None

    def __repr__(self) -> str:
        return f"_Named({self.name!r}, …)"


class _File(Struct, rename="kebab", frozen=True):
    current_context: str | None = None
    clusters: list[_Named] | None = None
    users: list[_Named] | None = None
    contexts: list[_Named] | None = None


def chosen(path: Path | None, context: str | None) -> ChosenContext:
    """The named or current context, of one file or of those that $KUBECONFIG names."""
    files = [(each, _read(each)) for each in _files(path)]
    if not files:
        raise AccessError("there is no kubeconfig")
    name = context or next((file.current_context for _, file in files if file.current_context), "")
    if not name:
        raise AccessError("the kubeconfig has no current context")
    found, _ = _find(files, "context", name)
    selected = _converted(found, Context, f"context {name!r}")
    cluster, _ = _find(files, "cluster", selected.cluster)
    user, directory = _find(files, "user", selected.user) if selected.user else ({}, Path())
    return ChosenContext(
        cluster=_converted(cluster, Cluster, f"cluster {selected.cluster!r}"),
        user=_converted(user, User, f"user {selected.user!r}"),
        namespace=selected.namespace,
        directory=directory,
    )


def _files(path: Path | None) -> Iterable[Path]:
    if path:
        return [path]
    named = [each for each in os.environ.get("KUBECONFIG", "").split(os.pathsep) if each]
    candidates = [Path(each) for each in named] or [Path.home() / ".kube" / "config"]
    return [each for each in candidates if each.exists()]


def _read(path: Path) -> _File:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise AccessError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError:
        raise AccessError(f"{path}: this is not text in UTF-8") from None
    try:
        tree = yamltree.parse(text)
    except yamltree.YamlError as error:
        # Without the cause, which may quote a line.
        raise AccessError(f"{path}: line {error.line}: this is not YAML") from None
    return _converted(tree or {}, _File, str(path))


def _find(files: list[tuple[Path, _File]], what: str, name: str) -> tuple[dict[str, Any], Path]:
    """The first entry of that name, its paths made absolute, and the directory of its file."""
    for path, file in files:
        for entry in getattr(file, f"{what}s") or []:
            if entry.name == name:
                directory = path.absolute().parent
                return _anchored(getattr(entry, what) or {}, directory), directory
    raise AccessError(f"the kubeconfig has no {what} {name!r}")


def _anchored(entry: dict[str, Any], directory: Path) -> dict[str, Any]:
    paths = {key: str(directory / entry[key]) for key in _PATHS if entry.get(key)}
    return {key: value for key, value in entry.items() if value is not None} | paths


def _converted(tree: Any, model: type[T], where: str) -> T:
    try:
        return msgspec.convert(tree, model)
    except msgspec.ValidationError as error:
        raise AccessError(f"kubeconfig: {where}: {error}") from None
