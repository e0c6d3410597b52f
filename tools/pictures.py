"""Takes the pictures of the status page anew: `python -m tools.pictures`.

They are those that docs/status-page.md shows: of the folder `example`, in a browser that
`python -m tools.browser` finds or installs. Look at each before you commit it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tools.browser import Browser, installed
from tools.host import ROOT
from tools.served import Served, served

FOLDER = ROOT / "docs" / "pictures"
SHOWN = ROOT / "example"


class Picture(NamedTuple):
    """A file, what it shows, and how large the window is."""

    name: str
    address: str
    width: int = 1120
    height: int = 820
    scheme: str = "light"


PICTURES = (
    Picture("status-page-overview.png", "#/"),
    Picture("status-page-resource.png", "#/resource/ServiceMonitor/shop/checkout", height=760),
)


def take(browser: Browser, pictures: Sequence[Picture], folder: Path) -> None:
    """Write pictures of the examples into a folder."""
    with served(SHOWN) as site:
        for each in pictures:
            _take(browser, site, each, folder / each.name)


def _take(browser: Browser, site: Served, picture: Picture, path: Path) -> None:
    with browser.page() as page:
        page.prefers(picture.scheme)
        page.size(picture.width, picture.height)
        page.goto(site.url + picture.address)
        arrived = f"document.querySelector('main').dataset.at === {json.dumps(picture.address)}"
        page.until(f"the view {picture.address}", arrived)
        page.says("live", "#live")
        page.screenshot(path)


if __name__ == "__main__":
    with Browser.start(installed()) as browser:
        take(browser, PICTURES, FOLDER)
