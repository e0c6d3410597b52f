"""What Prometheus itself says of configurations: many files in one run, since starting is dear.

`--syntax-only` leaves out what needs files: certificates, rules and lists of targets are mounted
in the pod and not here. What the reloader fills in before Prometheus reads a file is filled in.
"""

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from tools.build import binaries

# What the containers of a pod have in their environment.
ENVIRONMENT: Final = {
    "POD_NAME": "prometheus-test-0",
    "NODE_NAME": "node-1",
    "SHARD": "0",
    "INZONE_SHARD": "0",
    "TOPOLOGY_ZONE": "zone-a",
}
_VARIABLE: Final = re.compile(r"\$\((\w+)\)", re.ASCII)
_AT_ONCE: Final = 500


def expanded(text: str) -> str:
    """The text as the reloader hands it to Prometheus; unknown variables stay as they are."""
    return _VARIABLE.sub(lambda found: ENVIRONMENT.get(found[1], found[0]), text)


def refusals(texts: Sequence[str], *, agent: bool = False) -> list[str]:
    """Why promtool refuses each of these configurations; empty for one that it takes."""
    batches = (texts[start : start + _AT_ONCE] for start in range(0, len(texts), _AT_ONCE))
    return [answer for batch in batches for answer in _checked(batch, agent=agent)]


def _checked(texts: Sequence[str], *, agent: bool) -> list[str]:
    with TemporaryDirectory() as folder:
        files = [Path(folder, f"{number}.yaml") for number in range(len(texts))]
        for file, text in zip(files, texts, strict=True):
            file.write_text(expanded(text), newline="")
        promtool = str(binaries("promtool")["promtool"])
        options = ["--syntax-only", *(["--agent"] if agent else [])]
        command = [promtool, "check", "config", *options, *map(str, files)]
        # One stream for both, in which every complaint follows the name of its file.
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
        )
    return _answers(done.stdout.decode(errors="replace"), files)


def _answers(output: str, files: Sequence[Path]) -> list[str]:
    """What was said after the name of each file."""
    answers = []
    rest = output.partition(f"Checking {files[0]}\n")[2]
    for file, following in zip(files, [*files[1:], None], strict=True):
        answer, found, rest = rest.partition(f"Checking {following}\n")
        if following and not found:
            raise RuntimeError(f"promtool says nothing of {following}: {output[-2000:]}")
        answers.append("" if f" SUCCESS: {file} is valid" in answer else _complaint(answer))
    return answers


def _complaint(answer: str) -> str:
    """The complaint itself, without the name of a file that is gone."""
    text = answer.strip().removeprefix("FAILED:").strip()
    return re.sub(r"^parsing YAML file \S+\.yaml: ", "", text) or "refused without a word"
