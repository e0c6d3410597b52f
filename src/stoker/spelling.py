"""Names that exist, near to a word that does not."""

from collections.abc import Iterable


def nearest(word: str, names: Iterable[str], cutoff: float = 0.6) -> str:
    """The name that a misspelt word was meant to be, or nothing."""
    if len(word) > 64:
        return ""
    import difflib

    folded = {name.lower(): name for name in reversed(list(names))}
    found = difflib.get_close_matches(word.lower(), folded, n=1, cutoff=cutoff)
    return folded[found[0]] if found else ""


def did_you_mean(word: str, names: Iterable[str]) -> str:
    """The end of a sentence about a word that does not exist; empty where nothing is near."""
    guess = nearest(word, names)
    return f"; did you mean `{guess}`?" if guess else ""
