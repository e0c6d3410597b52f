"""Keys in groups: as sets would have it, whichever way they came and went."""

from collections import Counter, defaultdict
from itertools import chain

from hypothesis import given
from hypothesis import strategies as st

from stoker.select.grouped import Grouped

_STEPS = st.lists(st.tuples(st.booleans(), st.sampled_from("ab"), st.integers(0, 3)), max_size=40)


@given(_STEPS)
def test_groups_hold_what_sets_would_hold(steps: list[tuple[bool, str, int]]) -> None:
    """Adding twice and taking out what is not there change nothing; empty groups are not kept."""
    found: Grouped[str, int] = Grouped()
    sets: defaultdict[str, set[int]] = defaultdict(set)
    for adds, group, key in steps:
        if adds:
            found.add(group, key)
            sets[group].add(key)
        else:
            found.discard(group, key)
            sets[group].discard(key)
    assert {group: set(found.get(group)) for group in "ab"} == {g: sets[g] for g in "ab"}
    assert Counter(found.keys()) == Counter(chain.from_iterable(sets.values()))
    assert len(found) == sum(map(bool, sets.values()))
