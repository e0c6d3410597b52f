"""The errors that stoker raises.

    StokerError
    ├── DecodeError      an object does not fit the types of its kind
    └── YamlError        a document is not YAML that Kubernetes reads (offline.yamltree)

A rejected resource is not an error but a value (see `stoker.api.admit.Finding`); an error is what
stops the work on an object.
"""


class StokerError(Exception):
    """The base of every error that stoker raises on purpose."""


class DecodeError(StokerError):
    """An object does not fit the types of its kind.

    `path` leads to the field (`spec.endpoints[0].port`), empty for the object as a whole.
    """

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}" if path else reason)
        self.path = path
        self.reason = reason
