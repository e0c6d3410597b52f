"""The generated reference pages."""

from pathlib import Path

from stoker.api.kinds import KINDS
from stoker.api.reference import pages

FOLDER = Path(__file__).parents[2] / "docs/reference"


def test_the_pages_are_those_of_the_declarations() -> None:
    """`make reference` was run after the last change of the API."""
    made = {page.name: page.text for page in pages(KINDS)}
    found = {path.name: path.read_text() for path in FOLDER.glob("*.md")}
    assert sorted(found) == sorted(made)
    stale = [name for name in made if made[name] != found[name]]
    assert stale == [], "run `make reference`"


def test_every_link_within_the_reference_leads_somewhere() -> None:
    """A link to a type leads to a heading on its page."""
    made = {page.name: page.text for page in pages(KINDS)}
    anchors = {
        f"{name}#{line[3:].lower()}"
        for name, text in made.items()
        for line in text.splitlines()
        if line.startswith("## ")
    }
    for name, text in made.items():
        for target in _local_links(text):
            page, _, anchor = target.partition("#")
            assert (page or name) in made
            assert not anchor or f"{page or name}#{anchor}" in anchors, (name, target)


def _local_links(text: str) -> list[str]:
    return [
        part.partition(")")[0] for part in text.split("](")[1:] if not part.startswith("https://")
    ]
