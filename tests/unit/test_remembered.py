"""Functions of texts that remember, within a bound in bytes."""

from itertools import islice

from stoker.remembered import remembered


def test_a_text_that_was_seen_is_not_worked_on_again() -> None:
    """The function is called once for equal arguments."""
    calls: list[tuple[str, int]] = []

    @remembered(10_000)
    def work(text: str, number: int) -> str:
        calls.append((text, number))
        return text.upper()

    assert [work("a", 1), work("a", 1), work("a", 2), work("b", 1)] == ["A", "A", "A", "B"]
    assert calls == [("a", 1), ("a", 2), ("b", 1)]


def test_what_is_kept_never_passes_the_limit() -> None:
    """However many texts come, and however long they are, the bytes kept are bounded."""
    kept = remembered(100_000)(str.upper)
    for number in range(1000):
        kept("x" * number * 7)
        assert kept.held <= 100_000
    assert kept.held > 40_000


def test_a_long_text_is_not_kept_at_all() -> None:
    """One text over a sixteenth of the limit would push all the others out."""
    kept = remembered(100_000)(str.upper)
    kept("short")
    before = kept.held
    assert kept("x" * 50_000) == "X" * 50_000
    assert kept.held == before


def test_what_is_asked_for_often_stays() -> None:
    """A text that comes again and again survives many that come once."""
    calls: list[str] = []

    @remembered(50_000)
    def work(text: str) -> str:
        calls.append(text)
        return text

    for number in range(1000):
        work("often")
        work(f"once {number}")
    assert calls.count("often") == 1


def test_wide_characters_and_heavy_results_cost_more() -> None:
    """A character beyond ASCII counts four bytes; a result may weigh more than its text."""
    narrow, wide = remembered(100_000)(str.upper), remembered(100_000)(str.upper)
    heavy = remembered(100_000, 50)(str.upper)
    narrow("x" * 100)
    wide("é" * 100)
    heavy("x" * 100)
    assert narrow.held + 300 == wide.held
    assert narrow.held + 5000 == heavy.held


def test_what_is_forgotten_between_two_looks_is_worked_on_anew() -> None:
    """Another thread may make it forget at any moment; here a text does, when it is looked for."""
    asked = remembered(64 * 1024)(lambda text: f"{text}!")
    numbers = iter(range(10_000))

    def flood(count: int) -> None:
        for number in islice(numbers, count):
            asked(f"{number:0200}")

    class Sly(str):
        __slots__ = ()
        looks = 10

        def __hash__(self) -> int:
            Sly.looks += 1
            if Sly.looks == 2:
                flood(200)
            return str.__hash__(self)

        __eq__ = str.__eq__

    text = Sly("sly")
    asked(text)
    flood(60)  # Now it is among the old ones.
    Sly.looks = 0
    assert asked(text) == "sly!"
    assert asked.held <= 64 * 1024
