"""Alertmanager itself reads AlertmanagerConfigs with hostile templates in every field of texts."""

from collections.abc import Callable
from typing import Any, Final

from stoker.api.alertmanager import Alertmanager
from stoker.api.amconfig import v1alpha1
from stoker.api.decode import convert
from stoker.generate.alertmanager.kept import KIND, KeptAlerting
from stoker.ref import Ref
from stoker.select.assets import Missing, Source
from tests.amtool import refusals
from tests.fuzz.templates import Maker
from tests.judge import Question, answers
from tests.unit.go_templates import REFUSED, TAKEN

MADE: Final = 400
AT_ONCE: Final = 40
# Quotes and comments of the text around an action hide nothing of it.
AROUND: Final = (
    "'{{ toUpper `a` }}'", '"{{ toUpper 1 }}"', "*{{ humanize 1 }}*/", "/*{{ humanize 1 }}*/",
    "`{{ toUpper 1 }}`", "'{{ 1 }}'", "{{/* toUpper */}}", "{{ `toUpper` }}", "{{ $labels }}",
    "'{{ ' }}'", '{{ "toUpper" }}', "{{ .toUpper }}",
)  # fmt: skip
OWN: Final = """
global: {slack_api_url: "https://a/b", opsgenie_api_key: x}
route: {receiver: nobody}
receivers: [{name: nobody}]
"""
KEY: Final = {"name": "s", "key": "k"}


class Values:
    """Answers every reference with one text."""

    def __init__(self, text: str) -> None:
        self.text = text

    def value(self, source: Source) -> str | Missing:
        """Tell the text, or the file that everything is put into."""
        return OWN if source.name == "alertmanager-main" else self.text


def responder(kind: str) -> dict[str, Any]:
    """An integration with a responder of this type."""
    return {"opsgenieConfigs": [{"responders": [{"name": "x", "type": kind}]}]}


def texts(text: str) -> dict[str, Any]:
    """An integration with this in all of its texts, which are read when something is sent."""
    names = ("title", "text", "pretext", "color", "fallback", "footer", "username", "channel")
    return {"slackConfigs": [dict.fromkeys(names, text)]}


FIELDS: Final[dict[str, Callable[[str], dict[str, Any]]]] = {
    "url": lambda text: {"webhookConfigs": [{"url": text}]},
    "urlSecret": lambda _: {"webhookConfigs": [{"urlSecret": KEY}]},
    "type": responder,
    "texts": texts,
}


def file_of(field: str, some: list[str]) -> tuple[list[bool], str]:
    """Make a file with these in one field, an object each; tell which of them are in it."""
    metadata = {"name": "main", "namespace": "monitoring"}
    spec: dict[str, Any] = {"alertmanagerConfigSelector": {}}
    made = KeptAlerting(convert(Alertmanager, {"metadata": metadata, "spec": spec}), Values(""))
    for number, text in enumerate(some):
        receiver = {"name": "mine", **FIELDS[field](text)}
        spec = {"route": {"receiver": "mine"}, "receivers": [receiver]}
        value = {"metadata": {"name": f"c{number}", "namespace": "team"}, "spec": spec}
        key = Ref(KIND, "team", f"c{number}")
        made.put(key, convert(v1alpha1.AlertmanagerConfig, value), Values(text))
    verdicts = [made.verdicts[Ref(KIND, "team", f"c{number}")] for number in range(len(some))]
    return [verdict.accepted for verdict in verdicts], made.text()


def test_no_template_stops_the_file_of_all() -> None:
    """What is taken loads, in whole files with many; what Go takes as a template is taken."""
    hostile = [f"http://a/{text}" for text in (*AROUND, *TAKEN, *REFUSED)]
    hostile += [f"http://a/{each.text}" for each in Maker(3).templates(MADE)]
    hostile = [text for text in hostile if "{{" in text and len(text) < 1000 and "\x00" not in text]
    said = [not answer.error for answer in answers(Question("template", text) for text in hostile)]
    files = []
    for field in FIELDS:
        taken: list[bool] = []
        for start in range(0, len(hostile), AT_ONCE):
            accepted, file = file_of(field, hostile[start : start + AT_ONCE])
            taken += accepted
            files.append(file)
        expected = said if field != "texts" else [True] * len(hostile)
        differing = [
            text for text, *both in zip(hostile, taken, expected, strict=True) if both[0] != both[1]
        ]
        assert not differing, field
    assert [answer for answer in refusals(files) if answer] == []
