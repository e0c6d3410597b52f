"""Values of Secrets, as texts that people look at may have them: named, never shown."""

from msgspec import Struct

from stoker.select.assets import SECRET, Assets, Missing, Source


class Masked(Struct, frozen=True):
    """Assets whose values from Secrets are only named, for texts that people look at.

    `before` are the values as they were: one that is another now is marked.
    """

    assets: Assets
    before: Assets | None = None

    def value(self, source: Source) -> str | Missing:
        """A stand-in for a Secret's text, the text behind a ConfigMap's key, or why there is none.

        A value that cannot be read is there all the same.
        """
        found = self.assets.value(source)
        if isinstance(found, Missing) and not found.problem:
            return found
        if source.kind == SECRET or isinstance(found, Missing):
            return f"<{self.place(source)}>"
        return found

    def place(self, source: Source) -> str:
        """Where a value is, and whether it is another one than before."""
        known = f"{source.kind} {source.namespace}/{source.name}, key {source.key}"
        changed = self.before and self.before.value(source) != self.assets.value(source)
        return f"{known}, another value" if changed else known


class Links:
    """Masked assets whose stand-ins look like URLs: writers refuse others where one belongs."""

    def __init__(self, masked: Masked) -> None:
        self._masked = masked
        self._plain: dict[str, str] = {}

    def value(self, source: Source) -> str | Missing:
        """A stand-in for what a Secret holds, the text of anything else, or why there is none."""
        found = self._masked.value(source)
        if isinstance(found, Missing) or source.kind != SECRET:
            return found
        link = f"https://masked.invalid/{source.namespace}/{source.name}/{source.key}/value"
        self._plain[link] = found
        return link

    def undone(self, text: str) -> str:
        """A text with the usual stand-ins."""
        for link, plain in self._plain.items():
            text = text.replace(link, plain)
        return text
