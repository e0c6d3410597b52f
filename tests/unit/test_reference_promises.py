"""What is promised stays: fields, flags, metrics, keys of JSON output (docs/versioning.md)."""

import pytest

from tools import outlines, promises


@pytest.mark.parametrize("name", promises.LISTS)
def test_nothing_that_was_promised_is_gone(name: str) -> None:
    """Whoever means to take it out takes the line out, too, and says so in a fragment `removed`."""
    gone = promises.recorded(name) - promises.LISTS[name]()
    assert sorted(gone) == [], f"promised in tests/promised/{name}.txt"


@pytest.mark.parametrize("name", promises.LISTS)
def test_what_has_come_is_promised(name: str) -> None:
    """`make reference` was run: what nobody recorded could go unnoticed."""
    come = promises.LISTS[name]() - promises.recorded(name)
    assert sorted(come) == [], "run `make reference`"


def test_each_list_is_about_something() -> None:
    """Lists of nothing would promise nothing; one line of each is known."""
    known = {
        "fields": "ServiceMonitor/v1.spec.endpoints[].port",
        "flags": "operator --namespaces",
        "metrics": "operator prometheus_operator_syncs gauge by controller, status",
        "output": "explain: .standings[].workload",
    }
    assert known.keys() == promises.LISTS.keys()
    assert [name for name, line in known.items() if line not in promises.recorded(name)] == []
    assert len(promises.recorded("fields")) > 20_000


def test_the_list_of_fields_is_read_as_it_was_written() -> None:
    """Objects that are told once stand for all places where they are."""
    paths = {
        *("A.spec", "A.spec.tls", "A.spec.tls.ca", "A.spec.tls.ca.key"),
        *("A.spec.rules", "A.spec.rules[].tls", "A.spec.rules[].tls.ca"),
        *(
            "A.spec.rules[].tls.ca.key",
            "B.spec",
            "B.spec.tls",
            "B.spec.tls.ca",
            "B.spec.tls.ca.key",
        ),
    }
    text = outlines.packed(paths)
    assert outlines.unpacked(text) == paths
    assert "A.spec.tls = A.spec.rules[].tls\n" in text
    assert outlines.unpacked(text.replace("ca\n", "\n")) != paths
