"""What is written about tenants' objects fits where it is written, whatever they are called."""

import json
from typing import Any

import pytest

from stoker.api.core import ObjectMeta
from stoker.kube.errors import ApiError
from stoker.operator.events import Events, Subject
from stoker.select.assets import CONFIG_MAP, SECRET, Source
from stoker.validate.findings import Finding, Reason

LONGEST_KEY = 253
LONGEST_NOTE = 1024


def source(name: str, key: str, namespace: str = "mallory", kind: str = SECRET) -> Source:
    """A key of an object."""
    return Source(kind, namespace, name, key)


def test_the_name_of_a_file_is_one_that_a_secret_can_hold() -> None:
    """One Secret of a long name would otherwise keep all certificates from being written."""
    names = {
        each.file_name
        for each in (
            source("s" * 253, "k" * 253),
            source("s" * 253, "k" * 252),
            source("s" * 253, "k" * 253, kind=CONFIG_MAP),
            source("s" * 253, "k" * 253, namespace="m" * 63),
            source("s" * 252, "s" + "k" * 253),
        )
    }
    assert len(names) == 5
    assert all(len(name) <= LONGEST_KEY for name in names)


@pytest.mark.parametrize("text", ["x" * 100_000, "é" * 100_000])
def test_a_finding_stays_small_whatever_it_quotes(text: str) -> None:
    """It is kept for each workload, beside the object itself."""
    found = Finding(f"spec.params[{text}]", Reason.INVALID_VALUE, f"`{text}` is not a duration")
    assert len(found.path) == len(found.message) == 1000
    assert found.path.startswith("spec.params[")
    assert found.message.endswith("…")
    short = Finding("spec.x", Reason.INVALID_VALUE, "is wrong")
    assert (short.path, short.message) == ("spec.x", "is wrong")


def test_what_an_event_said_is_remembered_in_few_letters() -> None:
    """Long notes about many objects would be kept for as long as the operator runs."""
    events = Events(Written(), print)  # type: ignore[arg-type]
    subject = Subject("v1", "Thing", ObjectMeta(namespace="mallory", name="x", uid="1"))
    for _ in range(2):
        events.warn(subject, "me", "long " * 10_000)
    assert events._line.qsize() == 1
    assert sum(map(len, events._said.values())) <= LONGEST_NOTE
    events.known("2", "me", "long " * 10_000)
    assert sum(map(len, events._said.values())) <= 2 * LONGEST_NOTE


def test_a_short_name_of_a_file_stays_as_it_is() -> None:
    """It is the one that prometheus-operator writes, and a change would restart pods."""
    assert source("vault", "ca.crt").file_name == "0_mallory_vault_ca.crt"
    edge = source("s" * 200, "k" * (LONGEST_KEY - len("0_mallory_") - 201))
    assert edge.file_name == f"0_mallory_{edge.name}_{edge.key}"
    assert len(edge.file_name) == LONGEST_KEY


def test_a_long_name_still_says_whose_it_is() -> None:
    """So no tenant can choose a name that another's file has."""
    assert source("s" * 253, "k" * 253).file_name.startswith("0_mallory_sss")


class Written:
    """A client that keeps what it is to create."""

    def __init__(self) -> None:
        self.objects: list[Any] = []

    async def create(self, given: Any) -> None:
        """Take down an object."""
        self.objects.append(given)


@pytest.mark.parametrize(
    "note",
    [
        "x" * LONGEST_NOTE,
        "x" * (LONGEST_NOTE + 1),
        "é" * 600,
        "日本" * 400,
        "💥" * 300,
        "x" + "💥" * 300,
        "\ud800" * 1200,
    ],
)
def test_a_note_is_no_longer_than_an_event_can_hold(note: str) -> None:
    """The API server counts bytes, and would refuse the event for a tenant's own words."""
    told: list[ApiError] = []
    events = Events(Written(), told.append)  # type: ignore[arg-type]
    events.warn(Subject("v1", "Thing", ObjectMeta(namespace="mallory", name="x")), "me", note)
    written = events._line.get_nowait()["note"]
    assert len(written.encode()) <= LONGEST_NOTE
    assert len(written.encode()) > LONGEST_NOTE - 8
    assert json.loads(json.dumps(written)) == written
