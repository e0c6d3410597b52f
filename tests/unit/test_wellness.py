"""How everything is, in one word and one sentence; and which name was meant."""

import pytest

from stoker.page.answers import Row, Totals
from stoker.page.index import totals_of
from stoker.page.wellness import Mistakes, wellness_of
from stoker.view.meant import meant
from stoker.view.states import NOT_WELL, State, in_numbers
from stoker.view.wording import counted

KNOWN = ["shop/stock", "other/nope", "shop/cart", "other/cart", "far/carts"]


def row(state: str = "good") -> Row:
    """A workload."""
    return Row(kind="Prometheus", namespace="x", name="x", version="", state=state, headline="")


def totals(**numbers: int) -> Totals:
    """Resources by the names of their states."""
    return totals_of({State[name.upper()]: number for name, number in numbers.items()})


@pytest.mark.parametrize(
    ("rows", "numbers", "unusable", "state", "headline"),
    [
        ([], {}, 0, "unknown", "There is no workload yet"),
        ([], {}, 2, "problem", "There is no workload yet; 2 objects cannot be used"),
        (["good"], {}, 0, "good", "The one workload is well"),
        (["good"], {"used": 1}, 0, "good", "The one workload is well; 1 resource is used"),
        (["good"] * 2, {"used": 2919}, 0, "good",
         "All 2 workloads are well; 2,919 resources are used"),
        (["unknown", "good"], {}, 0, "unknown", "1 workload of 2 needs a look"),
        (["good"], {"used": 1, "unclear": 1}, 0, "unknown",
         "The one workload is well; of 2 resources 1 is unclear"),
        (["problem"], {"used": 2638, "no_targets": 362}, 0, "problem",
         "1 workload of 1 needs a look; of 3,000 resources 362 have no targets"),
        (["good"], {"not_selected": 1, "held": 2, "rejected": 3}, 1, "problem",
         "The one workload is well; of 6 resources 3 are rejected, 2 are held and 1 is not "
         "selected; 1 object cannot be used"),
    ],
)  # fmt: skip
def test_it_is_told_in_a_word_and_a_sentence(
    rows: list[str], numbers: dict[str, int], unusable: int, state: str, headline: str
) -> None:
    """The worst first, in numbers as people read them."""
    found = wellness_of([row(each) for each in rows], totals(**numbers), Mistakes(unusable))
    assert found == (state, headline)


def test_workloads_that_one_may_not_see_are_not_denied() -> None:
    """Somebody uses the resources; whoever asks may only not see who."""
    state, headline = wellness_of([], totals(used=1), Mistakes(), all_seen=False)
    assert (state, headline) == (
        "good",
        "There is no workload that you may see; 1 resource is used",
    )


def test_fields_that_do_not_exist_are_not_well() -> None:
    """Though the objects that have them are used."""
    state, headline = wellness_of([row()], totals(used=2), Mistakes(misspelt=2))
    assert state == "problem"
    assert headline.endswith("; 2 resources are used; 2 objects have fields that do not exist")


@pytest.mark.parametrize("state", [each for each in State if each is not State.USED])
def test_nothing_but_what_is_used_is_well(state: State) -> None:
    """Each state has words of its own, for one and for several, and none is called good."""
    assert state in NOT_WELL
    assert in_numbers({state: 1}).startswith("1 ")
    assert in_numbers({state: 1})[2:] != ""
    assert wellness_of([row()], totals(**{state.name: 1}), Mistakes())[0] != "good"


@pytest.mark.parametrize(
    ("path", "guess"),
    [
        ("shop/nope", "other/nope"),
        ("shop/carts", "far/carts"),
        ("shop/stokc", "shop/stock"),
        ("shpo/stock", "shop/stock"),
        ("shop/cart", "shop/cart"),
        ("othre/cart", "other/cart"),
        ("nowhere/stokc", "shop/stock"),
        ("shop/quite-different", ""),
    ],
)
def test_a_name_elsewhere_is_nearer_than_another_name(path: str, guess: str) -> None:
    """A namespace that two names share makes neither look like the other."""
    assert meant(path, KNOWN) == guess


def test_numbers_are_written_as_people_read_them() -> None:
    """The page does the same."""
    assert [counted(each, "target") for each in (0, 1, 2919)] == [
        "0 targets",
        "1 target",
        "2,919 targets",
    ]
