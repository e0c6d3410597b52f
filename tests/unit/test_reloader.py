"""The parts of `stoker reloader` that need no process: arguments, files, the loop, settings."""

import gzip
import json
import os
import ssl
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from stoker.reloader.expand import ExpansionError, expanded
from stoker.reloader.files import Output, digest
from stoker.reloader.metrics import METRICS, Metrics
from stoker.reloader.options import OPTIONS, UsageError, asked_for, pairs, parsed
from stoker.reloader.request import url
from stoker.reloader.run import Reloader
from stoker.reloader.trigger import RefusedError, ReloadError
from stoker.reloader.webconfig import (
    PLAIN,
    Passwords,
    WebConfigError,
    tls_context,
    web_config,
)
from tests.unit.test_web_server import certify

# --- Arguments ------------------------------------------------------------------------------------

ARGUMENTS: list[tuple[str, str, Any, Any]] = [
    ("config-file", "a", (), ["a"]),
    ("config-envsubst-file", "a", (), ["a"]),
    ("watched-dir", "a", (), ["a"]),
    ("watch-interval", "0", 180.0, 0.0),
    ("delay-interval", "250ms", 1.0, 0.25),
    ("retry-interval", "1m30s", 5.0, 90.0),
    ("reload-timeout", "1h", 30.0, 3600.0),
    ("reload-method", "signal", "http", "signal"),
    (
        "reload-url",
        "http://:80/x",
        url("http://127.0.0.1:9090/-/reload"),
        url("http://localhost/x"),
    ),
    ("process-executable-name", "a", "prometheus", "a"),
    (
        "runtimeinfo-url",
        "http://a",
        url("http://127.0.0.1:9090/api/v1/status/runtimeinfo"),
        url("http://a:80/"),
    ),
    ("statefulset-ordinal-from-envvar", "POD_NAME", "", "POD_NAME"),
    ("expand", "CLUSTER", (), ["CLUSTER"]),
    ("portion-url", "https://a:8443", None, url("https://a:8443")),
    ("portion-ca", "a", "", "a"),
    ("portion-token", "a", "", "a"),
    ("portion-dir", "a", "", "a"),
    ("listen-address", "[::1]:80", None, ("::1", 80)),
    ("web-config-file", "a", "", "a"),
    ("log-format", "json", "logfmt", "json"),
    ("log-level", "debug", "info", "debug"),
    ("auto-gomemlimit-ratio", "0.5", 0.0, 0.5),
]


@pytest.mark.parametrize(("name", "text", "default", "value"), ARGUMENTS, ids=str)
def test_every_argument_in_every_spelling(name: str, text: str, default: Any, value: Any) -> None:
    """One dash or two, with `=` or without, and what it is when it is not given."""
    attribute = name.replace("-", "_")
    assert getattr(parsed([]), attribute) == default
    words = [[f"--{name}={text}"], [f"-{name}={text}"], [f"--{name}", text], [f"-{name}", text]]
    for spelling in words:
        assert getattr(parsed(spelling), attribute) == value


def test_the_table_of_arguments_is_complete() -> None:
    """So that a new one is not forgotten here."""
    assert {name for name, *_ in ARGUMENTS} == {option.name for option in OPTIONS}


@pytest.mark.parametrize(
    "words",
    [
        ["--nothing=1"],
        ["word"],
        ["--config-file"],
        ["--watch-interval=3"],
        ["--watch-interval=x"],
        ["--reload-method=smoke"],
        ["--reload-url=nowhere"],
        ["--portion-url=http://stoker:8443"],
        ["--portion-url=https://user:password@stoker:8443"],
        ["--listen-address=8080"],
    ],
)
def test_what_is_not_understood_is_told(words: list[str]) -> None:
    """With the argument and what would be right."""
    with pytest.raises(UsageError, match=words[0].split("=")[0]):
        parsed(words)


def test_versions_and_help_are_printed_instead() -> None:
    """In both spellings, whatever else is given."""
    assert asked_for(["--version"]).startswith("stoker reloader ")
    assert asked_for(["--config-file=a", "-short-version"]) == asked_for(["--version"]).split()[-1]
    assert "--config-envsubst-file" in asked_for(["-h"])
    assert asked_for(["--config-file=a"]) == ""


