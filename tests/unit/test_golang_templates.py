"""Templates as Go parses them: a table of Go's answers, versions, calls, and what it costs."""

import time
from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from stoker.golang import NEWEST, Go
from stoker.golang.calls import calls
from stoker.golang.letters import is_name
from stoker.golang.literals import quoted, unquoted
from stoker.golang.template import RefusedTemplateError, Setting, is_plain, refusal, tokens
from tests.unit.go_templates import REFUSED, SETTING, TAKEN


@pytest.mark.parametrize("text", TAKEN)
def test_what_go_takes_is_taken(text: str) -> None:
    """A good template that is refused leaves out somebody's rules."""
    assert refusal(text, SETTING) == ""


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: text[:40])
def test_what_go_refuses_is_refused(text: str) -> None:
    """One that is taken stops everybody's."""
    assert refusal(text, SETTING)


# What is plain, and what only looks like it.
WORDS = (
    *(
        "{{",
        "}}",
        "{",
        "}",
        " ",
        "\n",
        "$",
        "$labels",
        "$value",
        ".job",
        ".",
        "|",
        " | ",
        "humanize",
    ),
    *(
        "print",
        "nope",
        '"%.2f"',
        '"}}"',
        '"\\n"',
        '"',
        "`a`",
        "1",
        "true",
        "if",
        "end",
        "-",
        "(",
        ")",
    ),
    *(":=", ",", "é", "text"),
)
KNOWN = replace(SETTING, variables=("$", "$labels", "$value"))


@pytest.mark.parametrize(
    "text",
    ["{{ $labels.job }} is at {{$value|humanize}} {", '{{ $value | print "%" | humanize }}'],
)
def test_what_people_write_is_plain(text: str) -> None:
    """It is not taken apart."""
    assert is_plain(text, KNOWN)


@given(st.lists(st.sampled_from(WORDS), max_size=8).map("".join), st.booleans())
@example("$nope.job", True)
@example("$value | nope", True)
@example("$value $value", True)
@example('print "}}"', True)
def test_what_is_plain_is_a_template(text: str, inside: bool) -> None:
    """Whatever is found plain, the parser would take."""
    text = f"{{{{ {text} }}}}" if inside else text
    for go in ((1, 9), NEWEST):
        if is_plain(text, KNOWN):
            tokens(text, replace(KNOWN, go=go))


@pytest.mark.parametrize("text", ["{{ " + "(" * 10_001 + "1" + ")" * 10_001 + " }}"])
def test_parentheses_have_a_depth(text: str) -> None:
    """Go takes ten thousand inside each other, and no recursion of ours ends before that."""
    assert refusal(text, SETTING)
    assert not refusal(text.replace("(", "", 1).replace(")", "", 1), SETTING)


def test_the_name_of_the_whole_is_defined_by_the_whole() -> None:
    """A definition of it is another one, unless one of the two has nothing in it."""
    text = '{{ define "a" }}x{{ end }}'
    assert refusal(f"{text} y", Setting("a"))
    assert not refusal(text, Setting("a"))
    assert refusal(text, Setting("a", begun=True))
    assert not refusal(f"{text} y", Setting("b"))


OLDER: tuple[tuple[str, Go], ...] = (
    ("{{ range . }}{{ break }}{{ end }}", (1, 19)),
    ("{{ range . }}{{break}}{{ end }}", (1, 18)),
    ("{{ with 1 }}{{ else with 2 }}{{ end }}", (1, 23)),
    ("{{ .\U0001e4d0 }}", (1, 21)),
    ("{{ 1\n}}", (1, 16)),
    ("{{ 0b1 }}", (1, 13)),
    ("{{ $x := 1 }}{{ $x = 2 }}", (1, 11)),
)


@pytest.mark.parametrize(("text", "since"), OLDER)
def test_an_older_go_knows_less(text: str, since: Go) -> None:
    """What a version of Go brought, the one before it refuses."""
    assert not refusal(text, Setting(go=since))
    assert refusal(text, Setting(go=(since[0], since[1] - 1)))


def test_a_function_that_the_reader_lacks_says_what_it_needs() -> None:
    """It is another thing than one that nobody has."""
    setting = Setting(functions={"now": "needs a newer one"})
    assert refusal("{{ now }}", setting) == "the function `now` needs a newer one"
    assert refusal("{{ then }}", setting) == "there is no function `then`"


# --- Names and strings ----------------------------------------------------------------------------


