"""The namespaces in which a workload looks for the targets of a resource."""

from collections.abc import Callable
from typing import TypeVar

from stoker.api.common import NamespaceSelector
from stoker.generate.draft import ScraperDraft
from stoker.generate.kubernetes import namespaces_of
from stoker.select.workload import Scraper
from stoker.view.listing import Listing
from stoker.view.view import View

T = TypeVar("T")


def places(
    view: View, selector: NamespaceSelector | None, namespace: str, scraper: Scraper
) -> tuple[str, ...]:
    """The namespaces to look in, for a resource in one; none means all."""
    return namespaces_of(selector, ScraperDraft(scraper, view.assets, namespace))


def place_words(names: tuple[str, ...]) -> str:
    """Namespaces in words."""
    if not names:
        return "all namespaces"
    return f"namespace{'s' if len(names) > 1 else ''} {', '.join(names)}"


def everywhere(read: Callable[[str | None], Listing[T]], names: tuple[str, ...]) -> Listing[T]:
    """The objects in these namespaces, or in all."""
    return Listing.joined(read(name) for name in names) if names else read(None)


def restricted(selector: NamespaceSelector | None, scraper: Scraper) -> tuple[str, ...]:
    """What should be said about a namespace selector that does not count."""
    if selector is not None and scraper.spec.ignore_namespace_selectors:
        return ("the workload sets ignoreNamespaceSelectors: spec.namespaceSelector has no effect",)
    return ()
