"""The list of all modules on the architecture page, by what each says of itself."""

import ast
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = Path("docs/architecture.md")
_SOURCE = ROOT / "src" / "stoker"
_BEGIN, _END = "<!-- all modules -->\n", "<!-- end of all modules -->\n"


def page() -> str:
    """The architecture page with the list as it is now."""
    before, _, rest = (ROOT / PAGE).read_text().partition(_BEGIN)
    _, _, after = rest.partition(_END)
    return f"{before}{_BEGIN}{listed()}{_END}{after}"


def listed() -> str:
    """A list for each room."""
    rooms: dict[str, list[str]] = {}
    for path in sorted(_SOURCE.rglob("*.py")):
        place = path.relative_to(_SOURCE)
        room = place.parts[0] if len(place.parts) > 1 else ""
        if path.name != "__init__.py":
            rooms.setdefault(room, []).append(f"- `{place}`: {_said(path)}\n")
    return "".join(
        f"\n### {f'{room}/' if room else 'Beside the rooms'}\n\n{''.join(lines)}"
        for room, lines in sorted(rooms.items())
    )


def _said(path: Path) -> str:
    """The first sentence of a module."""
    said = ast.get_docstring(ast.parse(path.read_text())) or ""
    return said.partition("\n\n")[0].replace("\n", " ").rstrip(".")