def test_letters_are_those_of_gos_unicode() -> None:
    """They are the same under every Python; the newest of Unicode's are in none of them."""
    assert all(is_name(name, (1, 21)) for name in ("a", "é1", "名_前", "\U0001e4d0", "٣"))
    assert not any(is_name(name, (1, 26)) for name in ("½", "Ⅷ", "a\u0301", "‿", "\U0002ebf0"))
    assert not is_name("\U0001e4d0", (1, 20))


@given(st.text(st.characters(exclude_categories=["Cs"])), st.sampled_from(['"', "`"]))
def test_a_quoted_text_is_one_string_of_the_text(text: str, like: str) -> None:
    """Whatever it has in it."""
    literal = quoted(text, like=like)
    assert unquoted(literal).decode() == text
    assert not refusal(f"{{{{ {literal} }}}}", Setting())


# --- Calls ----------------------------------------------------------------------------------------

CALLS: tuple[tuple[str, list[str | None]], ...] = (
    ('{{ query "a" }}', ['"a"']),
    ("{{ `a` | query }}", ["`a`"]),
    ('{{ range query (("a")) }}{{ end }}', ['"a"']),
    ('{{ $x := query "a" | print (query `b`) }}', ["`b`", '"a"']),
    ('{{ define "query" }}{{ with query "a" }}{{ query . }}{{ end }}{{ end }}', ['"a"', None]),
    ('{{ query "a" "b" }}', [None]),
    ('{{ "a" | query "b" }}', [None]),
    ('{{ "a" | print | query }}', [None]),
    ('{{ $q := "a" }}{{ query $q }}', [None]),
    ('{{ print query }}{{ (query) "a" }}{{ call query "a" }}', [None, None, None]),
    ('{{ query.x "a" }}{{ query ("a").x }}', [None, None]),
    ('{{ .query "a" }}{{ $.query }} query "a" {{ "query" }}{{/* query "a" */}}', []),
)


@pytest.mark.parametrize(("text", "given_strings"), CALLS)
def test_calls_are_found_with_the_string_that_they_are_given(
    text: str, given_strings: list[str | None]
) -> None:
    """None where it is not one string that is written out."""
    found = [call.literal for call in calls(text, SETTING, "query")]
    assert [each and text[each.start : each.end] for each in found] == given_strings


def test_what_is_no_template_has_no_words() -> None:
    """Who asks for the words of one that Go refuses is told why there are none."""
    assert tokens("no action", SETTING) == []
    with pytest.raises(RefusedTemplateError):
        tokens("{{ 1", SETTING)


# --- What it costs --------------------------------------------------------------------------------

GROWING: tuple[Callable[[int], str], ...] = (
    lambda size: "{{ $x := 1 }}" * size,
    lambda size: "{{ print " + "1 " * size + "}}",
    lambda size: "{{ ." + "a" * 20 * size + " }}",
    lambda size: "{{ .é" + "é" * 20 * size + " }}",
    lambda size: '{{ "' + "\\n" * 10 * size + '" }}',
    lambda size: '{{ define "' + "\\n" * 10 * size + '" }}{{ end }}',
    lambda size: "{{ 1." + "1" * 20 * size + " }}",
    lambda size: "{{ 0x" + "f" * 20 * size + "p1 }}",
    lambda size: "{{ 1" + "_1" * 10 * size + " }}",
    lambda size: "{{" + " " * 20 * size + "1" + " " * 20 * size + "}}",
    lambda size: "{{if 1}}" * size + "{{end}}" * size,
    lambda size: "{{if 1}}" + "{{else if 1}}" * size + "{{end}}",
    lambda size: "{{ " + "(" * size + "1",
    lambda size: "".join(f'{{{{define "{number}"}}}}x{{{{end}}}}' for number in range(size)),
    lambda size: "".join(f'{{{{block "{number}" .}}}}' for number in range(size)),
    lambda size: "{{/*" + "* /" * 10 * size + "*/}}",
    lambda size: "{{define ``}}" + " " * 20 * size + "{{end}}" + " {" * 10 * size,
)


@pytest.mark.parametrize("growing", GROWING)
def test_eight_times_the_text_takes_about_eight_times_as_long(
    growing: Callable[[int], str],
) -> None:
    """Sixty-four times would be the square; the CPU's time, since others may have the CPU too."""
    small, large = growing(400), growing(3200)
    assert min(_took(large) for _ in range(3)) < 30 * min(_took(small) for _ in range(5))


def _took(text: str) -> float:
    start = time.process_time()
    for _ in range(3):
        refusal(text, SETTING)
    return time.process_time() - start
