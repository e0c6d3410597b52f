"""Remote write and remote read: from the declared types to `remote_write` and `remote_read`.

The entries are tables of members, like everything that depends on the version. What Prometheus
would not load, such as two kinds of authentication, is refused before that, in
`stoker.validate.workload`.
"""

from typing import Final

from stoker.api.common import RelabelConfig
from stoker.api.prometheus import PrometheusSpec
from stoker.api.remote import MetadataConfig, RemoteRead, RemoteWrite
from stoker.generate.block import Block
from stoker.generate.draft import ScraperDraft
from stoker.generate.grammar import Member, by_table, put
from stoker.generate.http import authorization, basic_auth, oauth2, put_proxy, sigv4, tls_config
from stoker.generate.relabel import relabel_configs
from stoker.generate.sections import SPEC, sorted_members
from stoker.generate.values import if_any, value_or_empty

_MESSAGE_V2: Final = "io.prometheus.write.v2.Request"
_MESSAGES: Final = {"V1.0": "prometheus.WriteRequest", "V2.0": _MESSAGE_V2}


def _message(version: str, _draft: ScraperDraft, _path: str) -> str | None:
    return _MESSAGES.get(version)


def _steps(steps: tuple[RelabelConfig, ...], draft: ScraperDraft, path: str) -> list[Block] | None:
    return relabel_configs(steps, draft, path) or None


_QUEUE: Final = (
    Member("capacity", write=if_any),
    Member("min_shards", write=if_any),
    Member("max_shards", write=if_any),
    Member("max_samples_per_send", write=if_any),
    Member("batch_send_deadline"),
    Member("max_retries", until="2.11.0", write=if_any),
    Member("min_backoff"),
    Member("max_backoff"),
    Member("retry_on_http_429", "retry_on_rate_limit", since="2.26.0", write=if_any),
    Member("sample_age_limit", since="2.50.0"),
)
_METADATA: Final = (
    Member("send_interval"),
    Member("max_samples_per_send", since="2.29.0"),
)
_AZURE: Final = (
    Member("managed_identity", write=by_table(Member("client_id"))),
    Member(
        "oauth",
        since="2.48.0",
        write=by_table(
            Member("client_id"), Member("client_secret", write=value_or_empty), Member("tenant_id")
        ),
    ),
    Member("sdk", since="2.52.0", write=by_table(Member("tenant_id"))),
    Member(
        "workload_identity", since="3.7.0", write=by_table(Member("client_id"), Member("tenant_id"))
    ),
    Member("cloud"),
    Member("scope", since="3.9.0"),
)


def _metadata(metadata: MetadataConfig, draft: ScraperDraft, path: str) -> Block:
    block: Block = {"send": bool(metadata.send)}
    put(block, _METADATA, metadata, draft, path)
    return block


_AUTHENTICATION: Final = (
    Member("basic_auth", write=basic_auth),
    Member("bearer_token"),
    Member("bearer_token_file"),
    Member("oauth2", since="2.27.0", write=oauth2),
    Member("tls_config", write=tls_config),
    Member("authorization", since="2.26.0", write=authorization),
)
_WRITE: Final = (
    Member("url", keep_empty=True),
    Member("remote_timeout"),
    Member("headers", since="2.25.0", write=sorted_members),
    Member("name", since="2.15.0"),
    Member("protobuf_message", "message_version", since="2.54.0", write=_message),
    Member("send_exemplars", since="2.27.0"),
    Member("send_native_histograms", since="2.40.0"),
    Member("write_relabel_configs", write=_steps),
    *_AUTHENTICATION,
)
_WRITE_AFTER_PROXY: Final = (
    Member("sigv4", since="2.26.0", write=sigv4),
    Member("azuread", "azure_ad", since="2.45.0", write=by_table(*_AZURE)),
    Member("follow_redirects", since="2.26.0"),
    Member("enable_http2", since="2.35.0"),
    Member("queue_config", write=by_table(*_QUEUE)),
    Member("metadata_config", since="2.23.0", write=_metadata),
    Member("round_robin_dns", since="3.1.0"),
)
_READ: Final = (
    Member("url", keep_empty=True),
    Member("remote_timeout"),
    Member("headers", since="2.26.0", write=sorted_members),
    Member("name", since="2.15.0"),
    Member("required_matchers", write=sorted_members),
    Member("read_recent", write=if_any),
    *_AUTHENTICATION,
)
_READ_AFTER_PROXY: Final = (
    Member("follow_redirects", since="2.26.0"),
    Member("filter_external_labels", since="2.34.0"),
)


def remote_write_section(draft: ScraperDraft) -> list[Block]:
    """`remote_write`: the storage to which samples are sent."""
    entries = draft.spec.remote_write or ()
    path = f"{SPEC}.remoteWrite"
    return [remote_write(entry, draft, f"{path}[{i}]") for i, entry in enumerate(entries)]


def remote_read_section(draft: ScraperDraft) -> list[Block]:
    """`remote_read`: the storage that queries read from too."""
    if not isinstance(draft.spec, PrometheusSpec):
        return []
    entries = draft.spec.remote_read or ()
    path = f"{SPEC}.remoteRead"
    return [remote_read(entry, draft, f"{path}[{i}]") for i, entry in enumerate(entries)]


def remote_write(entry: RemoteWrite, draft: ScraperDraft, path: str) -> Block:
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


def remote_read(entry: RemoteRead, draft: ScraperDraft, path: str) -> Block:
    """One storage that queries read from too."""
    block: Block = {}
    put(block, _READ, entry, draft, path)
    put_proxy(block, entry, draft, path)
    put(block, _READ_AFTER_PROXY, entry, draft, path)
    return block
