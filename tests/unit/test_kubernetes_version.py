"""The version of an API server: vendors write it as they like."""

import pytest

from stoker.cluster.capabilities import kubernetes_version


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("v1.37.1", (1, 37)),
        ("1.26", (1, 26)),
        ("v1.28+", (1, 28)),
        ("v1.29.4-gke.1043002", (1, 29)),
        ("v1.30.2+k3s1", (1, 30)),
        ("v1.31.0-eks-1234567", (1, 31)),
        ("v0.0.0-master+$Format:%H$", None),
        ("v1.99999999999", None),
        ("garbage", None),
        ("", None),
    ],
)
def test_an_odd_version_stops_nothing(text: str, version: tuple[int, int] | None) -> None:
    """What says nothing counts as newest."""
    assert kubernetes_version(text) == version
