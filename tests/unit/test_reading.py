"""The one reader of references: what it gives, what it notes, and that there is no other."""

import re
from itertools import chain
from pathlib import Path

import pytest

import stoker
from stoker.api.common import SecretOrConfigMap
from stoker.api.core import ConfigMapKeySelector, SecretKeySelector
from stoker.errors import OverBudgetError, ResourceError
from stoker.generate.alertmanager.draft import AlertDraft
from stoker.generate.draft import Draft
from stoker.limits import LIMITS, Limits
from stoker.ref import Ref
from stoker.select.assets import AssetsAtHand, Missing, Reference, Source
from stoker.validate.alertmanager.reading import AlertReading
from stoker.validate.findings import Reason
from stoker.validate.reading import CheckReading, Reading
from stoker.version import parse_version

SOURCE = Path(stoker.__file__).parent
SECRET = Source("Secret", "shop", "login", "word")
ASSETS = AssetsAtHand(
    {
        Ref("Secret", "shop", "login"): {"word": "hunter2"},
        Ref("ConfigMap", "shop", "notes"): {"host": "mail"},
    }
)
THERE = SecretKeySelector(name="login", key="word")
NO_KEY = SecretKeySelector(name="login", key="user")
NO_SECRET = SecretKeySelector(name="logout", key="word")
NAMES_NOTHING = SecretKeySelector(name="", key="")


class Counting:
    """Assets that count how often each key is asked for."""

    def __init__(self) -> None:
        self.asked: list[Source] = []

    def value(self, source: Source) -> str | Missing:
        """The text behind a key, or why there is none."""
        self.asked.append(source)
        return ASSETS.value(source)


def readings(limits: Limits | None = None) -> list[Reading]:
    """One of each kind, for the same object."""
    version = parse_version("3.0.0")
    return [
        Reading(ASSETS, "shop", limits),
        CheckReading(version, ASSETS, "shop", limits),
        AlertReading(version, ASSETS, "shop", limits=limits),
        Draft(version, ASSETS, "shop", limits),
        AlertDraft(version, ASSETS, "shop", limits),
    ]


EACH = pytest.mark.parametrize("reading", readings(), ids=lambda each: type(each).__name__)


@EACH
def test_a_value_is_read_and_noted(reading: Reading) -> None:
    """Of Secrets and ConfigMaps alike; what names nothing is not noted."""
    either = SecretOrConfigMap(config_map=ConfigMapKeySelector(name="notes", key="host"))
    assert [reading.value(each) for each in (THERE, either, NAMES_NOTHING, None)] == [
        "hunter2",
        "mail",
        None,
        None,
    ]
    assert reading.reads == {
        SECRET: "hunter2",
        Source("ConfigMap", "shop", "notes", "host"): "mail",
    }


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        (NO_KEY, "spec.login: Secret shop/login has no key `user`"),
        (NO_SECRET, "spec.login: there is no Secret shop/logout"),
        (NAMES_NOTHING, "spec.login: names no key of a Secret or ConfigMap"),
        (None, "spec.login: names no key of a Secret or ConfigMap"),
    ],
)
def test_what_is_missing_is_said_with_the_path(reference: Reference | None, said: str) -> None:
    """Generators and checks say the same of the same; what was looked for is noted."""
    for reading in readings():
        with pytest.raises(ResourceError) as raised:
            reading.needed(reference, "spec.login")
        assert str(raised.value) == said
        missing = [each for each in reading.reads.values() if isinstance(each, Missing)]
        assert len(missing) == (1 if reading.names(reference) else 0)
        if isinstance(reading, CheckReading):
            (finding,) = reading.unresolved(reference, "spec.login")
            assert str(finding) == said
            assert (finding.reason == Reason.REQUIRED) == (not missing)


def test_each_key_is_asked_for_once() -> None:
    """However often an object refers to it: what was said of it holds for all that is made."""
    assets = Counting()
    reading = CheckReading(parse_version("3.0.0"), assets, "shop")
    assert list(reading.unresolved(THERE, "spec")) == []
    assert reading.value(THERE) == reading.needed(THERE, "spec") == "hunter2"
    assert assets.asked == [SECRET]


def test_each_use_of_a_value_is_counted() -> None:
    """It stands in the configuration each time, also where it was read once."""
    values = dict.fromkeys(LIMITS, 10**6) | {"values-read": 15, "configuration-bytes": 15}
    for reading in readings(Limits(values)):
        reading.value(THERE)
        reading.value(THERE)
        with pytest.raises(OverBudgetError, match=rf"--resource-limits={reading.counted_as}="):
            reading.value(THERE)


# --- There is one reader --------------------------------------------------------------------------

# What reads a whole file of its user's, by its name, and what only compares with what was read.
OTHERS = {
    "generate/alertmanager/config.py": "the Alertmanager's own file",
    "generate/ledger.py": "whether what was read is still so",
}


def test_no_check_and_no_generator_reads_in_another_way() -> None:
    """What is read past the reader is not noted, and nobody is woken when it changes."""
    found = set()
    rooms = ("validate", "generate", "consolidate", "build")
    for path in chain(*((SOURCE / room).rglob("*.py") for room in rooms)):
        if re.search(r"(?:\b|_)assets\.value\b", path.read_text()):
            found.add(str(path.relative_to(SOURCE)))
    assert found == {"validate/reading.py", *OTHERS}
