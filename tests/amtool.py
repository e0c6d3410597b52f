"""What Alertmanager itself says of configurations: many files in one run, since starting is dear.

Certificates and templates are not read, so those that are mounted in the pod need not be here. A
configuration that makes Alertmanager crash ends the run: the files of such a run are asked for one
by one.
"""

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from tools.build import binaries

_AT_ONCE: Final = 300
_CHECKING: Final = re.compile(r"^Checking '(?P<file>[^']*)' (?P<rest>.*)$", re.MULTILINE)


def refusals(texts: Sequence[str]) -> list[str]:
    """Why amtool refuses each of these configurations; empty for one that it takes."""
    batches = (texts[start : start + _AT_ONCE] for start in range(0, len(texts), _AT_ONCE))
    return [answer for batch in batches for answer in _checked(batch)]


def _checked(texts: Sequence[str]) -> list[str]:
    with TemporaryDirectory() as folder:
        files = [Path(folder, f"{number}.yaml") for number in range(len(texts))]
        for file, text in zip(files, texts, strict=True):
            file.write_text(text, newline="")
        amtool = str(binaries("amtool")["amtool"])
        command = [amtool, "check-config", *map(str, files)]
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
        )
    output = done.stdout.decode(errors="replace")
    found = _answers(output)
    if len(found) == len(texts):
        return found
    if len(texts) > 1:
        return [answer for text in texts for answer in _checked([text])]
    return [f"amtool ended without an answer: {output[-500:]}"]


def _answers(output: str) -> list[str]:
    """What was said of each file, in order."""
    if "goroutine" in output:
        return []
    starts = list(_CHECKING.finditer(output))
    ends = [start.start() for start in starts[1:]] + [len(output)]
    return [
        "" if "SUCCESS" in start["rest"] else _complaint(output[start.start("rest") : end])
        for start, end in zip(starts, ends, strict=True)
    ]


def _complaint(answer: str) -> str:
    text = answer.strip().removeprefix("FAILED:").partition("\namtool: error:")[0]
    return " ".join(text.split()) or "refused without a word"
