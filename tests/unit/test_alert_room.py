"""The configuration of an Alertmanager has room for everybody, and too much harms its author."""

from random import Random

import pytest

from stoker.api.alertmanager import Alertmanager
from stoker.api.amconfig import v1alpha1
from stoker.api.decode import convert
from stoker.generate.alertmanager import room
from stoker.generate.alertmanager.kept import KIND, KeptAlerting
from stoker.generate.alertmanager.room import LARGEST_TEXT, Size, without_room
from stoker.generate.split import LARGEST_FILE
from stoker.generate.stream import gzip_member
from stoker.limits import limits_with
from stoker.ref import Ref
from stoker.select.assets import Missing, Source
from stoker.validate.findings import Reason


class Nothing:
    """No Secret is there."""

    def value(self, source: Source) -> Missing:
        """Tell that there is none."""
        return Missing(source, object_exists=False)


def kept() -> KeptAlerting:
    """An Alertmanager that takes all AlertmanagerConfigs."""
    metadata = {"name": "main", "namespace": "monitoring"}
    value = {"metadata": metadata, "spec": {"alertmanagerConfigSelector": {}}}
    limits = limits_with({"text-length": 10**7, "object-length": 10**7})
    return KeptAlerting(convert(Alertmanager, value), Nothing(), limits=limits)


def config(name: str, text: str) -> v1alpha1.AlertmanagerConfig:
    """An AlertmanagerConfig with a text in it."""
    namespace, _, name = name.partition("/")
    sns = {"topicARN": "x", "message": text}
    spec = {"receivers": [{"name": "r", "snsConfigs": [sns]}], "route": {"receiver": "r"}}
    value = {"metadata": {"namespace": namespace, "name": name}, "spec": spec}
    return convert(v1alpha1.AlertmanagerConfig, value)


def noise(length: int, seed: object) -> str:
    """Text that hardly compresses."""
    return Random(str(seed)).randbytes(length // 2).hex()


LARGE = {f"mallory/m{number:02}": noise(200_000, number) for number in range(11)}
GOOD = {"alice/a": noise(150_000, "a"), "bob/b": "x" * 300_000, "zoe/z": "hello"}


def rejected(made: KeptAlerting) -> set[str]:
    """The names of what has a verdict against it."""
    return {key.path for key, verdict in made.verdicts.items() if not verdict.accepted}


@pytest.mark.parametrize("names", [[*GOOD, *LARGE], [*LARGE, *GOOD], [*reversed(LARGE), *GOOD]])
def test_who_writes_too_much_is_left_out_alone(names: list[str]) -> None:
    """What is left fits into a Secret, whoever came first."""
    made = kept()
    for name in names:
        made.put(Ref(KIND, *name.split("/")), config(name, (LARGE | GOOD)[name]), Nothing())
    out = rejected(made)
    assert len(made.gzip()) <= LARGEST_FILE + 1000
    assert out
    assert out < set(LARGE)
    (finding,) = made.verdicts[Ref(KIND, *min(out).split("/"))].findings
    assert (finding.path, finding.reason) == ("spec", Reason.CONFLICT)
    assert all(f"{name}/r" in made.text() for name in (*GOOD, *set(LARGE) - out))
    assert not any(f"{name}/r" in made.text() for name in out)


def test_what_was_left_out_comes_back_when_there_is_room() -> None:
    """Less of the same namespace, and the verdicts are news."""
    made = kept()
    made.put_all(
        {Ref(KIND, *name.split("/")): config(name, text) for name, text in LARGE.items()}, Nothing()
    )
    out = rejected(made)
    made.take_news()
    for name in set(LARGE) - out:
        made.remove(Ref(KIND, *name.split("/")))
    back = out - rejected(made)
    assert back
    assert {Ref(KIND, *name.split("/")) for name in back} <= made.take_news()
    assert all(f"{name}/r" in made.text() for name in back)


def test_texts_that_compress_well_are_limited_too() -> None:
    """Alertmanager must read what few bytes can hold."""
    made = kept()
    large = {f"mallory/m{number:02}": "x" * 4_000_000 for number in range(10)}
    made.put_all(
        {Ref(KIND, *name.split("/")): config(name, text) for name, text in large.items()}, Nothing()
    )
    made.put(Ref(KIND, "alice", "a"), config("alice/a", "hello"), Nothing())
    assert len(made.text()) <= LARGEST_TEXT + 1000
    assert 0 < len(rejected(made)) < 4


def test_the_namespace_that_takes_most_gives_way() -> None:
    """Many small ones of one namespace weigh more than a large one of another."""
    sizes = {
        Ref(KIND, "a", "large"): Size(100, 400_000),
        Ref(KIND, "b", "one"): Size(100, 300_000),
        Ref(KIND, "b", "two"): Size(100, 200_000),
    }
    whole = Size(300, LARGEST_FILE + 1)
    assert without_room(sizes, whole) == {Ref(KIND, "b", "one")}
    assert without_room(sizes, Size(300, LARGEST_FILE)) == set()


def test_what_is_left_out_is_compressed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody else's change does not pay for it again."""
    made = kept()
    made.put_all(
        {Ref(KIND, *name.split("/")): config(name, text) for name, text in LARGE.items()}, Nothing()
    )
    made.put(Ref(KIND, "alice", "a"), config("alice/a", "hello"), Nothing())
    out = rejected(made)
    assert out
    packed: list[int] = []
    compressing = gzip_member

    def counted(text: str) -> bytes:
        packed.append(len(text))
        return compressing(text)

    monkeypatch.setattr(room, "gzip_member", counted)
    made.put(Ref(KIND, "alice", "a"), config("alice/a", "hello again"), Nothing())
    assert rejected(made) == out
    assert sum(packed) < 10_000
