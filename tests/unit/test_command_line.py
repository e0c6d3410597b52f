"""The `stoker` command and `stoker crds`."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from stoker.__main__ import main
from stoker.api.kinds import KINDS
from stoker.cli.commands import COMMANDS

ROOT = Path(__file__).parents[2]


def imported_by(*arguments: str) -> set[str]:
    """The modules that a call of the command imports."""
    script = (
        "import sys, json, contextlib, io\n"
        "from stoker.__main__ import main\n"
        "with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):\n"
        f"    main({list(arguments)!r})\n"
        "print(json.dumps(sorted(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return set(json.loads(done.stdout))


@pytest.mark.parametrize("arguments", [("--help",), ("crds", "--help"), ("lint", "--help")])
def test_help_imports_nothing_heavy(arguments: tuple[str, ...]) -> None:
    """Help is instant because each command imports what it needs only when it works."""
    heavy = {"msgspec", "yaml", "re2", "cel", "aiohttp", "asyncio", "stoker.api"}
    assert imported_by(*arguments) & heavy == set()


def test_every_command_has_help_that_teaches(capsys: pytest.CaptureFixture[str]) -> None:
    """Each command explains itself with an example."""
    for name in COMMANDS:
        try:
            status: object = main([name, "--help"])
        except SystemExit as stopped:
            status = stopped.code
        assert status == 0
        assert f"stoker {name} " in capsys.readouterr().out.partition("options:")[0]


def test_without_a_command_the_usage_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    """A bare call is told what there is."""
    with pytest.raises(SystemExit) as stopped:
        main([])
    assert stopped.value.code == 2
    assert "COMMAND" in capsys.readouterr().err


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, object]]:
    """The documents that a call prints."""
    assert main(arguments) == 0
    # As safe_load_all, which takes ten seconds for all definitions.
    return list(yaml.load_all(capsys.readouterr().out, Loader=yaml.CSafeLoader))


def test_crds_prints_all_ten(capsys: pytest.CaptureFixture[str]) -> None:
    """Ten kinds, ten documents."""
    documents = printed(capsys, "crds")
    names = {document["spec"]["names"]["kind"] for document in documents}  # type: ignore[index]
    assert names == {kind.name for kind in KINDS}
    assert len(documents) == 10


def test_crds_prints_the_kinds_that_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    """By kind, plural or short name, in the order given."""
    documents = printed(capsys, "crds", "smon", "Probe")
    names = [document["spec"]["names"]["kind"] for document in documents]  # type: ignore[index]
    assert names == ["ServiceMonitor", "Probe"]


def test_crds_refuses_a_kind_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    """And names the one that was meant, or those that there are."""
    for word, named in (("ServiceMonitro", "did you mean `ServiceMonitor`"), ("x", "PodMonitor")):
        assert main(["crds", word]) == 2
        answer = capsys.readouterr()
        assert answer.out == ""
        assert named in answer.err


def test_crds_variants_leave_out_what_they_say(capsys: pytest.CaptureFixture[str]) -> None:
    """`--no-descriptions` and `--without-cel` show in the output."""
    full = json.dumps(printed(capsys, "crds", "promagent"))
    small = json.dumps(printed(capsys, "crds", "promagent", "--no-descriptions"))
    plain = json.dumps(printed(capsys, "crds", "promagent", "--without-cel"))
    assert len(small) < len(full) * 0.8
    assert "x-kubernetes-validations" in full
    assert "x-kubernetes-validations" in small
    assert "x-kubernetes-validations" not in plain


def test_the_small_variant_fits_into_an_annotation(capsys: pytest.CaptureFixture[str]) -> None:
    """Client-side `kubectl apply` keeps a copy of at most 262,144 bytes."""
    for document in printed(capsys, "crds", "--no-descriptions"):
        assert len(json.dumps(document, separators=(",", ":"))) < 262_144


def test_a_reader_that_goes_away_is_no_error() -> None:
    """`stoker crds | head` ends quietly."""
    script = f"{sys.executable} -m stoker crds | head -c 10"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", script], capture_output=True, text=True, check=False
    )
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize(
    "words", [("crds",), ("operator", "--help"), ("lint", "example"), ("render", "example")]
)
def test_output_that_cannot_be_written_is_told_in_a_sentence(words: tuple[str, ...]) -> None:
    """A full disk is no fault of ours, and no half of a file passes for a whole one."""
    command = [sys.executable, "-m", "stoker", *words]
    with Path("/dev/full").open("w") as full:
        answer = subprocess.run(
            command, stdout=full, stderr=subprocess.PIPE, text=True, cwd=ROOT, check=False
        )
    assert answer.returncode == 2
    assert "No space left on device" in answer.stderr
    assert "Traceback" not in answer.stderr


def test_a_closed_output_and_a_narrow_alphabet_are_no_faults() -> None:
    """Whatever the terminal speaks, help is shown; where there is none, the work is done."""
    program = f"{shlex.quote(sys.executable)} -m stoker"
    narrow = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    for line in (f"{program} explain --help", f"{program} crds probe >&-"):
        answer = subprocess.run(
            ["/bin/sh", "-c", line],
            capture_output=True,
            env=os.environ | narrow,
            cwd=ROOT,
            check=False,
        )
        assert (answer.returncode, answer.stderr) == (0, b"")


@pytest.mark.parametrize(
    ("words", "instead"),
    [
        ("status", "manifests with -f"),
        ("explain smon/cart", "manifests with -f"),
        ("diff example", "a folder with --from"),
        ("migrate takeover", "--kubeconfig and --context"),
        ("migrate storage-version prometheusrules", "--kubeconfig and --context"),
        ("migrate agent-mode --to DaemonSet", "a file or folder"),
    ],
)
def test_without_a_cluster_commands_say_what_to_name(
    words: str,
    instead: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Whoever has no kubeconfig is told so, and what would do as well."""
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "absent"))
    assert main(words.split()) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "there is no kubeconfig; name a cluster with --kubeconfig and --context" in shown.err
    assert shown.err.endswith(f"{instead}\n")


def test_a_discovery_is_only_for_agents_on_nodes(capsys: pytest.CaptureFixture[str]) -> None:
    """In the other direction there is nothing that it could say."""
    assert main(["migrate", "agent-mode", "x", "--to=StatefulSet", "--discovery=Operator"]) == 2
    assert "are for --to DaemonSet" in capsys.readouterr().err
