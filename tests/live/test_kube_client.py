"""The client, server-side apply and taking over, on a real API server."""

from __future__ import annotations

import asyncio
import base64
import contextlib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from stoker.generate.rules import GROWN_LIMIT, MOST_FILES
from stoker.kube import access
from stoker.kube.client import METADATA_ONLY, Client
from stoker.kube.errors import (
    AlreadyExists,
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    NotLeading,
)
from stoker.kube.resources import CONFIG_MAP, NODE, SECRET, STATEFUL_SET
from stoker.kube.takeover import adopt
from tests import builders
from tools.cluster import Cluster
from tools.waiting import DEADLINE, POLL

PEER = "PrometheusOperator"
OURS = "stoker"

Script = Callable[[Client], Awaitable[None]]


def run(cluster: Cluster, script: Script, **options: Any) -> None:
    """Run a script with a client of the cluster."""

    async def inside() -> None:
        found = options.pop("access", None) or access.kubeconfig(cluster.kubeconfig)
        async with Client(found, **options) as client:
            await script(client)

    asyncio.run(inside())


def config_map(namespace: str, data: dict[str, str], **metadata: Any) -> dict[str, Any]:
    """Make a ConfigMap."""
    return builders.config_map("one", data, namespace=namespace, **metadata)


def stateful_set(namespace: str, *containers: str) -> dict[str, Any]:
    """Make a StatefulSet with these containers, and no pods that would change its status."""
    labels = {"app": "one"}
    template = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": name, "image": "none"} for name in containers]},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"namespace": namespace, "name": "one", "labels": labels},
        "spec": {
            "replicas": 0,
            "serviceName": "one",
            "selector": {"matchLabels": labels},
            "template": template,
        },
    }


def containers(obj: dict[str, Any]) -> list[str]:
    """Name the containers of a StatefulSet."""
    return [each["name"] for each in obj["spec"]["template"]["spec"]["containers"]]


def test_objects_are_created_read_changed_and_deleted(cluster: Cluster, namespace: str) -> None:
    """All verbs, and the error of each that comes too late."""

    async def script(client: Client) -> None:
        made = await client.create(config_map(namespace, {"a": "1"}))
        with pytest.raises(AlreadyExists):
            await client.create(config_map(namespace, {}))
        assert (await client.get(CONFIG_MAP, namespace, "one"))["data"] == {"a": "1"}
        updated = await client.update({**made, "data": {"a": "2"}})
        with pytest.raises(Conflict, match="modified"):
            await client.update({**made, "data": {"a": "3"}})
        patch = {"data": {"a": None, "b": "4"}}
        assert (await client.merge_patch(CONFIG_MAP, namespace, "one", patch))["data"] == {"b": "4"}
        steps = [
            {"op": "test", "path": "/metadata/uid", "value": updated["metadata"]["uid"]},
            {"op": "add", "path": "/data/c", "value": "5"},
        ]
        patched = await client.json_patch(CONFIG_MAP, namespace, "one", steps)
        assert patched["data"] == {"b": "4", "c": "5"}
        with pytest.raises(Invalid):
            await client.json_patch(
                CONFIG_MAP, namespace, "one", [{"op": "test", "path": "/data/c", "value": "6"}]
            )
        await client.delete(CONFIG_MAP, namespace, "one")
        with pytest.raises(NotFound):
            await client.get(CONFIG_MAP, namespace, "one")
        with pytest.raises(NotFound):
            await client.delete(CONFIG_MAP, namespace, "one")

    run(cluster, script)


