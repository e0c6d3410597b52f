r"""Refreshes `src/stoker/golang/classnames.py`: the names that `\p{…}` knows in Go.

Names and sizes are those of the Go that builds the judge. Which Go brought a script is written
here: it follows the version of Unicode, and the scripts are those that `unicode/tables.go` gained.

    python -m tools.goclasses            ask Go, write the file
"""

import json
from pathlib import Path
from typing import Any, Final

from tests.judge import Question, answers

TARGET: Final = Path(__file__).parent.parent / "src/stoker/golang/classnames.py"
# The minor version of Go 1 that brought scripts; what is in no row has been there since 1.9.
BROUGHT: Final = {
    10: "Masaram_Gondi Nushu Soyombo Zanabazar_Square",
    13: "Dogra Gunjala_Gondi Hanifi_Rohingya Makasar Medefaidrin Old_Sogdian Sogdian",
    14: "Elymaic Nandinagari Nyiakeng_Puachue_Hmong Wancho",
    16: "Chorasmian Dives_Akuru Khitan_Small_Script Yezidi",
    21: "Cypro_Minoan Kawi Nag_Mundari Old_Uyghur Tangsa Toto Vithkuqi",
}
OLDEST: Final = 9
NEW_CATEGORIES: Final = ("Cn", "LC")
HEAD: Final = '''"""The names of Unicode classes in Go. Written by `python -m tools.goclasses`.

A class has the minor version of Go 1 that brought it, and how many numbers its ranges take: as it
is, and with all that differs from it only in case.
"""

from typing import Final

'''


def main() -> None:
    """Ask Go, and write the table."""
    known = json.loads(answers([Question("classes", "")])[0].value)
    TARGET.write_text(table(known, since()))
    print(f"{TARGET}: {len(known['classes'])} classes, {len(known['aliases'])} aliases")


def since() -> dict[str, int]:
    """The minor version of Go that brought a class, where it was not always there."""
    scripts = {name: minor for minor, names in BROUGHT.items() for name in names.split()}
    return scripts | dict.fromkeys(NEW_CATEGORIES, 25)


def table(known: dict[str, Any], brought: dict[str, int]) -> str:
    """The module with the table of all classes."""
    text = HEAD
    for title, script in (("CATEGORIES", False), ("SCRIPTS", True)):
        text += f"{title}: Final[dict[str, tuple[int, int, int]]] = {{\n"
        for one in sorted(known["classes"], key=lambda one: str(one["name"])):
            if one["script"] == script:
                row = (brought.get(one["name"], OLDEST), one["runes"], one["folded"])
                text += f'    "{one["name"]}": {row},\n'
        text += "}\n"
    text += "ALIASES: Final[dict[str, str]] = {\n"
    text += "".join(f'    "{name}": "{one}",\n' for name, one in sorted(known["aliases"].items()))
    return text + "}\n"


if __name__ == "__main__":
    main()
