"""Alertmanager itself reads what stoker makes, and says where alerts would go."""

import subprocess
from collections import Counter
from itertools import product
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest

from stoker.api.alertmanager import Alertmanager
from stoker.api.amconfig import ALERTMANAGER_CONFIG, v1alpha1
from stoker.api.decode import convert
from stoker.errors import DecodeError
from stoker.generate.alertmanager.kept import KIND, KeptAlerting
from stoker.ref import Ref
from stoker.select.assets import Missing, Source
from tests.amtool import refusals
from tests.conformance.alerting import configuration_text
from tests.conformance.cases import default_folder, suites
from tests.conformance.generated import leaves, prepare, resource, schema_of_version
from tools.build import binaries

RECORDED: Final = 62
FUZZED: Final = 1200

# What the newest Alertmanager refuses, and how often: cases that no cluster has.
REFUSED: Final = {
    "unsupported scheme": (1, "the URL of PagerDuty in a test is none"),
}
FALLBACKS: Final = """
global:
  slack_api_url: https://slack.com/api/chat.postMessage
  smtp_from: a
  smtp_smarthost: h:25
  opsgenie_api_key: x
  wechat_api_secret: x
  wechat_api_corp_id: y
  victorops_api_key: z
  telegram_bot_token: t
route: {receiver: nobody}
receivers: [{name: nobody}]
"""
HOSTILE: Final = (
    'x",namespace=~".*',
    'x"} or {a="b',
    "a\nnamespace=~.*",
    "\\",
    '\\"',
    ".*",
    "",
    "=~",
    "null",
    "~",
    "namespace",
    "- x",
    "a: b",
    "$(POD_NAME)",
    "é 💥",
    "{{ .X }}",
)


class Values:
    """Answers every reference: mostly with a URL, sometimes with what nobody should write."""

    def value(self, source: Source) -> str | Missing:
        """Tell the text behind a key, the same each time."""
        if source.name == "alertmanager-main":
            return FALLBACKS
        random = Random(f"{source.name}{source.key}")
        return "https://example.com/x" if random.random() < 0.7 else random.choice(HOSTILE)


def file_of(value: dict[str, Any]) -> str | None:
    """Make the file for one AlertmanagerConfig; nothing if it is rejected."""
    metadata = {"name": "main", "namespace": "monitoring"}
    spec: dict[str, Any] = {"alertmanagerConfigSelector": {}}
    made = KeptAlerting(convert(Alertmanager, {"metadata": metadata, "spec": spec}), Values())
    try:
        config = convert(v1alpha1.AlertmanagerConfig, value)
    except DecodeError:
        return None
    made.put(Ref(KIND, "team", "cfg"), config, Values())
    (verdict,) = made.verdicts.values()
    return made.text() if verdict.accepted else None


def spiced(value: dict[str, Any], random: Random) -> dict[str, Any]:
    """Put routes into an object that fit it, with hostile names and values."""
    spec = value["spec"]
    names = []
    for index, receiver in enumerate(spec.setdefault("receivers", [{}])):
        receiver["name"] = f"{random.choice(HOSTILE)}{index}"
        names.append(receiver["name"])
    matcher = {
        "name": random.choice(HOSTILE) or "x",
        "value": random.choice(HOSTILE),
        "matchType": random.choice(("=", "!=", "=~", "!~")),
    }
    spec["route"] = {
        "receiver": random.choice(names or ["none"]),
        "matchers": [matcher],
        "routes": [{"matchers": [matcher], "continue": True}],
    }
    spec["inhibitRules"] = [{"sourceMatch": [matcher], "targetMatch": [matcher]}]
    return value | {"metadata": {"name": "cfg", "namespace": "team"}}


def test_alertmanager_takes_every_recorded_configuration() -> None:
    """Only the groups in the table are refused, and none of them more or less often."""
    folder = default_folder()
    if not folder.is_dir():
        pytest.skip(f"{RECORDED} recorded configurations are missing: no folder {folder}")
    cases = [one for one in suites(folder)["alertmanager-config"].cases() if "config" in one.expect]
    assert len(cases) == RECORDED
    answers = refusals([configuration_text(case.given) for case in cases])
    found = Counter(
        next((group for group in REFUSED if group in answer), f"{case.name}: {answer}")
        for case, answer in zip(cases, answers, strict=True)
        if answer
    )
    assert found == {group: count for group, (count, _) in REFUSED.items()}


def test_alertmanager_takes_whatever_is_accepted() -> None:
    """Objects made up from the schema, with hostile strings: accepted means that it loads."""
    version = ALERTMANAGER_CONFIG.versions[0]
    schema = schema_of_version(version)
    prepare(schema)
    paths = list(leaves(schema["properties"]["spec"], (".spec",)))
    made = []
    for number in range(FUZZED):
        random = Random(number)
        value = resource(version, str(number), random.choice((0, 0.2)), paths[number % len(paths)])
        made.append(file_of(spiced(value, random)))
    texts = [text for text in made if text is not None]
    assert len(texts) > FUZZED / 20
    assert [answer for answer in refusals(texts) if answer] == []


@pytest.mark.parametrize(("name", "match_type"), list(product(HOSTILE, ("=", "=~", "!=", "!~"))))
def test_no_matcher_leads_to_alerts_of_others(name: str, match_type: str, tmp_path: Path) -> None:
    """Whatever a tenant matches, an alert of another namespace does not reach the tenant."""
    matchers = [{"name": name or "x", "value": each, "matchType": match_type} for each in HOSTILE]
    texts = [text for each in matchers if (text := file_of(_routed(each)))]
    assert texts
    for number, text in enumerate(texts):
        file = tmp_path / f"{number}.yaml"
        file.write_text(text)
        assert _receivers(file, "namespace=other", "a=b") == ["nobody"]


def test_alerts_of_the_namespace_reach_the_tenant(tmp_path: Path) -> None:
    """The test above means something: the tenant's own alerts do arrive."""
    file = tmp_path / "own.yaml"
    file.write_text(file_of(_routed({"name": "a", "value": "b", "matchType": "="})) or "")
    assert _receivers(file, "namespace=team", "a=b") == ["team/cfg/r"]


def _routed(matcher: dict[str, str]) -> dict[str, Any]:
    spec = {"receivers": [{"name": "r"}], "route": {"receiver": "r", "matchers": [matcher]}}
    return {"metadata": {"name": "cfg", "namespace": "team"}, "spec": spec}


def _receivers(file: Path, *labels: str) -> list[str]:
    command = ["config", "routes", "test", f"--config.file={file}", *labels]
    done = subprocess.run(
        [str(binaries("amtool")["amtool"]), *command], capture_output=True, check=True, text=True
    )
    return done.stdout.strip().split(",")