def test_each_configuration_has_its_own_output() -> None:
    """Several can be given; without an output they are only watched."""
    words = ["--config-file=a", "--config-file=b"]
    assert pairs(parsed(words)) == [("a", ""), ("b", "")]
    outputs = ["--config-envsubst-file=x", "--config-envsubst-file=y"]
    assert pairs(parsed(words + outputs)) == [("a", "x"), ("b", "y")]
    for wrong in (outputs[:1], [outputs[0], outputs[0]]):
        with pytest.raises(UsageError, match="one of its own"):
            pairs(parsed(words + wrong))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("http://:9090/-/reload", "http://localhost:9090/-/reload"),
        ("https://user:secret@[::1]/x?y=1", "https://[::1]:443/x?y=1"),
        ("http://a", "http://a:80/"),
    ],
)
def test_urls_are_shown_without_their_password(text: str, shown: str) -> None:
    """What is logged is never a secret."""
    assert str(url(text)) == shown


# --- Files ----------------------------------------------------------------------------------------


def swap(volume: Path, version: str, **files: str) -> None:
    """Change a volume as kubelet does: a new directory, and a link that is renamed to it."""
    data = volume / f"..{version}"
    data.mkdir(parents=True)
    for name, text in files.items():
        (data / name).write_text(text)
        link = volume / name
        if not link.is_symlink():
            link.symlink_to(Path("..data") / name)
    (volume / "..data_tmp").symlink_to(data.name)
    (volume / "..data_tmp").replace(volume / "..data")


def test_the_digest_changes_with_contents_and_names_and_nothing_else(tmp_path: Path) -> None:
    """The same files in a new directory of kubelet's are no change."""
    volume = tmp_path / "volume"
    seen = []
    for version, files in (("1", {"a": "x"}), ("2", {"a": "x"}), ("3", {"a": "y"})):
        swap(volume, version, **files)
        seen.append(digest([str(volume)]))
    swap(volume, "4", a="y", b="y")
    seen.append(digest([str(volume)]))
    assert seen[0] == seen[1]
    assert len(set(seen)) == 3


def test_a_link_to_itself_ends(tmp_path: Path) -> None:
    """A watched directory is never walked for ever."""
    (tmp_path / "round").symlink_to(tmp_path)
    (tmp_path / "a").write_text("x")
    assert digest([str(tmp_path)])


def test_what_the_reloader_writes_is_no_change(tmp_path: Path) -> None:
    """Even where the output lies in a directory that is watched."""
    source, target = tmp_path / "in", tmp_path / "out"
    source.write_text("a")
    output = Output(str(source), str(target))
    before = digest([str(tmp_path)], output.names)
    output.prepare(lambda lines: lines)
    output.activate()
    assert digest([str(tmp_path)], output.names) == before


@pytest.mark.parametrize("packed", [True, False])
def test_gzip_is_found_by_its_contents(packed: bool, tmp_path: Path) -> None:
    """Whatever the name says, and in several parts too."""
    parts = [b"one\n", b"two\n"]
    data = b"".join(gzip.compress(part) if packed else part for part in parts)
    (tmp_path / "in.yaml").write_bytes(data)
    output = Output(str(tmp_path / "in.yaml"), str(tmp_path / "out"))
    output.prepare(lambda lines: lines)
    output.publish()
    assert (tmp_path / "out").read_text() == "one\ntwo\n"
    assert sorted(os.listdir(tmp_path)) == ["in.yaml", "out"]


