"""The errors that stoker raises.

    StokerError
    ├── FieldError       something is wrong at a field
    │   ├── DecodeError      an object does not fit the types of its kind
    │   ├── ResourceError    a configuration resource cannot be used by a workload
    │   │   └── OverBudgetError  it costs more than one may
    │   └── WorkloadError    a workload cannot be configured at all
    │       └── UnknownError     … or can: what it names was not there to be read
    ├── YamlError        a document is not YAML that Kubernetes reads (yamltree)
    ├── AccessError      we cannot tell where the API server is or who we are (kube.errors)
    ├── NotLeading       a write was held back: another process may lead (kube.errors)
    └── ApiError         a request to the API server failed (kube.errors)
        ├── Unauthorized     it does not know us
        ├── Forbidden        we are not allowed to; names verb and resource
        ├── NotFound         there is no such object or resource
        ├── AlreadyExists    an object of that name is there
        ├── Conflict         a precondition does not hold, or a field is another manager's
        ├── Gone             that resource version is too old
        ├── Invalid          it does not accept the object
        ├── TooManyRequests  it asks us to wait
        └── Unavailable      5xx, a timeout, no connection

A rejected resource is not an error but a value (see `stoker.api.admit.Objection`); an error is what
stops the work on an object.
"""


def below(path: str, name: str) -> str:
    """The path of a member of what is at a path: `spec` and `port` make `spec.port`."""
    return f"{path}.{name}" if path else name


class StokerError(Exception):
    """The base of every error that stoker raises on purpose."""


class FieldError(StokerError):
    """Something is wrong at a field.

    `path` leads there (`spec.endpoints[0].port`), empty for the object as a whole.
    """

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}" if path else reason)
        self.path = path
        self.reason = reason


class DecodeError(FieldError):
    """An object does not fit the types of its kind."""


class ResourceError(FieldError):
    """A configuration resource cannot be used by a workload: it is left out and reported."""


class WorkloadError(FieldError):
    """A workload cannot be configured at all: its last good configuration stays."""


class UnknownError(WorkloadError):
    """Whether a workload can be configured is not known: what it names was not there to be read."""


class OverBudgetError(ResourceError):
    """A configuration resource costs more than one may: it is left out and reported."""
