"""People with real tokens and real roles, and what they get to see of the page."""

from __future__ import annotations

import base64
import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterable
from email.message import Message
from typing import Any, NamedTuple

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, utils

from stoker.api.crd import GROUP
from tests.live.operating import Object
from tests.live.rights import RBAC
from tools.cluster import Cluster


class Reply(NamedTuple):
    """What the page answered."""

    status: int
    headers: Message[str, str]
    text: str

    @property
    def json(self) -> Any:
        """The answer as a value."""
        return json.loads(self.text)


def fetched(url: str, headers: Iterable[tuple[str, str]] = (), method: str = "GET") -> Reply:
    """What an address answers to these headers."""
    request = urllib.request.Request(url, method=method)
    for name, value in headers:
        request.add_unredirected_header(name, value)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return Reply(answer.status, answer.headers, answer.read().decode())
    except urllib.error.HTTPError as error:
        with error:
            return Reply(error.code, error.headers, error.read().decode())


class Visitor:
    """A service account of the cluster."""

    def __init__(self, cluster: Cluster, namespace: str, name: str) -> None:
        self._cluster = cluster
        self._path = f"/api/v1/namespaces/{namespace}/serviceaccounts"
        self.namespace, self.name = namespace, name
        cluster.api.request("POST", self._path, {"metadata": {"name": name}})

    @property
    def user(self) -> str:
        """What the API server calls it."""
        return f"system:serviceaccount:{self.namespace}:{self.name}"

    def token(self, *audiences: str) -> str:
        """A token, for the API server itself unless other audiences are named."""
        wanted: Object = {"spec": {"audiences": list(audiences), "expirationSeconds": 3600}}
        made = self._cluster.api.request("POST", f"{self._path}/{self.name}/token", wanted)
        return str(made["status"]["token"])

    def signed(self, ago: int) -> str:
        """A token that the cluster's own key has signed some seconds ago, for ten minutes."""
        head, body, _ = self.token().split(".")
        claims = json.loads(_decoded(body))
        then = int(time.time()) - ago
        claims |= {"iat": then, "nbf": then, "exp": then + 600}
        signed = f"{head}.{_encoded(json.dumps(claims).encode())}"
        key = self._cluster.ca_file.parent / "service-accounts.key"
        private = serialization.load_pem_private_key(key.read_bytes(), None)
        assert isinstance(private, ec.EllipticCurvePrivateKey)
        der = private.sign(signed.encode(), ec.ECDSA(hashes.SHA256()))
        numbers = b"".join(each.to_bytes(32, "big") for each in utils.decode_dss_signature(der))
        return f"{signed}.{_encoded(numbers)}"

    def leave(self) -> None:
        """Delete it, with which its tokens are worth nothing."""
        self._cluster.api.request("DELETE", f"{self._path}/{self.name}")

    def may(self, namespace: str, *resources: str, verbs: Iterable[str] = ("list",)) -> None:
        """Let it do something with some of our resources, in a namespace or (empty) everywhere."""
        self.may_all(namespace, [{"apiGroups": [GROUP], "resources": list(resources)}], verbs)

    def may_all(self, namespace: str, rules: list[Object], verbs: Iterable[str]) -> str:
        """The same for any rules; the path of the binding."""
        kind = "Role" if namespace else "ClusterRole"
        name = f"{self.namespace}-{self.name}-{len(rules)}-{abs(hash(str(rules))) % 10**6}"
        place = f"/apis/{RBAC}/v1" + (f"/namespaces/{namespace}" if namespace else "")
        allowed = [each | {"verbs": list(verbs)} for each in rules]
        metadata = {"name": name}
        subject = {"kind": "ServiceAccount", "namespace": self.namespace, "name": self.name}
        role = {"kind": kind, "apiGroup": RBAC, "name": name}
        bound = {"metadata": metadata, "roleRef": role, "subjects": [subject]}
        made = {"metadata": metadata, "rules": allowed}
        self._cluster.api.request("POST", f"{place}/{kind.lower()}s", made)
        self._cluster.api.request("POST", f"{place}/{kind.lower()}bindings", bound)
        return f"{place}/{kind.lower()}bindings/{name}"


def bearer(token: str) -> tuple[str, str]:
    """The header that carries a token."""
    return "Authorization", f"Bearer {token}"


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
