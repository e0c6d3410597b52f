"""The architecture page is true of the code."""

import re
from pathlib import Path

from tools import modules

PAGE = (modules.ROOT / modules.PAGE).read_text()
SOURCE = Path(modules.__file__).parents[1] / "src" / "stoker"


def test_every_module_is_named_with_what_it_says_of_itself() -> None:
    """`make reference` was run after the last module came, went, or changed its first sentence."""
    assert modules.page() == PAGE, "run `make reference`"


def test_no_module_is_named_that_is_not_there() -> None:
    """Neither in the walks, nor in the table of what a new kind touches."""
    named = re.findall(r"`(\w+(?:/\w+)+)(?:\.py)?`", PAGE)
    missing = [
        each
        for each in named
        if (SOURCE / each.split("/")[0]).is_dir()
        and not (SOURCE / each).with_suffix(".py").exists()
        and not (SOURCE / each).is_dir()
    ]
    assert named
    assert missing == []
