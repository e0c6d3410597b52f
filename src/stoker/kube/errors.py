"""What an API server answers when it says no, as errors; the tree is in `stoker.errors`.

An error says which request it was (verb and path) and never what was in it: bodies and headers
may hold secrets.
"""

# ruff: noqa: N818 - the names are those of the API's own reasons

from collections.abc import Mapping
from typing import Any, Final

from stoker.errors import StokerError
from stoker.kube.resources import Target

# A server, or what is before it, that asks for more is asked all the same.
_LONGEST_ASKED: Final = 300.0


class AccessError(StokerError):
    """We do not know where the API server is, or have nothing to show to it."""


class NotLeading(StokerError):
    """A write was held back: another process may be the leader by now."""


class ApiError(StokerError):
    """A request failed. `status` is the HTTP status, 0 when there was no answer."""

    def __init__(  # noqa: PLR0913 - all that is known of a failure
        self,
        verb: str,
        path: str,
        message: str,
        *,
        status: int = 0,
        reason: str = "",
        details: Mapping[str, Any] | None = None,
        retry_after: float | None = None,
    ) -> None:
        said = " ".join(str(part) for part in (status or "", reason) if part)
        super().__init__(f"{verb} {path}: {said}{': ' if said else ''}{message}")
        self.verb = verb
        self.path = path
        self.message = message
        self.status = status
        self.reason = reason
        self.details = details or {}
        self.retry_after = retry_after

    @property
    def timed_out(self) -> bool:
        """Whether it was waited for in vain."""
        return isinstance(self.__cause__, TimeoutError)

    @property
    def asked_wait(self) -> float:
        """For how many seconds the server wants not to be asked again; 0 where it did not say.

        Whoever tries again keeps to that, however long its own wait would be.
        """
        return min(self.retry_after or 0.0, _LONGEST_ASKED)

    @property
    def causes(self) -> list[Mapping[str, Any]]:
        """What the server found wrong, one by one, each with `field`, `reason` and `message`."""
        return self.details.get("causes") or []


class Unauthorized(ApiError):
    """The server does not know us."""


class Forbidden(ApiError):
    """We cannot do that; `verb` and `resource` are what a role would have to allow."""

    @property
    def resource(self) -> str:
        """The resource as RBAC names it."""
        return Target.of(self.path).resource

    @property
    def namespace(self) -> str:
        """Where; "" for the whole cluster."""
        return Target.of(self.path).namespace


class NotFound(ApiError):
    """There is no such object, or no such resource."""


class Conflict(ApiError):
    """The object is not what we thought: a precondition or another manager's field."""


class AlreadyExists(ApiError):
    """An object of that name is there already."""


class Gone(ApiError):
    """That resource version is too old (410, `Expired`): list again."""


class Invalid(ApiError):
    """The server does not accept this object (422)."""


class TooManyRequests(ApiError):
    """The server asks us to wait for `retry_after` seconds."""


class Unavailable(ApiError):
    """The server cannot answer now: 5xx, a timeout, no connection."""


class Silent(Unavailable):
    """An answer began, and did not go on or end when it should have."""


_BY_STATUS: Final[dict[int, type[ApiError]]] = {
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    408: Unavailable,
    409: Conflict,
    410: Gone,
    422: Invalid,
    429: TooManyRequests,
}


def asked_wait(error: BaseException | None) -> float:
    """For how many seconds the server wants not to be asked again, after an error of any kind."""
    return error.asked_wait if isinstance(error, ApiError) else 0.0


def passes_untold(error: BaseException) -> bool:
    """Whether an answer is one of the moment, and no event tells when it would be another.

    It is so for all but what says that the request itself is wrong: what asked comes back within
    seconds, however often it failed before. A server that fails in many ways gives many answers.
    """
    return isinstance(error, ApiError) and type(error) not in (ApiError, Invalid)


def error_of(
    verb: str, path: str, status: Mapping[str, Any], *, retry_after: float | None = None
) -> ApiError:
    """The error for a `Status` object, from an answer or from an ERROR event of a watch."""
    code = status.get("code") or 0
    reason = status.get("reason") or ""
    details = status.get("details") or {}
    return _class_of(code, reason, status.get("message") or "")(
        verb,
        path,
        status.get("message") or "",
        status=code,
        reason=reason,
        details=details,
        retry_after=retry_after if retry_after is not None else details.get("retryAfterSeconds"),
    )


# A server-side apply answers 500 where a value does not fit its type.
_WRONG_TYPES: Final = ("failed to create typed patch object", "failed to convert new object")


def _class_of(code: int, reason: str, message: str) -> type[ApiError]:
    if reason == "AlreadyExists":
        return AlreadyExists
    if code >= 500 and message.startswith(_WRONG_TYPES):
        return Invalid
    return _BY_STATUS.get(code, Unavailable if code >= 500 else ApiError)