@pytest.mark.parametrize("kind", ["Secret", "ConfigMap"])
def test_an_object_is_replaced_in_binary_form(cluster: Cluster, namespace: str, kind: str) -> None:
    """Whatever a Secret or ConfigMap of ours can hold arrives, and only over what was seen."""
    uid = cluster.api.get(f"/api/v1/namespaces/{namespace}")["metadata"]["uid"]
    owner = {"apiVersion": "v1", "kind": "Namespace", "name": namespace, "uid": uid}
    metadata = {
        "labels": {"a": "b"},
        "annotations": {"text": "two\nlines, ü, \u2028", "long": "x" * 300, "empty": ""},
        "finalizers": ["example.com/one"],
        "ownerReferences": [owner | {"controller": True, "blockOwnerDeletion": False}],
    }
    text = {"Secret": base64.b64encode(b"\0\xff" * 20_000).decode(), "ConfigMap": "ü" * 20_000}[
        kind
    ]
    given = config_map(namespace, {"old": ""}, **metadata) | {"kind": kind}

    async def script(client: Client) -> None:
        resource = {"Secret": SECRET, "ConfigMap": CONFIG_MAP}[kind]
        made = (await client.create(given))["metadata"]
        version = {"uid": made["uid"], "resourceVersion": made["resourceVersion"]}
        wanted = given | {"metadata": given["metadata"] | version, "data": {"new": text, "no": ""}}
        answer = await client.replace(wanted, manager=OURS)
        assert set(answer) == {"apiVersion", "kind", "metadata"}
        found = await client.get(resource, namespace, "one")
        assert found["data"] == wanted["data"]
        assert {name: found["metadata"][name] for name in metadata} == metadata
        assert found["metadata"]["resourceVersion"] == answer["metadata"]["resourceVersion"]
        with pytest.raises(Conflict):
            await client.replace(wanted, manager=OURS)
        with pytest.raises(ValueError, match="surprise"):
            await client.replace(wanted | {"surprise": True}, manager=OURS)
        await client.merge_patch(resource, namespace, "one", {"metadata": {"finalizers": None}})

    run(cluster, script)


@pytest.mark.parametrize("kind", ["Secret", "ConfigMap"])
def test_an_object_is_made_in_binary_form(cluster: Cluster, namespace: str, kind: str) -> None:
    """All of it arrives, by a manager that is named; never over one that is there."""
    text = {"Secret": base64.b64encode(b"\0\xff" * 20_000).decode(), "ConfigMap": "ü" * 20_000}
    wanted = config_map(namespace, {"new": text[kind], "no": ""}, labels={"a": "b"})
    wanted |= {"kind": kind}

    async def script(client: Client) -> None:
        resource = {"Secret": SECRET, "ConfigMap": CONFIG_MAP}[kind]
        answer = await client.make(wanted, manager=OURS)
        assert set(answer) == {"apiVersion", "kind", "metadata"}
        found = await client.get(resource, namespace, "one")
        assert found["data"] == wanted["data"]
        assert found["metadata"]["labels"] == {"a": "b"}
        assert [each["manager"] for each in found["metadata"]["managedFields"]] == [OURS]
        with pytest.raises(AlreadyExists):
            await client.make(wanted, manager=OURS)

    run(cluster, script)


