"""What the writers of `alertmanager.yaml` may use, and how they write values.

A reference that leads nowhere, or a URL that is none, stops the AlertmanagerConfig that it is in
and no other: whoever writes one catches the `ResourceError` and leaves that one out.
"""

from typing import Any, Final

from stoker.errors import ResourceError
from stoker.generate.draft import Draft
from stoker.generate.order import in_order
from stoker.validate.syntax import milliseconds, web_url_problem

CERTIFICATES: Final = "/etc/alertmanager/certs"
TEMPLATES: Final = "/etc/alertmanager/templates"


class AlertDraft(Draft):
    """What one part of the file is written with; what is empty says nothing to Alertmanager."""

    program = "Alertmanager"
    directory = CERTIFICATES
    keeps_empty = False


def secret(reference: Any, draft: AlertDraft, path: str) -> str | None:
    """What a Secret holds; nothing for a reference that names nothing."""
    return draft.needed(reference, path) if draft.names(reference) else None


def secret_url(reference: Any, draft: AlertDraft, path: str) -> str | None:
    """The URL that a Secret holds; a line break after it is not part of it."""
    text = secret(reference, draft, path)
    if text is None:
        return None
    problem = web_url_problem(text.strip())
    if problem:
        raise ResourceError(path, f"the value is no URL: it {problem}")
    return text.strip()


def secret_text(reference: Any, draft: AlertDraft, path: str) -> str | None:
    """What a Secret holds, without the spaces and line breaks around it."""
    text = secret(reference, draft, path)
    return None if text is None else text.strip()


def pairs(values: Any, _draft: AlertDraft, _path: str) -> dict[str, str]:
    """Names and their values; of a name that stands there twice, the last."""
    return in_order({pair.key: pair.value for pair in values})


def go_duration(value: str, _draft: AlertDraft, _path: str) -> str:
    """A duration as Go reads it, which knows no days."""
    if not any(unit in value for unit in "dwy"):
        return value
    length = milliseconds(value)
    return value if length is None else f"{length // 1000}s" if not length % 1000 else f"{length}ms"
