"""`make run`: the status page of example/, until Ctrl-C; without a terminal, one look in words.

python -m tools.run                              the page at http://127.0.0.1:8095/
python -m tools.run --address 127.0.0.1:9000     elsewhere; all options are those of `stoker serve`
python -m tools.run --once                       the overview as text, and an end
"""

from __future__ import annotations

import json
import os
import sys
import urllib.request
from pathlib import Path
from typing import Any, NoReturn

from tools.served import Served, served
from tools.waiting import until

EXAMPLE = "example/"
HINTS = f"""\
The monitoring of a small shop, from the manifests in {EXAMPLE}, without a cluster.
Edit one of them and watch the page: put the port in surprises.yaml right (`metrcis`), say.
"""


def main(arguments: list[str]) -> int:
    """Show the page, or tell once what is on it."""
    return _look() if "--once" in arguments or not sys.stdout.isatty() else _stay(arguments)


def _stay(arguments: list[str]) -> NoReturn:
    print(HINTS, flush=True)
    command = [sys.executable, "-m", "stoker", "serve", EXAMPLE, *arguments]
    os.execv(sys.executable, command)  # noqa: S606  (no shell is wanted)


def _look() -> int:
    with served(Path(EXAMPLE)) as site:
        print(told(until("the overview", lambda: overview(site))))
    print(f"\n`stoker serve {EXAMPLE}` shows this in a browser; in a terminal, `make run` does.")
    return 0


def overview(site: Served) -> dict[str, Any]:
    """What the page shows first; an error while the folder is being read."""
    with urllib.request.urlopen(f"{site.url}api/overview") as answer:
        found: dict[str, Any] = json.load(answer)
        return found


def told(found: dict[str, Any]) -> str:
    """An overview in words."""
    numbers = found["resources"]
    lines = [
        f"{numbers['total']} resources: {numbers['used']} used, {numbers['rejected']} rejected, "
        f"{numbers['notSelected']} not selected"
    ]
    for each in found["workloads"]:
        title = f"{each['kind']} {each['namespace']}/{each['name']}"
        lines.append(f"  {each['state']:<8} {title}: {each['headline']}")
    lines += [f"{len(found['problems'])} objects cannot be used as they are written"]
    lines += [
        f"  {each['subject']} ({each['source']}): {'; '.join(each['reasons'])}"
        for each in found["problems"]
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(0)
