"""What vendors make of the version of their API servers stops nobody."""

from __future__ import annotations

from typing import Any

import pytest
from aiohttp import web

from stoker.__main__ import main
from tests.builders import prometheus, service_monitor
from tests.live.faults import Gateway
from tests.live.operating import Running, World
from tests.live.replicas import reconciles

READABLE = ("v1.28+", "v1.29.4-gke.1043002", "v1.30.2+k3s1")
UNREADABLE = ("v0.0.0-master+$Format:%H$", "v1.99999999999", "garbage", "", None, {"major": 1})
WARNING = "the API server's version cannot be read"


@pytest.mark.parametrize("version", [*READABLE, *UNREADABLE], ids=str)
def test_operator_and_commands_take_every_version(
    world: World, capsys: pytest.CaptureFixture[str], version: Any
) -> None:
    """One that says nothing counts as the newest, with a warning."""

    def says(request: web.Request) -> web.Response | None:
        about = {} if version is None else {"gitVersion": version}
        return web.json_response(about) if request.path == "/version" else None

    world.put(service_monitor("shop"), prometheus("main"))
    with Gateway(world.cluster) as gateway:
        gateway.fault = says
        flags = f"--namespaces={world.namespace}"
        with Running.start(world.cluster, flags, kubeconfig=gateway.kubeconfig) as operator:
            world.until("a reconciliation", lambda: reconciles(operator))
            assert (WARNING in operator.log()) == (version in UNREADABLE)
        where = ["--kubeconfig", str(gateway.kubeconfig)]
        assert main(["explain", "servicemonitor", f"{world.namespace}/shop", *where]) in (0, 1)
        assert main(["status", "-n", world.namespace, *where]) in (0, 1)
    said = capsys.readouterr()
    assert said.out.count("main") >= 1, said
