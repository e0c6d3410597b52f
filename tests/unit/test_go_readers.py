"""What Go refuses is refused before: one text of a tenant must not make a whole file unreadable.

Each text here made Alertmanager or Prometheus refuse its file, or is close to one that did.
"""

import pytest

from stoker.api.decode import convert
from stoker.api.monitors import ServiceMonitor
from stoker.api.prometheus import Prometheus
from stoker.cli.operator_settings import operator_settings
from stoker.select.assets import Missing, Source
from stoker.select.workload import scraper_of
from stoker.settings import Capabilities
from stoker.validate.alertmanager.matchers import expression_problem
from stoker.validate.alertmanager.syntax import go_template_problem, smart_host_problem
from stoker.validate.findings import Reason
from stoker.validate.monitors import service_monitor
from stoker.validate.reading import ScraperReading
from stoker.validate.relabel import regex_problem
from stoker.validate.syntax import web_url_problem
from stoker.version import parse_version
from tests.builders import typed

DEEP = "(" * 1000 + ")" * 1000
PROMETHEUS = parse_version("3.14.0")


@pytest.mark.parametrize(
    "text",
    [
        *(r"\Qa", r".*\Q", "(?P<é>a)", "(?<é>a)", DEEP, r"\C", r"\p{Old_Italic}"),
        *(r"\p{SignWriting}", r"\p{Nag_Mundari}", "a|[[:words:]]", "x**", "a\ud800"),
    ],
)
def test_an_expression_that_go_does_not_read_is_refused(text: str) -> None:
    """In matchers and in relabelings: both put it into a group."""
    assert expression_problem(text)
    assert regex_problem(text, PROMETHEUS)


@pytest.mark.parametrize(
    "text",
    [
        r"\Qa\E",
        r"\\Qa",
        "(?P<e>é)",
        "[(]" * 300,
        r"\(" * 300,
        "(a)" * 300,
        r"\Q(((\E",
        "[[:alpha:](]",
        DEEP[2:-2],
        r"\p{Letter}\pl\p{han}",
    ],
)
def test_an_expression_that_go_reads_is_taken(text: str) -> None:
    """Brackets that open no group do not count, nor do groups one after the other."""
    assert not expression_problem(text)
    assert not regex_problem(text, PROMETHEUS)


@pytest.mark.parametrize(
    ("text", "since", "before"),
    [
        ("(?<a>x)", "2.51.0", "2.50.1"),
        (r"\p{Kawi}", "2.47.0", "2.46.0"),
        (r"\p{Letter}", "3.7.0", "3.6.0"),
        (r"\p{Old_Italic}", "3.6.0", "3.7.0"),
    ],
)
def test_the_go_of_the_program_that_reads_it_decides(text: str, since: str, before: str) -> None:
    """One release of Prometheus takes an expression, another does not."""
    assert not regex_problem(text, parse_version(since))
    assert regex_problem(text, parse_version(before))
    assert not expression_problem("(?<a>x)", parse_version("0.28.0"))
    assert expression_problem("(?<a>x)", parse_version("0.27.0"))


@pytest.mark.parametrize(
    "text",
    [
        "{{ end }}{{ if . }}",
        "{{ $labels }}",
        '{{ define "a" }}x{{ end }}{{ define `a` }}y{{ end }}',
        '{{ define "\\x61" }}x{{ end }}{{ block "a" . }}y{{ end }}',
        "{{ toUpper . }}",
        "http://a/'{{ toUpper `a` }}'",
        'http://a/"{{ toUpper 1 }}"',
        "http://a/*{{ humanize 1 }}*/",
        '{{ define "" }}x{{ end }}y',
        "{{ 1e999 }}",
    ],
)
def test_a_template_of_a_url_that_go_does_not_read_is_refused(text: str) -> None:
    """It has no variables, no functions of notifications, and ends only what it began."""
    assert go_template_problem(text)


@pytest.mark.parametrize(
    "text",
    [
        '{{ define "a" }}x{{ end }}{{ template "a" . }}',
        '{{ define "a" }}x{{ end }}{{ define "\\r\\u0061\\x00\\141" }}y{{ end }}',
        "{{ $x := . }}{{ $x }}",
        "{{ $ }}",
    ],
)
def test_a_template_that_go_reads_is_taken(text: str) -> None:
    """Definitions may stand in it, each under a name of its own."""
    assert not go_template_problem(text)


def test_a_secret_that_is_no_template_is_not_quoted() -> None:
    """What is wrong with it would be a part of it."""
    text = "http://a/{{ hunter2 }}"
    assert "hunter2" in go_template_problem(text)
    assert go_template_problem(text, secret=True) == "is a template that cannot be read"


def test_a_template_is_read_by_the_go_of_its_alertmanager() -> None:
    """0.28 was built with Go 1.23, which brought `else with`."""
    text = "{{ with 1 }}{{ else with 2 }}{{ end }}"
    assert go_template_problem(text, parse_version("0.27.0"))
    assert not go_template_problem(text, parse_version("0.28.0"))


@pytest.mark.parametrize(
    "text",
    [
        "http://[::1%25]/",
        "http://[::1%25a][::1]/",
        "http://[::%41]/",
        "http://x/?#%zz",
        "http://[1.2.3.4]",
    ],
)
def test_a_url_that_go_does_not_read_is_refused(text: str) -> None:
    """An address in brackets is one address with one zone, and fragments have escapes too."""
    assert web_url_problem(text)


@pytest.mark.parametrize("text", ["http://[fe80::1%25eth0]:80/", "http://x/?%zz#a", "http://[::1]"])
def test_a_url_that_go_reads_is_taken(text: str) -> None:
    """What is in a query is not looked at."""
    assert not web_url_problem(text)


def test_brackets_of_a_mail_server_stand_around_its_address() -> None:
    """Everywhere else they make Alertmanager refuse the file."""
    assert [smart_host_problem(text) for text in ("a:25", "[::1]:25", ":25")] == ["", "", ""]
    assert all(
        map(smart_host_problem, ("[:25", "]:25", "a[]:25", "a:b[", "a:b:25", "[[a]:25", "a:"))
    )


class Nothing:
    """No Secret is there."""

    def value(self, source: Source) -> Missing:
        """Tell that there is none."""
        return Missing(source, object_exists=False)


@pytest.mark.parametrize("denied", [False, True])
def test_the_operator_can_deny_files_to_all(*, denied: bool) -> None:
    """A flag for all workloads does what a Prometheus can say for itself."""
    words = ["--deny-file-access-in-configuration-resources"] if denied else []
    assert operator_settings(words).deny_files == denied
    scraper = typed(Prometheus, "a", {}, "b")
    workload = scraper_of(scraper, Capabilities(deny_files=denied))
    endpoint = {"port": "web", "bearerTokenFile": "/var/run/token"}
    monitor = {"metadata": {}, "spec": {"endpoints": [endpoint], "selector": {}}}
    found = service_monitor(
        convert(ServiceMonitor, monitor), ScraperReading(workload, Nothing(), "b")
    )
    assert [one.reason for one in found] == ([Reason.FILE_ACCESS_FORBIDDEN] if denied else [])