def test_as_many_rule_files_as_go_into_a_config_map_are_taken(
    cluster: Cluster, namespace: str
) -> None:
    """However long their names are, in either way in which they are written."""
    names = (f"{number:04}".ljust(248, "a") + ".yaml" for number in range(MOST_FILES))
    files = dict.fromkeys(names, "x" * (GROWN_LIMIT // MOST_FILES))

    async def script(client: Client) -> None:
        wanted = config_map(namespace, files)
        await client.apply(wanted, manager=OURS)
        await client.apply(wanted | {"data": dict.fromkeys(files, "y" * 655)}, manager=OURS)
        await client.delete(CONFIG_MAP, namespace, "one")
        await client.make(wanted, manager=OURS)

    run(cluster, script)


def test_metadata_alone_can_be_read(cluster: Cluster, namespace: str) -> None:
    """Caches of Secrets hold nothing secret."""
    secret = config_map(namespace, {}) | {"kind": "Secret", "data": {"a": "Yg=="}}

    async def script(client: Client) -> None:
        await client.create(secret)
        found = await client.get(SECRET, namespace, "one", accept=METADATA_ONLY)
        assert found["kind"] == "PartialObjectMetadata"
        assert found["metadata"]["name"] == "one"
        assert "data" not in found

    run(cluster, script)


def test_a_delete_spares_an_object_of_the_same_name(cluster: Cluster, namespace: str) -> None:
    """Recreated or changed meanwhile: what we decided was about another one (defect 13)."""

    async def script(client: Client) -> None:
        first = (await client.create(config_map(namespace, {})))["metadata"]
        await client.delete(CONFIG_MAP, namespace, "one", uid=first["uid"])
        second = (await client.create(config_map(namespace, {})))["metadata"]
        with pytest.raises(Conflict, match="UID"):
            await client.delete(CONFIG_MAP, namespace, "one", uid=first["uid"])
        await client.merge_patch(CONFIG_MAP, namespace, "one", {"data": {"a": "1"}})
        with pytest.raises(Conflict):
            await client.delete(
                CONFIG_MAP, namespace, "one", resource_version=second["resourceVersion"]
            )
        assert await client.get(CONFIG_MAP, namespace, "one")

    run(cluster, script)


def test_apply_writes_our_fields_and_leaves_the_others(cluster: Cluster, namespace: str) -> None:
    """What we drop goes, what others set stays, and what both want is a conflict unless forced."""

    async def script(client: Client) -> None:
        await client.apply(config_map(namespace, {"a": "1", "b": "1"}), manager=OURS)
        await client.merge_patch(
            CONFIG_MAP, namespace, "one", {"data": {"a": "2", "c": "2"}}, manager="someone"
        )
        with pytest.raises(Conflict) as caught:
            await client.apply(config_map(namespace, {"a": "1"}), manager=OURS, force=False)
        assert [cause["field"] for cause in caught.value.causes] == [".data.a"]
        assert "someone" in caught.value.causes[0]["message"]
        found = await client.apply(config_map(namespace, {"a": "1"}), manager=OURS)
        assert found["data"] == {"a": "1", "c": "2"}

    run(cluster, script)


def test_applying_the_same_again_writes_nothing(cluster: Cluster, namespace: str) -> None:
    """The version stays, so no watch wakes anybody."""

    async def script(client: Client) -> None:
        first, second = [
            await client.apply(config_map(namespace, {"a": "1"}), manager=OURS) for _ in range(2)
        ]
        assert first == second

    run(cluster, script)


async def as_the_peer_left_it(client: Client, namespace: str) -> dict[str, Any]:
    """Create a StatefulSet by the peer's means, which somebody else then adds labels to."""
    await client.create(stateful_set(namespace, "a", "b"), manager=PEER)
    foreign = {"metadata": {"annotations": {"team": "x"}, "labels": {"cost": "y"}}}
    await client.merge_patch(STATEFUL_SET, namespace, "one", foreign, manager="kubectl-edit")
    # Its controller writes a status, which would be a change in the midst of the test.
    async with asyncio.timeout(DEADLINE):
        while True:
            found = await client.get(STATEFUL_SET, namespace, "one")
            if found["status"].get("observedGeneration"):
                return found
            await asyncio.sleep(POLL)


def test_a_field_of_the_peer_would_stay_for_ever(cluster: Cluster, namespace: str) -> None:
    """Why adoption is needed: the container that we leave out is still there."""

    async def script(client: Client) -> None:
        await as_the_peer_left_it(client, namespace)
        found = await client.apply(stateful_set(namespace, "a"), manager=OURS)
        assert containers(found) == ["a", "b"]

    run(cluster, script)


def test_an_adopted_object_is_ours_and_nothing_is_rolled(cluster: Cluster, namespace: str) -> None:
    """Adoption and the first apply leave the generation; what we drop later really goes."""

    async def script(client: Client) -> None:
        live = await as_the_peer_left_it(client, namespace)
        mine = await adopt(client, live, OURS)
        assert mine["spec"] == live["spec"]
        applied = await client.apply(stateful_set(namespace, "a", "b"), manager=OURS)
        assert applied["spec"] == live["spec"]
        assert applied["metadata"]["generation"] == live["metadata"]["generation"] == 1
        dropped = await client.apply(stateful_set(namespace, "a"), manager=OURS)
        assert containers(dropped) == ["a"]
        assert dropped["metadata"]["annotations"]["team"] == "x"
        assert dropped["metadata"]["labels"] == {"app": "one", "cost": "y"}

    run(cluster, script)


def test_an_object_is_adopted_once(cluster: Cluster, namespace: str) -> None:
    """A second time nothing is written; and the managers are ours and the foreign one."""

    async def script(client: Client) -> None:
        mine = await adopt(client, await as_the_peer_left_it(client, namespace), OURS)
        client.fence = _shut
        assert await adopt(client, mine, OURS) is mine
        managers = {
            (entry["manager"], entry["operation"])
            for entry in mine["metadata"]["managedFields"]
            if "subresource" not in entry
        }
        assert managers == {(OURS, "Apply"), ("kubectl-edit", "Update")}

    run(cluster, script)


def test_an_object_that_changed_meanwhile_is_not_adopted(cluster: Cluster, namespace: str) -> None:
    """Its managed fields are not what we read: a conflict, and a new try."""

    async def script(client: Client) -> None:
        live = await as_the_peer_left_it(client, namespace)
        change = {"metadata": {"annotations": {"team": "z"}}}
        await client.merge_patch(STATEFUL_SET, namespace, "one", change, manager="kubectl-edit")
        with pytest.raises(Conflict):
            await adopt(client, live, OURS)

    run(cluster, script)


def test_the_peer_may_take_an_object_back(cluster: Cluster, namespace: str) -> None:
    """After us it updates as before: what it drops goes, and nothing stands in its way."""

    async def script(client: Client) -> None:
        mine = await adopt(client, await as_the_peer_left_it(client, namespace), OURS)
        await client.apply(stateful_set(namespace, "a", "b"), manager=OURS)
        live = await client.get(STATEFUL_SET, namespace, "one")
        assert live["metadata"]["generation"] == mine["metadata"]["generation"]
        live["spec"]["template"]["spec"]["containers"].pop()
        assert containers(await client.update(live, manager=PEER)) == ["a"]

    run(cluster, script)


def test_what_is_forbidden_is_named_by_verb_and_resource(
    cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    """What a role would have to allow, for a person who reads a log or a condition."""
    config = msgspec.json.decode(cluster.kubeconfig.read_bytes())
    config["users"][0]["user"]["as"] = "nobody"
    path = tmp_path / "config"
    path.write_bytes(msgspec.json.encode(config))

    async def script(client: Client) -> None:
        with pytest.raises(Forbidden) as caught:
            await client.request("GET", SECRET.path(namespace))
        told = (caught.value.verb, caught.value.resource, caught.value.namespace)
        assert told == ("list", "secrets", namespace)
        with pytest.raises(Forbidden, match=r"patch .*/statefulsets/one.*403 Forbidden"):
            await client.apply(stateful_set(namespace, "a"), manager=OURS)
        assert not await client.can_i("list", SECRET, namespace)

    async def as_admin(client: Client) -> None:
        assert await client.can_i("list", SECRET)

    run(cluster, script, access=access.kubeconfig(path))
    run(cluster, as_admin)


def _shut() -> None:
    raise NotLeading("shut")


def test_no_write_passes_a_shut_fence(cluster: Cluster, namespace: str) -> None:
    """Reads and reviews do, for a standby keeps its caches warm."""

    async def script(client: Client) -> None:
        await client.create(config_map(namespace, {"a": "1"}))
        client.fence = _shut
        other = config_map(namespace, {"a": "2"})
        for write in (
            client.create(other),
            client.update(other),
            client.apply(other, manager=OURS),
            client.merge_patch(CONFIG_MAP, namespace, "one", {"data": {"a": "2"}}),
            client.json_patch(CONFIG_MAP, namespace, "one", []),
            client.delete(CONFIG_MAP, namespace, "one"),
        ):
            with pytest.raises(NotLeading):
                await write
        assert (await client.get(CONFIG_MAP, namespace, "one"))["data"] == {"a": "1"}
        assert await client.can_i("get", SECRET)

    run(cluster, script)


def test_a_watch_is_a_stream_of_chunks(cluster: Cluster, namespace: str) -> None:
    """Changes come as they happen; leaving early closes the connection."""

    async def script(client: Client) -> None:
        query = {"watch": "1", "fieldSelector": "metadata.name=one"}
        async with client.stream(CONFIG_MAP.path(namespace), query) as chunks:
            await client.create(config_map(namespace, {"a": "1"}))
            while b'"ADDED"' not in await anext(chunks):
                pass
            await client.delete(CONFIG_MAP, namespace, "one")
            while b'"DELETED"' not in await anext(chunks):
                pass

    run(cluster, script)


def test_the_server_tells_what_it_has(cluster: Cluster) -> None:
    """Its version, and whether a resource exists; a group that is absent serves nothing."""

    async def script(client: Client) -> None:
        assert (await client.server_version()).startswith("v1.")
        assert "endpointslices" in await client.api_resources("discovery.k8s.io/v1")
        assert "pods/eviction" in await client.api_resources("v1")
        assert await client.api_resources("absent.example.com/v1") == set()

    run(cluster, script)


def test_requests_are_observed_by_template(cluster: Cluster, namespace: str) -> None:
    """With method, status and time, for metrics that do not grow with the cluster."""
    seen: list[tuple[str, str, int]] = []

    async def script(client: Client) -> None:
        with contextlib.suppress(NotFound):
            await client.get(CONFIG_MAP, namespace, "absent")
        await client.get(NODE, None, "node-0")

    run(cluster, script, observe=lambda *said: seen.append(said[:3]))
    assert seen == [
        ("/api/v1/namespaces/{namespace}/configmaps/{name}", "GET", 404),
        ("/api/v1/nodes/{name}", "GET", 200),
    ]


def test_a_pod_speaks_as_its_service_account(
    cluster: Cluster, namespace: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the files that a pod has; a token that was refused is read again."""
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/default/token"
    made = cluster.api.request("POST", path, {"spec": {}})["status"]["token"]
    monkeypatch.setattr(access, "SERVICE_ACCOUNT", tmp_path)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", cluster.url.rpartition(":")[2])
    (tmp_path / "ca.crt").write_bytes(cluster.ca_file.read_bytes())
    (tmp_path / "token").write_text("expired")
    found = access.in_cluster()
    asyncio.run(found.headers())
    (tmp_path / "token").write_text(made)

    async def script(client: Client) -> None:
        with pytest.raises(Forbidden, match=f"system:serviceaccount:{namespace}:default"):
            await client.get(SECRET, namespace, "one")

    run(cluster, script, access=found)


async def proxy(asked: list[bytes]) -> asyncio.Server:
    """Start a proxy that tunnels, and notes what it was asked."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        asked.append(head)
        host, _, port = head.split()[1].decode().rpartition(":")
        there, back = await asyncio.open_connection(host, int(port))
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        await asyncio.gather(_copied(reader, back), _copied(there, writer))

    return await asyncio.start_server(serve, "127.0.0.1", 0)


async def _copied(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass  # the other end is gone
    finally:
        writer.close()


def test_a_proxy_is_used_with_its_password(
    cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    """The tunnel is asked for with the user and password of proxy-url; TLS goes through it."""
    asked: list[bytes] = []
    config = msgspec.json.decode(cluster.kubeconfig.read_bytes())

    async def go() -> None:
        async with await proxy(asked) as server:
            port = server.sockets[0].getsockname()[1]
            config["clusters"][0]["cluster"]["proxy-url"] = f"http://me:word@127.0.0.1:{port}"
            path = tmp_path / "config"
            path.write_bytes(msgspec.json.encode(config))
            async with Client(access.kubeconfig(path)) as client:
                await client.apply(config_map(namespace, {"a": "1"}), manager=OURS)

    asyncio.run(go())
    assert len(asked) == 1
    assert asked[0].startswith(f"CONNECT {cluster.url.removeprefix('https://')} ".encode())
    assert b"Basic " + base64.b64encode(b"me:word") in asked[0]
