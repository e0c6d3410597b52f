"""A picture of curves for the documentation: SVG, readable on light and dark pages."""

from collections.abc import Mapping
from pathlib import Path
from xml.sax.saxutils import escape

WIDTH, HEIGHT, MARGIN = 640, 320, 56
COLOURS = ("#2a7de1", "#d9480f", "#2b8a3e")


def draw(path: Path, title: str, curves: Mapping[str, Mapping[int, float]]) -> None:
    """Write a picture of curves, each a mapping of x to y, both beginning at 0."""
    right = max(x for curve in curves.values() for x in curve)
    top = max(y for curve in curves.values() for y in curve.values()) * 1.1

    def place(x: float, y: float) -> tuple[float, float]:
        across = MARGIN + x / right * (WIDTH - 2 * MARGIN)
        return across, HEIGHT - MARGIN - y / top * (HEIGHT - 2 * MARGIN)

    parts = [_text(WIDTH / 2, 24, title, "middle"), _axes()]
    for step in range(5):
        y = top * step / 4
        parts.append(_text(MARGIN - 8, place(0, y)[1] + 4, f"{y:.0f}", "end"))
    for x in sorted({x for curve in curves.values() for x in curve}):
        parts.append(_text(place(x, 0)[0], HEIGHT - MARGIN + 20, f"{x:,}", "middle"))
    for (name, curve), colour in zip(curves.items(), COLOURS, strict=False):
        points = [place(x, y) for x, y in sorted(curve.items())]
        listed = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(
            f'<polyline points="{listed}" fill="none" stroke="{colour}" stroke-width="2"/>'
        )
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"/>' for x, y in points]
        last = points[-1]
        parts.append(_text(last[0], last[1] - 10, name, "end", colour))
    body = "\n".join(parts)
    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'font-family="sans-serif" font-size="13">\n{body}\n</svg>\n'
    )


def _axes() -> str:
    left, bottom = MARGIN, HEIGHT - MARGIN
    return (
        f'<path d="M{left} {MARGIN} V{bottom} H{WIDTH - MARGIN}" fill="none" '
        'stroke="#888" stroke-width="1"/>'
    )


def _text(x: float, y: float, text: str, anchor: str, colour: str = "#888") -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text {place} fill="{colour}">{escape(text)}</text>'
