"""The guides say what the code does: their tables are the code's, their manifests valid."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from stoker.api.prometheus import RULES_OF_MODES
from stoker.offline.migration.fields import DAEMON_SET, IDLE
from stoker.offline.problems import problems
from stoker.yamltree import parse

ROOT = Path(__file__).parents[2]
AGENTS = ROOT / "docs" / "guides" / "agent-daemonset.md"


def rows(text: str, head: str) -> Iterator[list[str]]:
    """The cells of the table that begins with a line."""
    lines = text.split(f"\n{head}\n", 1)[1].splitlines()[1:]
    for line in lines:
        if not line.startswith("|"):
            return
        yield [cell.strip() for cell in line.strip("|").split("|")]


def test_the_table_of_fields_is_that_of_the_rules() -> None:
    """A field is refused in a mode if and only if a rule says so, and with its words."""
    found = list(
        rows(AGENTS.read_text(), "| field of `spec` | StatefulSet | DaemonSet | the message |")
    )
    assert [message for *_, message in found] == list(RULES_OF_MODES)
    for field, on_sets, on_nodes, message in found:
        assert message.split()[0] == field.strip("`")
        refused = (on_sets.startswith("refused"), on_nodes.startswith("refused"))
        assert refused == ("only be set" in message, "only be set" not in message)


def test_the_table_of_idle_fields_is_that_of_the_command() -> None:
    """What does nothing on every node is the same in the guide and in `stoker migrate`."""
    found = [
        field.strip("`") for field, _ in rows(AGENTS.read_text(), "| field of `spec` | instead |")
    ]
    assert found == [each.field for each in IDLE[DAEMON_SET]]


def test_whole_manifests_in_guides_are_valid() -> None:
    """What people copy is taken by the API server."""
    blocks = re.findall(r"^```yaml\n(.*?)^```", AGENTS.read_text(), re.DOTALL | re.MULTILINE)
    manifests = [parse(block) for block in blocks if block.startswith("apiVersion:")]
    assert manifests
    assert [problems(each) for each in manifests] == [[]] * len(manifests)


@pytest.mark.parametrize("page", [AGENTS, ROOT / "example/prometheus-agent/daemonset/README.md"])
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    """To files that exist, and to headings of the page itself."""
    text = page.read_text()
    headings = {
        re.sub(r"[^a-z0-9 -]", "", title.lower()).replace(" ", "-")
        for title in re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    }
    for target in re.findall(r"\]\(([^)]+)\)", text):
        path, _, heading = target.partition("#")
        assert not path or (page.parent / path).exists(), target
        assert path or heading in headings, target
