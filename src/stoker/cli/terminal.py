"""Text from users on a terminal: shown, never obeyed."""

import unicodedata


def harmless(text: str) -> str:
    """Text that a terminal only shows: what would move, colour or reorder it is spelt out."""
    return "".join(_spelt(letter) if _acts(letter) else letter for letter in text)


def _acts(letter: str) -> bool:
    return unicodedata.category(letter) in {"Cc", "Cf", "Cs", "Zl", "Zp"}


def _spelt(letter: str) -> str:
    return letter.encode("unicode_escape").decode()
