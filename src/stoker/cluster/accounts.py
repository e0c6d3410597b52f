"""Who may do what, as the API server answers whoever may ask it that; the answer is not kept."""

from collections.abc import Mapping
from typing import Any

import msgspec

from stoker.kube.client import Client, Review
from stoker.kube.resources import SELF_SUBJECT_ACCESS_REVIEW, SUBJECT_ACCESS_REVIEW


async def may(client: Client, attributes: Mapping[str, str], account: str = "") -> bool:
    """Whether a service account (`namespace/name`) may do something, or whoever asks.

    The attributes are those of a review: `verb`, `group`, `resource` and perhaps others.
    """
    review = SUBJECT_ACCESS_REVIEW if account else SELF_SUBJECT_ACCESS_REVIEW
    spec = (_identity(account) if account else {}) | {"resourceAttributes": dict(attributes)}
    made = {"apiVersion": review.api_version, "kind": review.kind, "spec": spec}
    body, path = msgspec.json.encode(made), review.path(None)
    return (await client.ask(Review, "POST", path, body=body, exempt=True)).status.allowed


def _identity(account: str) -> dict[str, Any]:
    namespace, _, name = account.partition("/")
    groups = ["system:serviceaccounts", f"system:serviceaccounts:{namespace}"]
    return {
        "user": f"system:serviceaccount:{namespace}:{name}",
        "groups": [*groups, "system:authenticated"],
    }
