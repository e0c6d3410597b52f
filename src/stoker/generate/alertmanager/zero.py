"""Durations of an Alertmanager that must not be zero: Alertmanager would not start, or spin."""

from typing import Final

from msgspec.structs import replace

from stoker.api.alertmanager import AlertmanagerSpec
from stoker.generate.draft import Ignored
from stoker.validate.findings import json_name
from stoker.validate.syntax import milliseconds

_DURATIONS: Final = (
    "retention",
    "cluster_gossip_interval",
    "cluster_pushpull_interval",
    "cluster_peer_timeout",
)


def without_zero_durations(
    spec: AlertmanagerSpec,
) -> tuple[AlertmanagerSpec, tuple[Ignored, ...]]:
    """The spec without durations of zero, and what was left out of it."""
    zero = [name for name in _DURATIONS if milliseconds(getattr(spec, name) or "") == 0]
    if not zero:
        return spec, ()
    ignored = (Ignored(f"spec.{json_name(spec, name)}", "must not be zero") for name in zero)
    return replace(spec, **dict.fromkeys(zero)), tuple(ignored)
