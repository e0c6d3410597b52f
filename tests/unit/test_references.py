"""Who must wake when a Secret or ConfigMap changes."""

from hypothesis import given
from hypothesis import strategies as st

from stoker.ref import Ref
from stoker.select.assets import Source
from stoker.select.references import References


def secret(name: str, key: str = "k") -> Source:
    """A key of a Secret."""
    return Source("Secret", "shop", name, key)


def test_only_readers_are_woken() -> None:
    """A Secret wakes those that read it, whether or not it exists, and nobody else."""
    kept: References[str] = References()
    kept.put("cart", [secret("login", "user"), secret("login", "password")])
    kept.put("search", [secret("token")])
    assert kept.readers(Ref("Secret", "shop", "login")) == {"cart"}
    assert kept.readers(Ref("Secret", "other", "login")) == frozenset()
    assert kept.readers(Ref("ConfigMap", "shop", "login")) == frozenset()


def test_what_is_no_longer_read_wakes_nobody() -> None:
    """After a change, and after the reader is gone."""
    kept: References[str] = References()
    kept.put("cart", [secret("login")])
    kept.put("cart", [secret("token")])
    assert kept.readers(Ref("Secret", "shop", "login")) == frozenset()
    kept.remove("cart")
    kept.remove("cart")
    assert kept.readers(Ref("Secret", "shop", "token")) == frozenset()


NAMES = st.sampled_from("abc")


@given(st.lists(st.tuples(NAMES, st.sets(NAMES))))
def test_readers_are_those_of_the_last_word(changes: list[tuple[str, set[str]]]) -> None:
    """Whatever the order of changes, the index says what a scan would say."""
    kept: References[str] = References()
    last: dict[str, set[str]] = {}
    for reader, names in changes:
        kept.put(reader, map(secret, names))
        last[reader] = names
    for name in "abc":
        expected = {reader for reader, names in last.items() if name in names}
        assert kept.readers(Ref("Secret", "shop", name)) == expected
