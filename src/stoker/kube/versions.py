"""Which of two states of the cluster is the older one.

A resource version is the number of a write: Kubernetes promises since 1.35 that those of one
resource can be compared, and they are numbers in every release before. What is no number cannot be
compared; then nothing is known to be older, and whatever comes last counts.
"""


def is_older(one: str, other: str) -> bool:
    """Whether a version is older than another; no if they cannot be compared."""
    if not (one.isdecimal() and other.isdecimal()):
        return False
    return int(one) < int(other)


def newest(one: str, other: str) -> str:
    """The newer one of two versions; where they cannot be compared, the second."""
    return one if is_older(other, one) else other
