"""Options that commands share: one spelling everywhere, and the old ones still understood."""

import json
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from stoker.__main__ import main
from stoker.cli.commands import COMMANDS, GO_FLAGS, parser_of
from stoker.cli.options import object_meant
from stoker.cli.parser import Parser
from stoker.errors import StokerError

ROOT = Path(__file__).parents[2]
EXAMPLE = str(ROOT / "example")
MISTAKES = f"{EXAMPLE}/mistakes.yaml"


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """The exit status of a command and what it prints, without a schema's name."""
    try:
        status = main(words)
    except SystemExit as ended:
        status = int(str(ended.code))
    shown = capsys.readouterr()
    return status, shown.out, shown.err


@pytest.mark.parametrize("line", ["lint example", "lint example 2>&1", "explain smon shop/gone"])
def test_the_exit_status_outlives_the_reader(line: str) -> None:
    """Whoever reads the first line only gets the status of the whole."""
    program = f"{shlex.quote(sys.executable)} -m stoker {line}"
    from_files = " -f example" if line.startswith("explain") else ""

    def status(end: str) -> tuple[int, str]:
        script = f"{program.replace('gone', 'gone' + from_files)} {end}"
        done = subprocess.run(
            ["bash", "-c", script], capture_output=True, text=True, cwd=ROOT, check=False
        )
        return done.returncode, done.stderr

    whole, _ = status("")
    broken, told = status("| true; exit ${PIPESTATUS[0]}")
    assert whole != 0
    assert broken == whole
    assert "Traceback" not in told
    assert "Exception" not in told


def test_manifests_are_named_bare_or_as_for_kubectl(capsys: pytest.CaptureFixture[str]) -> None:
    """Before options, after them and between them."""
    bare = said(capsys, "lint", MISTAKES, EXAMPLE)
    assert said(capsys, "lint", "-f", MISTAKES, "-f", EXAMPLE)[0] == bare[0] == 1
    assert said(capsys, "lint", MISTAKES, "--strict", EXAMPLE)[0] == 1
    assert said(capsys, "lint", MISTAKES, "-o", "text", EXAMPLE) == bare
    status, _, err = said(capsys, "lint", "--strict")
    assert status == 2
    assert "name manifests" in err


