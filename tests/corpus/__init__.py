"""Broken set-ups that people report again and again, and what `stoker explain` says of each.

    tests/corpus/NAME/manifests.yaml   the set-up, as small as it can be
    tests/corpus/NAME/case.txt         its place in the page, what is seen, what to ask, the first
                                       line of the answer, and what to do

`python -m tests.corpus` makes docs/troubleshooting.md of them. A first line that changed is changed
by hand, in case.txt: it is what people read and search for.
"""

import re
from itertools import groupby
from pathlib import Path
from typing import Final, NamedTuple

HERE: Final = Path(__file__).parent
PAGE: Final = HERE.parents[1] / "docs" / "troubleshooting.md"

# The order in which people go through them.
CHAPTERS: Final = (
    "My resource is not selected",
    "My resource is rejected",
    "My workload is not reconciled",
    "It is selected, but nothing is scraped",
    "It works, but not as I wrote it",
    "Rules and alerts",
)
_FIELDS: Final = ("place", "chapter", "symptom", "ask", "line", "do")
_INTRODUCTION: Final = """\
# Troubleshooting, by symptom

Ask about the resource that does not do what you expect; the first line of the answer names the
cause.

```sh
stoker explain servicemonitor shop/cart                  # the cluster of your kubeconfig
stoker explain servicemonitor shop/cart --from deploy/   # manifests, without a cluster
```

Below are the most frequent answers, and what to do about them. They are tested: the manifests
behind each are in [tests/corpus](../tests/corpus), and `python -m tests.corpus` writes this page
from them. [Why is my service not scraped?](explain.md) explains the rest of the answer; [stoker
lint](lint.md) finds mistakes before you apply them.

If several resources are affected, or pods, ask [is all well?](status-command.md) first. If the
operator itself is the problem: [when something is wrong](operator.md#when-something-is-wrong).
"""


class Case(NamedTuple):
    """One broken set-up."""

    name: str
    place: str
    chapter: str
    symptom: str
    ask: str
    line: str
    do: str

    @property
    def manifests(self) -> Path:
        """Where its objects are."""
        return HERE / self.name / "manifests.yaml"


def cases() -> list[Case]:
    """All of them, in the order of the page."""
    found = [_case(each) for each in sorted(HERE.glob("*/case.txt"))]
    return sorted(found, key=lambda each: (CHAPTERS.index(each.chapter), int(each.place)))


def _case(file: Path) -> Case:
    pairs = [line.split(": ", 1) for line in file.read_text().splitlines()]
    assert tuple(key for key, _ in pairs) == _FIELDS, file
    return Case(file.parent.name, *(value for _, value in pairs))


def page() -> str:
    """The page that is made of them."""
    found = cases()
    contents = " · ".join(f"[{chapter}](#{anchor(chapter)})" for chapter in CHAPTERS)
    parts = [f"{_INTRODUCTION}\n{contents}\n"]
    for chapter, some in groupby(found, key=lambda each: each.chapter):
        group = list(some)
        listed = "".join(f"- [{each.symptom}](#{anchor(each.symptom)})\n" for each in group)
        parts += [f"\n## {chapter}\n\n{listed}", *map(_entry, group)]
    return "".join(parts)


def _entry(case: Case) -> str:
    return (
        f"\n### {case.symptom}\n\n"
        f"```\n$ stoker explain {case.ask}\n{case.line}\n```\n\n"
        f"{case.do} ([manifests](../tests/corpus/{case.name}/manifests.yaml))\n"
    )


def anchor(heading: str) -> str:
    """The name by which a heading is linked to."""
    return re.sub(r"[^a-z0-9 -]", "", heading.lower()).replace(" ", "-")
