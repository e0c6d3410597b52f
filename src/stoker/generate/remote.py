"""Remote write and remote read: from the declared types to `remote_write` and `remote_read`.

The entries are tables of `Key`, like everything that depends on the version. What Prometheus would
not load, such as two kinds of authentication, is refused before (`stoker.validate.workload`).
"""

from typing import Any, Final

from stoker.api.common import RelabelConfig
from stoker.api.core import SecretKeySelector
from stoker.api.prometheus import PrometheusSpec
from stoker.api.remote import MetadataConfig, RemoteRead, RemoteWrite
from stoker.generate.block import Block
from stoker.generate.draft import Draft, Key, put
from stoker.generate.http import authorization, basic_auth, oauth2, put_proxy, sigv4, tls_config
from stoker.generate.relabel import relabel_configs
from stoker.generate.sections import SPEC, sorted_members
from stoker.generate.values import by_table

_MESSAGE_V2: Final = "io.prometheus.write.v2.Request"
_MESSAGES: Final = {"V1.0": "prometheus.WriteRequest", "V2.0": _MESSAGE_V2}


def _message(version: str, _draft: Draft, _path: str) -> str | None:
    return _MESSAGES.get(version)


def _steps(steps: tuple[RelabelConfig, ...], draft: Draft, path: str) -> list[Block] | None:
    return relabel_configs(steps, draft, path) or None


def _if_any(value: Any, _draft: Draft, _path: str) -> Any:
    """A number or flag whose zero is the same as nothing."""
    return value or None


def _secret(reference: SecretKeySelector, draft: Draft, _path: str) -> str:
    return draft.value(reference) or ""


_QUEUE: Final = (
    Key("capacity", write=_if_any),
    Key("min_shards", write=_if_any),
    Key("max_shards", write=_if_any),
    Key("max_samples_per_send", write=_if_any),
    Key("batch_send_deadline"),
    Key("max_retries", until="2.11.0", write=_if_any),
    Key("min_backoff"),
    Key("max_backoff"),
    Key("retry_on_http_429", "retry_on_rate_limit", since="2.26.0", write=_if_any),
    Key("sample_age_limit", since="2.50.0"),
)
_METADATA: Final = (
    Key("send_interval"),
    Key("max_samples_per_send", since="2.29.0"),
)
_AZURE: Final = (
    Key("managed_identity", write=by_table(Key("client_id"))),
    Key(
        "oauth",
        since="2.48.0",
        write=by_table(Key("client_id"), Key("client_secret", write=_secret), Key("tenant_id")),
    ),
    Key("sdk", since="2.52.0", write=by_table(Key("tenant_id"))),
    Key("workload_identity", since="3.7.0", write=by_table(Key("client_id"), Key("tenant_id"))),
    Key("cloud"),
    Key("scope", since="3.9.0"),
)


def _metadata(metadata: MetadataConfig, draft: Draft, path: str) -> Block:
    block: Block = {"send": bool(metadata.send)}
    put(block, _METADATA, metadata, draft, path)
    return block


_AUTHENTICATION: Final = (
    Key("basic_auth", write=basic_auth),
    Key("bearer_token"),
    Key("bearer_token_file"),
    Key("oauth2", since="2.27.0", write=oauth2),
    Key("tls_config", write=tls_config),
    Key("authorization", since="2.26.0", write=authorization),
)
_WRITE: Final = (
    Key("url", keep_empty=True),
    Key("remote_timeout"),
    Key("headers", since="2.25.0", write=sorted_members),
    Key("name", since="2.15.0"),
    Key("protobuf_message", "message_version", since="2.54.0", write=_message),
    Key("send_exemplars", since="2.27.0"),
    Key("send_native_histograms", since="2.40.0"),
    Key("write_relabel_configs", write=_steps),
    *_AUTHENTICATION,
)
_WRITE_AFTER_PROXY: Final = (
    Key("sigv4", since="2.26.0", write=sigv4),
    Key("azuread", "azure_ad", since="2.45.0", write=by_table(*_AZURE)),
    Key("follow_redirects", since="2.26.0"),
    Key("enable_http2", since="2.35.0"),
    Key("queue_config", write=by_table(*_QUEUE)),
    Key("metadata_config", since="2.23.0", write=_metadata),
    Key("round_robin_dns", since="3.1.0"),
)
_READ: Final = (
    Key("url", keep_empty=True),
    Key("remote_timeout"),
    Key("headers", since="2.26.0", write=sorted_members),
    Key("name", since="2.15.0"),
    Key("required_matchers", write=sorted_members),
    Key("read_recent", write=_if_any),
    *_AUTHENTICATION,
)
_READ_AFTER_PROXY: Final = (
    Key("follow_redirects", since="2.26.0"),
    Key("filter_external_labels", since="2.34.0"),
)


def remote_write_section(draft: Draft) -> list[Block]:
    """`remote_write`: the storage to which samples are sent."""
    entries = draft.spec.remote_write or ()
    path = f"{SPEC}.remoteWrite"
    return [remote_write(entry, draft, f"{path}[{i}]") for i, entry in enumerate(entries)]


def remote_read_section(draft: Draft) -> list[Block]:
    """`remote_read`: the storage that queries read from too."""
    if not isinstance(draft.spec, PrometheusSpec):
        return []
    entries = draft.spec.remote_read or ()
    path = f"{SPEC}.remoteRead"
    return [remote_read(entry, draft, f"{path}[{i}]") for i, entry in enumerate(entries)]


def remote_write(entry: RemoteWrite, draft: Draft, path: str) -> Block:
    """One storage to which samples are sent."""
    block: Block = {}
    put(block, _WRITE, entry, draft, path)
    put_proxy(block, entry, draft, path)
    put(block, _WRITE_AFTER_PROXY, entry, draft, path)
    metadata = block.get("metadata_config")
    # The second version of the protocol has the metadata of each sample beside it.
    if metadata and metadata["send"] and block.get("protobuf_message") == _MESSAGE_V2:
        metadata["send"] = False
        draft.ignore(f"{path}.metadataConfig.send", "message version V2.0 has metadata already")
    return block


def remote_read(entry: RemoteRead, draft: Draft, path: str) -> Block:
    """One storage that queries read from too."""
    block: Block = {}
    put(block, _READ, entry, draft, path)
    put_proxy(block, entry, draft, path)
    put(block, _READ_AFTER_PROXY, entry, draft, path)
    return block
