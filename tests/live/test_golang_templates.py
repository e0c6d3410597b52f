"""Go itself judges made-up templates, the tables of names and strings, and where calls are."""

import json
import re
from typing import Any

from stoker.golang.calls import calls
from stoker.golang.letters import _UNICODE_13, _UNICODE_15
from stoker.golang.literals import STRING, unquoted
from stoker.golang.template import BUILT_IN, Setting, refusal
from tests.fuzz.templates import FUNCTIONS, Maker, Template, counted, judged
from tests.judge import Question, answers
from tests.unit import go_templates

COUNT = 8_000
KNOWN = {**BUILT_IN, **dict.fromkeys(FUNCTIONS, "")}


def test_the_table_of_templates_has_gos_answers() -> None:
    """What `make check` holds us to is what Go says."""
    texts = (*go_templates.TAKEN, *go_templates.REFUSED)
    said = answers(Question("template", text, "", go_templates.FUNCTIONS) for text in texts)
    taken = [text for text, answer in zip(texts, said, strict=True) if not answer.error]
    assert taken == list(go_templates.TAKEN)


def test_go_takes_whatever_template_is_taken() -> None:
    """None that it refuses; of those that it takes, hardly any is refused."""
    verdicts = judged([*Maker(0).templates(COUNT)])
    wrong = [each for each in verdicts if not each.ours and each.theirs]
    assert not wrong[:3]
    counts = counted(verdicts)
    print(counts)
    assert sum(count for (_, outcome), count in counts.items() if outcome == "taken by both") > 1000
    strict = [each for each in verdicts if each.ours and not each.theirs]
    assert len(strict) <= COUNT // 1000, strict[:3]


def test_names_have_gos_letters() -> None:
    """All of them at once, and each character beside a range of them."""
    ranges = [part.partition("-") for part in (_UNICODE_13 + _UNICODE_15).split()]
    ends = [(int(first, 16), int(last or first, 16)) for first, _, last in ranges]
    every = "".join(chr(code) for first, last in ends for code in range(first, last + 1))
    beside = [chr(code) for first, last in ends for code in (first - 1, last + 1)]
    texts = [f"{{{{.{every}}}}}", *(f"{{{{.a{character}}}}}" for character in beside)]
    said = answers(Question("template", text) for text in texts)
    differing = [
        text[:20]
        for text, answer in zip(texts, said, strict=True)
        if bool(answer.error) != bool(refusal(text, Setting()))
    ]
    assert not differing
    assert not said[0].error


def test_strings_stand_for_what_go_says() -> None:
    """Definitions are compared by it, and queries are read from it."""
    made = [each.text for each in Maker(1).templates(COUNT) if each.kind in ("quoting", "good")]
    literals = [found for text in made for found in re.findall(f"({STRING})", text)]
    said = answers(Question("unquote", literal) for literal in literals)
    for literal, answer in zip(literals, said, strict=True):
        assert not answer.error, literal
        # The judge answers in JSON, which has no bytes that are not UTF-8.
        value = unquoted(literal)
        assert value.decode(errors="replace") == answer.value or b"\xff" in value
    assert len(literals) > COUNT // 10


def test_no_call_is_overlooked() -> None:
    """Go's own trees have the same calls, with the same strings at the same places."""
    made = [*map(with_queries, Maker(2).templates(COUNT))]
    said = answers(Question("calls", each.text, each.name, FUNCTIONS) for each in made)
    strings = 0
    for template, answer in zip(made, said, strict=True):
        if answer.error:
            continue
        theirs = [(place["at"], place["text"]) for place in json.loads(answer.value)]
        ours = places(template)
        strings += sum(at >= 0 for at, _ in ours)
        # One definition of a name may replace another: that one is in none of Go's trees.
        assert set(theirs) <= set(ours), template
        assert (
            sorted(theirs) == sorted(ours) or "define" in template.text or "block" in template.text
        )
    assert strings > COUNT // 100


def with_queries(template: Template) -> Template:
    """The template with calls of `query` in place of most others."""
    text = template.text
    for name in ("humanize", "len", "x1", "print"):
        text = text.replace(name, "query")
    return template._replace(text=text)


def places(template: Template) -> list[tuple[int, Any]]:
    """Where the strings of our calls are, in bytes; -1 without one."""
    text = template.text
    return [
        (len(text[: found.start].encode()), text[found.start : found.end]) if found else (-1, "")
        for _, found in calls(text, Setting(template.name, KNOWN), "query")
    ]
