"""Which cluster a command means."""

from pathlib import Path

import pytest

from stoker.cli.access import access_of
from stoker.kube.errors import AccessError
from tools.api import kubeconfig


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with a kubeconfig, and no other hint."""
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".kube").mkdir()
    written(tmp_path / ".kube" / "config", "home")
    return tmp_path


def written(file: Path, name: str) -> Path:
    """A kubeconfig for a server of this name."""
    file.write_text(kubeconfig(f"http://{name}:1", "x", file))
    return file


def test_what_is_named_wins(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the environment, which wins over the pod, which wins over home."""
    assert access_of(None, None).server == "http://home:1"
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    with pytest.raises(AccessError, match="serviceaccount"):
        access_of(None, None)
    monkeypatch.setenv("KUBECONFIG", str(written(home / "environment", "environment")))
    assert access_of(None, None).server == "http://environment:1"
    assert access_of(str(written(home / "named", "named")), None).server == "http://named:1"


def test_a_program_for_pods_does_not_look_at_home(home: Path) -> None:
    """An operator must not find a cluster that it was not told of."""
    with pytest.raises(AccessError):
        access_of("", "", at_home=False)
