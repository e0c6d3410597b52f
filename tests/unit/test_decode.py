"""JSON to typed objects and back."""

import json
from typing import Any

import pytest

from stoker.api.decode import convert, decode, decode_page, encode
from stoker.api.monitors import ServiceMonitor
from stoker.api.prometheus import Prometheus
from stoker.errors import DecodeError
from tests.builders import endpoints, thing


def monitor(name: str, **spec: Any) -> dict[str, Any]:
    """A ServiceMonitor as JSON values."""
    return thing("ServiceMonitor", name, generation=3, spec=endpoints({"port": "web"}) | spec)


def page(*items: Any) -> bytes:
    """A list as an API server answers it."""
    metadata = {"resourceVersion": "42", "continue": "more"}
    return json.dumps({"kind": "List", "metadata": metadata, "items": items}).encode()


def test_fields_arrive_under_their_python_names() -> None:
    """What a user writes is read where the declaration says."""
    read = decode(ServiceMonitor, json.dumps(monitor("cart", jobLabel="app")))
    assert read.metadata.name == "cart"
    assert read.spec.job_label == "app"
    assert read.spec.endpoints[0].port == "web"


def test_what_was_absent_stays_absent() -> None:
    """An empty object is written back empty: no default is invented."""
    assert encode(decode(ServiceMonitor, b"{}")) == b"{}"


@pytest.mark.parametrize(
    "written",
    [
        {"spec": {"endpoints": [], "selector": {}}},
        {"spec": {"endpoints": [{"port": "", "honorLabels": False, "params": {}}]}},
        {"spec": {"sampleLimit": 0, "jobLabel": "", "targetLabels": []}},
    ],
)
def test_zero_values_that_a_user_wrote_are_kept(written: dict[str, Any]) -> None:
    """`""`, `0`, `false`, `[]` and `{}` are values, not absence."""
    assert json.loads(encode(convert(ServiceMonitor, written))) == written


def test_unknown_fields_are_passed_over() -> None:
    """A field of a newer version does not stop an older operator."""
    read = decode(ServiceMonitor, json.dumps(monitor("cart", fieldFromTheFuture=1)))
    assert read.spec.endpoints[0].port == "web"


@pytest.mark.parametrize(
    "spec",
    [
        {"endpoints": [{"interval": "soon"}]},
        {"endpoints": [{"scheme": "gopher"}]},
        {"sampleLimit": -1},
        {"scrapeProtocols": ["a", "a"]},
        {"selector": None, "endpoints": None},
    ],
    ids=["pattern", "enum", "minimum", "duplicates", "required"],
)
def test_constraints_are_not_enforced_when_decoding(spec: dict[str, Any]) -> None:
    """An object that was stored before a rule was tightened must still load."""
    kept = {name: value for name, value in spec.items() if value is not None}
    stored = {"spec": kept}
    assert json.loads(encode(convert(ServiceMonitor, stored))) == stored


@pytest.mark.parametrize(
    ("spec", "path", "reason"),
    [
        ({"endpoints": [{}, {"port": 80}]}, "spec.endpoints[*].port", "expected a string"),
        ({"endpoints": "all"}, "spec.endpoints", "expected a list, got a string"),
        ({"sampleLimit": "many"}, "spec.sampleLimit", "expected an integer, got a string"),
        ({"selector": {"matchLabels": {"a": 1}}}, "spec.selector.matchLabels[*]", "got an integer"),
        ({"endpoints": [{"targetPort": []}]}, "spec.endpoints[*].targetPort", "integer or"),
    ],
)
def test_a_wrong_type_is_named_with_its_path(spec: dict[str, Any], path: str, reason: str) -> None:
    """The error leads to the field, in words of YAML rather than of Python."""
    with pytest.raises(DecodeError) as caught:
        convert(ServiceMonitor, monitor("cart", **spec))
    assert caught.value.path.replace("[1]", "[*]").replace("[0]", "[*]") == path
    assert reason in caught.value.reason


def test_one_undecodable_object_does_not_sink_the_list() -> None:
    """The rest of the list loads; the bad one is set aside with name and path."""
    read, undecodable = decode_page(
        ServiceMonitor, page(monitor("good"), monitor("bad", sampleLimit="x"), monitor("fine"))
    )
    assert [item.metadata.name for item in read.items] == ["good", "fine"]
    assert (read.metadata.resource_version, read.metadata.continue_) == ("42", "more")
    [bad] = undecodable
    assert (bad.namespace, bad.name, bad.path) == ("shop", "bad", "spec.sampleLimit")


def test_an_object_whose_metadata_is_broken_is_set_aside_without_a_name() -> None:
    """Even then the rest of the list loads."""
    read, undecodable = decode_page(ServiceMonitor, page({"metadata": []}, monitor("good")))
    assert [item.metadata.name for item in read.items] == ["good"]
    assert [(bad.name, bad.path) for bad in undecodable] == [("", "metadata")]


def test_text_that_is_not_json_is_a_decode_error() -> None:
    """A truncated answer is an error of ours, not of the JSON library."""
    with pytest.raises(DecodeError):
        decode(ServiceMonitor, b'{"spec": ')


def test_kubernetes_types_that_we_pass_on_keep_every_member() -> None:
    """Containers and volumes are carried as they are, known to us or not."""
    container = {"name": "prometheus", "futureField": {"a": [1, None, "x"]}}
    written = {"spec": {"containers": [container]}}
    assert json.loads(encode(convert(Prometheus, written))) == written