class Process:
    """What is reloaded: takes a configuration unless it has the word `bad`, or is not there."""

    def __init__(self, target: Path) -> None:
        self._target = target
        self.there = True
        self.loaded: list[str] = []

    def __call__(self) -> None:
        """Reload."""
        if not self.there:
            raise ReloadError("not there")
        text = self._target.read_text()
        if "bad" in text:
            raise RefusedError("refused")
        self.loaded.append(text)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A configuration to read."""
    return tmp_path / "in"


@pytest.fixture
def process(tmp_path: Path) -> Process:
    """The process beside the reloader."""
    return Process(tmp_path / "out")


@pytest.fixture
def reloader(source: Path, tmp_path: Path, process: Process) -> Reloader:
    """A reloader of one configuration."""
    output = Output(str(source), str(tmp_path / "out"))
    return Reloader([output], [], lambda lines: expanded(lines, {}), process, Metrics())


def test_a_change_is_loaded_once(source: Path, process: Process, reloader: Reloader) -> None:
    """Nothing is done where nothing changed."""
    source.write_text("a: 1\n")
    assert [reloader.apply(), reloader.apply()] == [True, False]
    source.write_text("a: 2\n")
    assert reloader.apply()
    assert process.loaded == ["a: 1\n", "a: 2\n"]


def test_a_refused_configuration_makes_place_for_the_last_good_one(
    source: Path, tmp_path: Path, process: Process, reloader: Reloader
) -> None:
    """It is tried again, and what lies in place would start the process meanwhile."""
    source.write_text("a: 1\n")
    reloader.apply()
    source.write_text("a: bad\n")
    for _ in range(2):
        with pytest.raises(RefusedError):
            reloader.apply()
        assert (tmp_path / "out").read_text() == "a: 1\n"
    source.write_text("a: 1\n")
    assert reloader.apply()
    assert process.loaded == ["a: 1\n", "a: 1\n"]


def test_a_process_that_is_not_there_finds_the_new_configuration(
    source: Path, tmp_path: Path, process: Process, reloader: Reloader
) -> None:
    """It may be starting: no answer is no refusal."""
    source.write_text("a: 1\n")
    reloader.apply()
    process.there = False
    source.write_text("a: 2\n")
    with pytest.raises(ReloadError):
        reloader.apply()
    assert (tmp_path / "out").read_text() == "a: 2\n"


BROKEN = [
    gzip.compress(b"a: 2\n")[:-6],
    gzip.compress(b"a: 2\n" * 99)[:-20] + b"x" * 20,
    b"global:\n  external_labels:\n    r: $(POD_NAME)\n",
    None,
]


@pytest.mark.parametrize("data", BROKEN, ids=["cut off", "damaged", "unset variable", "gone"])
def test_what_cannot_be_written_leaves_the_last_output(
    data: bytes | None, source: Path, tmp_path: Path, process: Process, reloader: Reloader
) -> None:
    """The process is not even asked."""
    source.write_text("a: 1\n")
    reloader.apply()
    source.unlink()
    if data is not None:
        source.write_bytes(data)
    with pytest.raises((OSError, ExpansionError)):
        reloader.apply()
    assert (tmp_path / "out").read_text() == "a: 1\n"
    assert process.loaded == ["a: 1\n"]


# --- What is served -------------------------------------------------------------------------------


def test_metrics_have_the_names_that_dashboards_know() -> None:
    """Those of the Thanos reloader."""
    metrics = Metrics()
    metrics.add("reloads_total")
    metrics.put("last_reload_successful", 1)
    text = metrics.text()
    assert "# TYPE reloader_reloads_total counter\nreloader_reloads_total 1.0\n" in text
    assert "reloader_last_reload_successful 1\n" in text
    assert all(f"# HELP {metric.name} " in text for metric in METRICS)


def test_a_web_configuration_is_read(tmp_path: Path) -> None:
    """Files are relative to it, quotes and comments are not part of values."""
    file = tmp_path / "web.yaml"
    file.write_text(
        "tls_server_config:\n  cert_file: tls.crt # ours\n  key_file: '/keys/tls.key'\n"
        "  cipher_suites:\n  - TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256\n"
        'http_server_config:\n  http2: false\n  headers:\n    X-Frame-Options: "deny"\n'
        "basic_auth_users:\n  alice: $2b$04$x\n"
    )
    config = web_config(str(file))
    assert config.tls == {"cert_file": f"{tmp_path}/tls.crt", "key_file": "/keys/tls.key"}
    assert config.ciphers == ("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",)
    assert config.headers == {"X-Frame-Options": "deny"}
    assert config.users == {"alice": "$2b$04$x"}


@pytest.mark.parametrize(
    "text",
    [
        "tls: {}\n",
        "tls_server_config:\n  keys: x\n",
        "basic_auth_users: {a: b}\n",
        "rate_limit: 1\n",
    ],
)
def test_a_web_configuration_that_is_not_understood_is_refused(text: str, tmp_path: Path) -> None:
    """A protection that is asked for and not given is worse than none."""
    file = tmp_path / "web.yaml"
    file.write_text(text)
    with pytest.raises(WebConfigError):
        web_config(str(file))


@pytest.fixture
def certified(tmp_path: Path) -> Path:
    """A folder with a certificate and its key."""
    certify(tmp_path, "tls")
    return tmp_path


def tls_of(folder: Path, more: str = "") -> ssl.SSLContext | None:
    """What the reloader speaks by a file with such lines below `tls_server_config`."""
    file = folder / "web.yaml"
    lines = ["tls_server_config:", "cert_file: tls.crt", "key_file: tls.key", *more.split("\n")]
    file.write_text("\n  ".join(filter(None, lines)) + "\n")
    return tls_context(web_config(str(file)))


def test_tls_is_spoken_as_the_web_configuration_says(certified: Path) -> None:
    """From 1.2 on and with anybody, unless it says otherwise."""
    assert tls_context(PLAIN) is None
    usual = tls_of(certified)
    assert usual
    assert usual.minimum_version == ssl.TLSVersion.TLSv1_2
    assert usual.verify_mode == ssl.CERT_NONE
    clients = "client_ca_file: tls.crt\nclient_auth_type: RequireAndVerifyClientCert"
    suites = "cipher_suites:\n- TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"
    strict = tls_of(certified, f"max_version: TLS12\n{clients}\n{suites}\n")
    assert strict
    assert strict.maximum_version == ssl.TLSVersion.TLSv1_2
    assert strict.verify_mode == ssl.CERT_REQUIRED
    assert len(strict.get_ca_certs()) == 1
    older = {each["name"] for each in strict.get_ciphers() if each["protocol"] == "TLSv1.2"}
    assert older == {"ECDHE-ECDSA-AES128-GCM-SHA256"}


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("min_version: TLS9", "'TLS9' is missing or not known"),
        ("client_auth_type: Anybody", "'Anybody' is missing or not known"),
        ("client_ca_file: tls.crt", "client_ca_file needs a client_auth_type that verifies"),
        ("client_ca_file: absent.crt\nclient_auth_type: RequireAndVerifyClientCert", "No such"),
        ("cipher_suites:\n- TLS_RSA_WITH_ROT13", "tls_server_config: "),
        ("cipher_suites:\n- TLS_ROT13", "'TLS_ROT13' is missing or not known"),
        ("curve_preferences:\n- CurveP1", "'CurveP1' is missing or not known"),
    ],
)
def test_tls_that_cannot_be_spoken_as_asked_for_is_refused(
    certified: Path, more: str, said: str
) -> None:
    """With the setting, or what the machine says of it."""
    with pytest.raises(WebConfigError) as raised:
        tls_of(certified, more)
    assert said in str(raised.value)


def test_without_its_file_or_key_there_is_no_web_configuration(certified: Path) -> None:
    """A file that is named and not there is not the same as none."""
    with pytest.raises(WebConfigError, match=r"absent\.yaml: No such file"):
        web_config(str(certified / "absent.yaml"))
    (certified / "tls.key").unlink()
    with pytest.raises(WebConfigError, match="No such file"):
        tls_of(certified)


@pytest.mark.parametrize("left_out", ["portion-ca", "portion-token", "portion-dir", "NODE_NAME"])
def test_a_portion_needs_to_know_whom_to_ask_and_for_what(
    left_out: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is missing is told, before anything is done."""
    given = {"portion-ca": "ca", "portion-token": "token", "portion-dir": str(tmp_path / "portion")}
    given.pop(left_out, None)
    monkeypatch.delenv("NODE_NAME", raising=False)
    if left_out != "NODE_NAME":
        monkeypatch.setenv("NODE_NAME", "node-1")
    words = [f"--{name}={value}" for name, value in given.items()]
    command = [sys.executable, "-m", "stoker.reloader", "--portion-url=https://a", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert left_out in done.stderr
    assert not (tmp_path / "portion").exists()


def test_passwords_are_checked_against_bcrypt() -> None:
    """The hash is that of the word `secret`."""
    hashed = "$2b$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW"
    passwords = Passwords({"alice": hashed})
    assert passwords.allow("alice", "secret")
    assert passwords.allow("alice", "secret")
    assert not passwords.allow("alice", "wrong")
    assert not passwords.allow("bob", "secret")


def test_the_reloader_imports_nothing_heavy() -> None:
    """Its memory is that of what it imports."""
    script = "import sys, json, stoker.reloader.__main__; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    loaded = set(json.loads(done.stdout))
    assert {name for name in loaded if name.startswith("stoker.")} == {
        name for name in loaded if name.startswith("stoker.reloader")
    }
    heavy = {"typing", "dataclasses", "argparse", "ssl", "hashlib", "logging", "http", "urllib"}
    assert not loaded & heavy
