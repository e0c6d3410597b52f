"""The text of `alertmanager.yaml` as a frame with four gaps, which pieces fill.

global, route … routes:  [pieces] base   … inhibit_rules: base [pieces]
receivers: base [pieces]   mute_time_intervals: base [pieces]   the rest
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias

from msgspec import Struct

from stoker.generate.block import Block, text_of

GAPS: Final = ("routes", "inhibit_rules", "receivers", "mute_time_intervals")
Texts: TypeAlias = dict[str, str]


def piece_texts(tree: Block) -> Texts:
    """What a piece puts into each gap."""
    route = tree.get("route")
    return {
        "routes": _routes([route] if route else []),
        **{gap: _items(tree.get(gap)) for gap in GAPS[1:]},
    }


def _routes(routes: list[Block]) -> str:
    """Routes as they stand below `route:` and `routes:`."""
    text = text_of({"route": {"routes": routes}}) if routes else ""
    return text.split("\n", 2)[2] if text else ""


def _items(items: Any) -> str:
    return text_of(items) if items else ""


class AlertFrame(Struct, frozen=True):
    """The fixed parts of the text, and what the base has in each gap."""

    before_routes: str
    after_routes: str
    rest: str
    own: Texts

    def layout(self, filled: Mapping[str, bool]) -> list[str]:
        """Fixed texts and names of gaps, in order; a gap without anything has no heading.

        `filled` tells in which gaps there are pieces. A name stands where the pieces belong.
        """
        parts = [self.before_routes]
        if filled["routes"] or self.own["routes"]:
            parts += ["  routes:\n", "routes", self.own["routes"]]
        parts.append(self.after_routes)
        for gap in GAPS[1:]:
            if filled[gap] or self.own[gap]:
                parts += [f"{gap}:\n", self.own[gap], gap]
        return [part for part in (*parts, self.rest) if part]


def whole_text(base: Block, pieces: Iterable[Block]) -> str:
    """The text of a base with pieces, in their order."""
    texts = [piece_texts(piece) for piece in pieces]
    filled = {gap: "".join(text[gap] for text in texts) for gap in GAPS}
    layout = frame_of(base).layout({gap: bool(text) for gap, text in filled.items()})
    return "".join(filled.get(part, part) for part in layout)


_REST: Final = ("time_intervals", "templates", "tracing", "event_recorder")


def frame_of(tree: Block) -> AlertFrame:
    """The frame that a base makes."""
    route = dict(tree.get("route") or {})
    names = list(route)
    place = names.index("routes") if "routes" in names else _place(names)
    before = {name: route[name] for name in names[:place]}
    after = {name: route[name] for name in names[place:] if name != "routes"}
    common = {"global": tree["global"]} if "global" in tree else {}
    return AlertFrame(
        before_routes=(text_of(common) if common else "") + text_of({"route": before}),
        after_routes=text_of({"route": after}).split("\n", 1)[1] if after else "",
        rest=text_of({name: tree[name] for name in _REST if name in tree}),
        own={
            "routes": _routes(route.get("routes") or []),
            **{gap: _items(tree.get(gap)) for gap in GAPS[1:]},
        },
    )


_AFTER: Final = ("group_wait", "group_interval", "repeat_interval", "mute_time_intervals")


def _place(names: list[str]) -> int:
    """Where the routes would stand."""
    return next((at for at, name in enumerate(names) if name in (*_AFTER, "labels")), len(names))
