"""What commands print for programs: values as JSON or YAML, and lists of objects."""

import json
from typing import TYPE_CHECKING, Any

from stoker.cli.terminal import print_utf8

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stoker.api.core import Object


def print_value(schema: str, value: dict[str, Any], form: str, indent: int | None = 2) -> None:
    """Print a value as JSON or YAML; its first member says of which schema it is.

    What the members of a schema mean is in docs/commands.md.
    """
    whole = {"schema": schema} | value
    if form == "yaml":
        import yaml

        print_utf8()
        dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
        text = yaml.dump(whole, Dumper=dumper, sort_keys=False, allow_unicode=True)
        print("---", text, sep="\n", end="")
    else:
        print(json.dumps(whole, indent=indent))


def print_list(objects: "Sequence[Object]") -> None:
    """Print objects as kubectl prints several of them as JSON."""
    print(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}, indent=2))
