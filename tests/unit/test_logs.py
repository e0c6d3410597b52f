"""Structured logs: their form, and what never gets into them."""

import io
import json
import logging
import re
from collections.abc import Iterator
from typing import Any

import pytest

from stoker import logs


@pytest.fixture(autouse=True)
def unchanged_logging() -> Iterator[None]:
    """Give the root logger back as it was."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


def written(form: str, message: str, call: str = "info", /, **fields: Any) -> str:
    """What one call writes."""
    stream = io.StringIO()
    logs.configure("all", form, stream)
    getattr(logs.logger("web"), call)(message, **fields)
    return stream.getvalue()


def test_a_line_has_the_order_of_keys_that_people_know() -> None:
    """Time, level, caller, message, component, then what the caller adds."""
    line = written("logfmt", "it works", namespace="shop", seconds=0.5, ok=True)
    assert re.fullmatch(
        r"ts=\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z level=info caller=test_logs\.py:\d+ "
        r'msg="it works" component=web namespace=shop seconds=0\.5 ok=true\n',
        line,
    )


def test_json_says_the_same() -> None:
    """One object a line, numbers as numbers."""
    line = written("json", "it works", "warn", seconds=0.5, name="a")
    found = json.loads(line)
    assert list(found) == ["ts", "level", "caller", "msg", "component", "seconds", "name"]
    assert (found["level"], found["seconds"], found["msg"]) == ("warn", 0.5, "it works")


HOSTILE = [
    "two\nlines level=error",
    'quoted " msg="other"',
    "tab\there\r",
    "\x1b[31mred",
    "\u202ereversed",
    "separated\u2028here",
    "back\\slash",
    "",
    "lone \ud800 surrogate",
]


@pytest.mark.parametrize("form", ["logfmt", "json"])
@pytest.mark.parametrize("value", HOSTILE)
def test_a_value_never_becomes_structure(form: str, value: str) -> None:
    """Whatever a value holds, it is one value in one line of printable text, and can be read."""
    line = written(form, value, note=value)
    assert line.endswith("\n")
    assert line[:-1].isprintable()
    if form == "json":
        found = json.loads(line)
        texts = [found["msg"], found["note"]]
    else:
        quoted = re.findall(r'(?:msg|note)=("(?:[^"\\]|\\.)*")', line)
        texts = [json.loads(text) for text in quoted]
    assert texts == [value, value]


def test_a_field_cannot_take_the_place_of_another() -> None:
    """A field called `level` does not change the level, and an odd key stays one word."""
    fields: dict[str, Any] = {"level": "none", "message": "m", "a b=c": 1}
    found = json.loads(written("json", "x", **fields))
    assert (found["level"], found["level_"], found["a_b_c"]) == ("info", "none", 1)
    assert (found["msg"], found["message"]) == ("x", "m")


def test_what_is_no_number_is_text_in_json() -> None:
    """JSON has no NaN."""
    assert json.loads(written("json", "x", value=float("nan")))["value"] == "nan"


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("GET https://admin:hunter2@example.com/x failed", "hunter2"),
        ("Authorization: Bearer abc.def-ghi123", "abc.def-ghi123"),
        ("token eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0.c2ln in use", "eyJzdWIi"),
        ('{"password": "hunter2", "user": "a"}', "hunter2"),
        ("api_key=hunter2&x=1", "hunter2"),
        ("client_secret: 'hunter2'", "hunter2"),
        ("-----BEGIN RSA PRIVATE KEY-----\nhunter2\n-----END RSA PRIVATE KEY-----", "hunter2"),
        ("-----BEGIN PRIVATE KEY-----\nhunter2", "hunter2"),
    ],
)
def test_credentials_are_left_out(text: str, secret: str) -> None:
    """The last line of defence: what looks like a credential is hidden, wherever it stands."""
    assert secret not in logs.redact(text)
    assert secret not in written("logfmt", text)
    assert secret not in written("json", "x", err=ValueError(text))


@pytest.mark.parametrize(
    "text",
    [
        "spec.endpoints[0].basicAuth.password: there is no Secret shop/login",
        "spec.oauth2.clientSecret: the Secret has no key secret",
        "https://example.com/path?x=1",
        "unable to get secret shop/x",
    ],
)
def test_what_is_no_credential_stays_readable(text: str) -> None:
    """The path to a field and the names of Secrets are what people need."""
    assert logs.redact(text) == text


def test_a_value_has_an_end() -> None:
    """A huge value is cut, so that a line stays a line."""
    assert len(written("logfmt", "x" * 1_000_000)) < 10_000


def test_only_what_is_loud_enough_is_written() -> None:
    """Levels are thresholds; `none` writes nothing."""
    for level, expected in {"error": ["e"], "warn": ["w", "e"], "none": []}.items():
        stream = io.StringIO()
        logs.configure(level, "logfmt", stream)
        log = logs.logger("web")
        log.debug("d")
        log.info("i")
        log.warn("w")
        log.error("e")
        assert re.findall(r"msg=(\w)", stream.getvalue()) == expected


def test_lines_of_libraries_come_in_the_same_form() -> None:
    """Python's own logging goes the same way, a traceback as one value."""
    stream = io.StringIO()
    logs.configure("info", "logfmt", stream)
    try:
        raise ValueError("odd\nthing")
    except ValueError:
        logging.getLogger("asyncio").exception("task %s failed", "a b")
    (line,) = stream.getvalue().splitlines()
    assert "level=error" in line
    assert 'msg="task a b failed" component=asyncio stack="Traceback' in line