@pytest.mark.parametrize(
    ("old", "new", "note"),
    [
        (["lint", "--format", "json", MISTAKES], ["lint", "-o", "json", MISTAKES], "--output"),
        (
            ["lint", "--resource-limits", "items=3", EXAMPLE],
            ["lint", "--flag", "resource-limits=items=3", EXAMPLE],
            "--flag resource-limits=…",
        ),
        (
            ["diff", "--from", EXAMPLE, EXAMPLE, "--operator-flag", "namespaces=shop"],
            ["diff", "--from", EXAMPLE, EXAMPLE, "--flag", "namespaces=shop"],
            "--flag",
        ),
    ],
    ids=["format", "limits", "operator-flag"],
)
def test_old_spellings_do_the_same_and_say_the_new_one(
    old: list[str], new: list[str], note: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """On standard error, once; the new spelling says nothing."""
    status, out, err = said(capsys, *old)
    assert (status, out) == said(capsys, *new)[:2]
    told = [line for line in err.splitlines() if "still works" in line]
    assert len(told) == 1
    assert f"is called {note} now" in told[0]


def test_a_folder_of_render_may_still_be_named_by_o(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is called --output-dir now."""
    _, out, err = said(capsys, "render", EXAMPLE, "-o", str(tmp_path / "old"), "--quiet")
    assert out == ""
    assert "--output-dir" in err
    said(capsys, "render", EXAMPLE, "--output-dir", str(tmp_path / "new"), "--quiet")
    names = [
        sorted(str(path.relative_to(tmp_path / each)) for path in (tmp_path / each).rglob("*"))
        for each in ("old", "new")
    ]
    assert names[0] == names[1] != []


@pytest.mark.parametrize("command", [["render", "--quiet"], ["convert"]])
def test_objects_as_json_are_one_list(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """The same objects as in YAML, in a form that kubectl takes."""
    path = f"{EXAMPLE}/shop-monitors.yaml"
    first, *rest = command
    _, out, _ = said(capsys, first, path, f"{EXAMPLE}/prometheus.yaml", *rest, "-o", "json")
    _, text, _ = said(capsys, first, path, f"{EXAMPLE}/prometheus.yaml", *rest)
    found = json.loads(out)
    assert found["kind"] == "List"
    assert found["items"] == [each for each in yaml.safe_load_all(text) if each]


@pytest.mark.parametrize(
    "words",
    ["servicemonitor shop/cart", "smon cart -n shop", "smon/cart -n shop", "smon/shop/cart"],
)
def test_an_object_is_named_as_for_kubectl(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    """KIND NAME and KIND/NAME, in any namespace."""
    wanted = said(capsys, "explain", "ServiceMonitor", "shop/cart", "-f", EXAMPLE, "-o", "yaml")
    assert said(capsys, "explain", *words.split(), "-f", EXAMPLE, "-o", "yaml") == wanted
    shown = yaml.safe_load(wanted[1])
    assert (shown["schema"], shown["kind"], shown["name"]) == (
        "stoker/explain/v1",
        "ServiceMonitor",
        "cart",
    )


@pytest.mark.parametrize("words", ["smon", "smon/", "/cart", "smon a/b/c", "smon a b", "smon/a/"])
def test_what_names_no_object_is_refused(words: str) -> None:
    """With what would."""
    with pytest.raises(StokerError, match="KIND/NAME"):
        object_meant(words.split(), None)


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("lnit example", "lint"),
        ("lint --outptu json example", "--output"),
        ("explain --nmespace x smon/cart", "--namespace"),
        ("explain servicemonitr/cart -f example", "ServiceMonitor"),
        ("crds prometheusrlue", "PrometheusRule"),
        ("lint -o jsn example", "json"),
        ("migrate agent-moed example", "agent-mode"),
        ("explain smon/cart -f example --flag namespase=x", "--namespaces"),
    ],
)
def test_a_misspelt_word_is_answered_with_one_that_is(
    words: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A command, an option, a choice, a kind, or a flag of the operator."""
    status, out, err = said(capsys, *words.split())
    assert (status, out) == (2, "")
    assert f"did you mean {meant}" in err.replace("`", "")


def test_one_option_means_one_thing_in_all_commands() -> None:
    """Each short option stands for the same long one, and takes the same number of words."""
    meant: dict[str, set[tuple[str, ...]]] = {}
    for command in COMMANDS.keys() - set(GO_FLAGS):
        for parser in leaves(parser_of([command]), command):
            for action in parser._actions:
                for short in (each for each in action.option_strings if len(each) == 2):
                    long = tuple(each for each in action.option_strings if len(each) > 2)
                    meant.setdefault(short, set()).add(long)
    assert meant == {
        "-h": {("--help",)},
        "-A": {("--all-namespaces",)},
        "-f": {()},
        "-n": {("--namespace",)},
        "-o": {("--output",)},
        "-w": {("--watch",)},
    }


def leaves(parser: Parser, command: str) -> list[Parser]:
    """The parsers of a command that have options of their own."""
    found = [parser]
    for action in parser._actions:
        if isinstance(action.choices, dict):
            inner = {command: action.choices[command]} if command in action.choices else {}
            for each in (inner or action.choices).values():
                found += leaves(each, command)
    return found


def test_kubectl_finds_the_command_as_a_plugin(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second name of the command is that of a plugin, and help calls it as kubectl does."""
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert scripts["kubectl-stoker"] == scripts["stoker"]
    monkeypatch.setattr(sys, "argv", ["/usr/bin/kubectl-stoker", "lint", "--help"])
    with pytest.raises(SystemExit):
        main()
    assert capsys.readouterr().out.startswith("usage: kubectl stoker lint")


def test_versions_are_printed_in_three_forms(capsys: pytest.CaptureFixture[str]) -> None:
    """Ours, what we run on, and what is taken for granted."""
    _, text, _ = said(capsys, "version")
    status, out, _ = said(capsys, "version", "--output", "json")
    found = json.loads(out)
    assert status == 0
    assert found.pop("schema") == "stoker/version/v1"
    assert [line.rsplit(maxsplit=1)[1] for line in text.splitlines()] == list(found.values())
    assert yaml.safe_load(said(capsys, "version", "-o", "yaml")[1])["version"] == found["version"]
