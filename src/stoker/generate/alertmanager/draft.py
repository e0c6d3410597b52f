"""What the writers of `alertmanager.yaml` may use: a version, a namespace, and values.

A reference that leads nowhere, or a URL that is none, stops the AlertmanagerConfig that it is in
and no other: whoever writes one catches the `ResourceError` and leaves that one out.
"""

from typing import Any, Final

from stoker.errors import ResourceError
from stoker.generate.draft import Ignored
from stoker.generate.order import in_order
from stoker.limits import Limits
from stoker.select.assets import Assets, Missing, Source, source_of
from stoker.validate.budget import Meter
from stoker.validate.syntax import milliseconds, web_url_problem
from stoker.version import Version

CERTIFICATES: Final = "/etc/alertmanager/certs"
TEMPLATES: Final = "/etc/alertmanager/templates"


class AlertDraft:
    """What one part of the file is written with, and the values that were read for it."""

    def __init__(
        self, version: Version, assets: Assets, namespace: str, limits: Limits | None = None
    ) -> None:
        self.version = version
        self.namespace = namespace
        self.reads: dict[Source, str | Missing] = {}
        self.ignored: list[Ignored] = []
        self._assets = assets
        self.meter = Meter(limits)

    def too_new(self, path: str, since: str, *, refused: bool = False) -> None:
        """Note a field that the version does not know; ResourceError where it is `refused`."""
        reason = f"needs Alertmanager {since} or newer"
        if refused:
            raise ResourceError(path, reason)
        self.ignored.append(Ignored(path, reason))

    def value(self, reference: Any, path: str) -> str:
        """The text behind a reference; ResourceError where there is none."""
        source = source_of(reference, self.namespace)
        if source is None:
            raise ResourceError(path, "names no key of a Secret or ConfigMap")
        found = self.reads[source] = self._assets.value(source)
        if isinstance(found, Missing):
            raise ResourceError(path, str(found))
        self.meter.spend("configuration-bytes", len(found), path, apart="values")
        return found

    def file(self, reference: Any) -> str | None:
        """The path of the file that will hold the value behind a reference."""
        source = source_of(reference, self.namespace)
        return f"{CERTIFICATES}/{source.file_name}" if source else None


# --- How a value is written -----------------------------------------------------------------------


def secret(reference: Any, draft: AlertDraft, path: str) -> str | None:
    """What a Secret holds; nothing for a reference that names nothing."""
    return draft.value(reference, path) if source_of(reference, draft.namespace) else None


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


def mounted(reference: Any, draft: AlertDraft, _path: str) -> str | None:
    """The file that holds what a reference leads to."""
    return draft.file(reference)


def if_true(value: bool, _draft: AlertDraft, _path: str) -> bool | None:
    """Only `true`, where `false` is what is done anyway."""
    return value or None


def items(values: Any, _draft: AlertDraft, _path: str) -> list[Any]:
    """A list."""
    return list(values)


def members(values: dict[str, str], _draft: AlertDraft, _path: str) -> dict[str, str]:
    """A mapping in the order of its names."""
    return in_order(values)


def pairs(values: Any, _draft: AlertDraft, _path: str) -> dict[str, str]:
    """Names and their values; of a name that stands there twice, the last."""
    return in_order({pair.key: pair.value for pair in values})


def lower(value: str, _draft: AlertDraft, _path: str) -> str:
    """A word in lower case: Kubernetes capitalises what Alertmanager does not."""
    return value.lower()


def go_duration(value: str, _draft: AlertDraft, _path: str) -> str:
    """A duration as Go reads it, which knows no days."""
    if not any(unit in value for unit in "dwy"):
        return value
    length = milliseconds(value)
    return value if length is None else f"{length // 1000}s" if not length % 1000 else f"{length}ms"
