"""Command lines: the operator's arguments, then the user's own."""

from collections.abc import Iterable, Sequence

from stoker.api.workload import Argument
from stoker.errors import WorkloadError


def as_text(args: Iterable[Argument]) -> list[str]:
    """Each argument as a word of the command line; one without a value is a switch."""
    return [f"--{one.name}={one.value}" if one.value else f"--{one.name}" for one in args]


def with_additional(
    args: Sequence[Argument], additional: Sequence[Argument] | None, path: str
) -> list[str]:
    """The command line of ours and the user's arguments.

    WorkloadError at `path` for one that the operator sets already: programs refuse most repeated
    flags, and whose value would count differs for the rest.
    """
    ours = {_flag(one) for one in args}
    for index, one in enumerate(additional or ()):
        if _flag(one) in ours:
            raise WorkloadError(f"{path}[{index}]", f"the operator sets `{_flag(one)}` itself")
    return as_text([*args, *(additional or ())])


def _flag(argument: Argument) -> str:
    """The flag that is set: `no-web.lifecycle` switches `web.lifecycle` off."""
    return argument.name.removeprefix("no-")
