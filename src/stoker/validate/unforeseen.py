"""What was not foreseen in one resource concerns that resource alone.

Checks and writers of configuration raise nothing on purpose but what is documented. Where one of
them fails all the same, the resource that it fails on is left out like any other that cannot be
used, and says so; the others are configured. Only the place of the failure is reported: the words
of an error could quote what was read from a Secret.
"""

from stoker.validate.findings import Finding, Reason

_PACKAGE = "/stoker/"


def unforeseen(error: Exception) -> Finding:
    """What is said of a resource that stoker fails on."""
    message = (
        f"stoker fails on it: {type(error).__name__} at {_place(error)}. This is a defect of"
        " stoker's own: please report it, with the resource"
    )
    return Finding("spec", Reason.UNFORESEEN, message)


def _place(error: Exception) -> str:
    """The innermost of our own lines that it went through."""
    place, trace = "an unknown line", error.__traceback__
    while trace is not None:
        _, ours, module = trace.tb_frame.f_code.co_filename.rpartition(_PACKAGE)
        if ours:
            place = f"{module}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place
