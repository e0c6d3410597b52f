"""The values behind references to Secrets and ConfigMaps.

A reference names a key of a Secret or ConfigMap in the namespace of the object that refers to it.
Values either go into the configuration as text, or become files that are mounted beside it; the
file's name tells where the value comes from.
"""

from collections.abc import Mapping
from hashlib import sha256
from typing import Final, Protocol, TypeAlias

from msgspec import Struct

from stoker.api.common import SecretOrConfigMap
from stoker.api.core import ConfigMapKeySelector, SecretKeySelector
from stoker.ref import Ref

# A file is a key of a Secret, and the API server takes no longer one.
_LONGEST_FILE: Final = 253
_DIGEST: Final = 32

Reference: TypeAlias = SecretKeySelector | ConfigMapKeySelector | SecretOrConfigMap

SECRET = "Secret"  # noqa: S105 (a kind)
CONFIG_MAP = "ConfigMap"
_LONGEST_NAME = 253


class Source(Struct, frozen=True, order=True):
    """A key of a Secret or ConfigMap, whether or not it exists."""

    kind: str
    namespace: str
    name: str
    key: str

    @property
    def ref(self) -> Ref:
        """The Secret or ConfigMap."""
        return Ref(self.kind, self.namespace, self.name)

    @property
    def file_name(self) -> str:
        """The name of the file that holds the value when it is mounted.

        It begins with the namespace, so that no tenant's file can have the name of another's.
        """
        prefix = "0" if self.kind == SECRET else "1"
        whole = f"{prefix}_{self.namespace}_{self.name}_{self.key}"
        if len(whole) <= _LONGEST_FILE:
            return whole
        digest = sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST]
        return f"{whole[: _LONGEST_FILE - _DIGEST - 1]}_{digest}"


class Missing(Struct, frozen=True):
    """Why there is no value: the object or the key is not there, or it cannot be read.

    `unsure`: whoever asks sees less than an operator would, so nothing follows from it.
    """

    source: Source
    object_exists: bool
    problem: str = ""
    unsure: bool = False

    def __str__(self) -> str:
        of = self.source
        # Anybody may write any name, and it would stand in every message.
        name, key = _clipped(of.name), _clipped(of.key)
        if self.problem:
            return f"{of.kind} {of.namespace}/{name} cannot be read: {self.problem}"
        if self.object_exists:
            return f"{of.kind} {of.namespace}/{name} has no key `{key}`"
        if self.unsure:
            return f"{of.kind} {of.namespace}/{name} is not among the manifests"
        return f"there is no {of.kind} {of.namespace}/{name}"


def _clipped(name: str) -> str:
    """A name that Kubernetes could have, whole; the beginning of any other."""
    return name if len(name) <= _LONGEST_NAME else f"{name[:32]}…"


class Assets(Protocol):
    """Something that knows the contents of Secrets and ConfigMaps."""

    def value(self, source: Source) -> str | Missing:
        """The text behind a key, or why there is none."""
        ...


class WholeAssets(Assets, Protocol):
    """Assets that can also tell everything that an object holds."""

    def all_of(self, ref: Ref) -> Mapping[str, str | bytes]:
        """What an object holds by its keys, as bytes what is no text; nothing if there is none."""
        ...


class Noted:
    """Assets that note what was asked for, so that it is waited for where something fails."""

    def __init__(self, assets: Assets) -> None:
        self.sources: set[Source] = set()
        self._assets = assets

    def value(self, source: Source) -> str | Missing:
        """The text behind a key, or why there is none."""
        self.sources.add(source)
        return self._assets.value(source)

    def reads(self) -> dict[Source, "str | Missing"]:
        """All that was asked for, with the answers."""
        return {source: self._assets.value(source) for source in self.sources}


class AssetsAtHand(Struct, frozen=True):
    """Assets from dictionaries: for each object {key: text, or bytes}.

    With `partial` there may be others elsewhere: of manifests, a cluster may have more.
    """

    objects: dict[Ref, Mapping[str, str | bytes]] = {}
    partial: bool = False

    def value(self, source: Source) -> str | Missing:
        """The text behind a key, or why there is none."""
        found = self.objects.get(source.ref)
        if found is None:
            return Missing(source, object_exists=False, unsure=self.partial)
        value = found.get(source.key)
        # What is no text can be of no use in a configuration.
        return value if isinstance(value, str) else Missing(source, object_exists=True)

    def all_of(self, ref: Ref) -> Mapping[str, str | bytes]:
        """What an object holds by its keys."""
        return dict(self.objects.get(ref, {}))


def source_of(reference: Reference | None, namespace: str) -> Source | None:
    """Where a reference leads; None for one that names nothing."""
    if isinstance(reference, SecretOrConfigMap):
        return source_of(reference.secret or reference.config_map, namespace)
    if reference is None or not (reference.name or reference.key):
        return None
    kind = CONFIG_MAP if isinstance(reference, ConfigMapKeySelector) else SECRET
    return Source(kind, namespace, reference.name or "", reference.key)
