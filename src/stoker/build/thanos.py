"""The Thanos sidecar: it serves Prometheus' data to Thanos Query and may upload its blocks.

While blocks are uploaded, Prometheus must not merge those that have not been: Thanos would lose
them. A new Prometheus looks into the list of uploaded blocks that a new sidecar keeps, and waits;
with an older one of either, merging is off, which means that all blocks have the same length.
"""

from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from stoker.api.core import Object, SecretKeySelector
from stoker.api.prometheus import PrometheusSpec, ThanosSidecar
from stoker.api.workload import Argument, GrpcServerTlsConfig
from stoker.build.args import with_additional
from stoker.build.arguments import Flag, Value, flags_set, web_url
from stoker.build.image import image_path
from stoker.build.names import thanos_http_client_name
from stoker.build.paths import DATA
from stoker.build.plain import plain
from stoker.build.pod import hardened
from stoker.build.site import Site
from stoker.build.volumes import refuse_clashes
from stoker.errors import WorkloadError
from stoker.settings import DEFAULT_THANOS_VERSION
from stoker.version import Version, parse_version

HTTP_CLIENT_FILE: Final = "prometheus.http-client-file.yaml"
"""The key of the Secret that tells the sidecar how to reach Prometheus."""

HTTP_CLIENT_TEXT: Final = "tls_config:\n  insecure_skip_verify: true\n"
"""Its text: within a pod, the name that a certificate is for says nothing."""

_HTTP_CLIENT_SINCE: Final = parse_version("0.24.0")
_HTTP_CLIENT_VOLUME: Final = "thanos-prometheus-http-client-file"
_HTTP_CLIENT: Final = "/etc/thanos/config"
_UPLOADED_BLOCKS: Final = "thanos.shipper.json"
_GRPC_PORT: Final = 10901
_HTTP_PORT: Final = 10902
_BLOCK_SIZE: Final = "2h"


class Sidecar(Struct, frozen=True):
    """The container, and the volumes that it needs."""

    container: Object
    volumes: tuple[Object, ...]


class _Subject(Struct, frozen=True):
    """What the sidecar's flags are made from."""

    site: Site
    sidecar: ThanosSidecar
    delays_merging: bool


def thanos_version(sidecar: ThanosSidecar) -> Version:
    """The version of Thanos; WorkloadError where the user's is none."""
    try:
        return parse_version(sidecar.version or DEFAULT_THANOS_VERSION)
    except ValueError as error:
        raise WorkloadError("spec.thanos.version", str(error)) from None


def sidecar_of(site: Site, spec: PrometheusSpec, data: Object) -> Sidecar | None:
    """The sidecar of a server, if it wants one; `data` is the mount of Prometheus' data."""
    sidecar = spec.thanos
    if sidecar is None:
        return None
    version = thanos_version(sidecar)
    reaches = version >= _HTTP_CLIENT_SINCE
    container: Object = {
        "name": "thanos-sidecar",
        "image": _image(site, sidecar),
        "args": ["sidecar", *_arguments(site, spec, sidecar, version)],
        "ports": [
            {"name": "http", "containerPort": _HTTP_PORT},
            {"name": "grpc", "containerPort": _GRPC_PORT},
        ],
        "env": list(_environment(sidecar)),
        "resources": plain(sidecar.resources or {}),
        "volumeMounts": _mounts(sidecar, data, reaches=reaches),
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "securityContext": hardened(),
    }
    if spec.image_pull_policy:
        container["imagePullPolicy"] = spec.image_pull_policy
    return Sidecar(container, (_http_client_volume(site),) if reaches else ())


def merging_arguments(spec: PrometheusSpec, version: Version) -> list[Argument]:
    """The arguments of Prometheus about merging blocks, last of its own arguments."""
    subject = (spec, _delays_merging(spec, version))
    return flags_set(_MERGING, subject, version)


def _image(site: Site, sidecar: ThanosSidecar) -> str:
    version = DEFAULT_THANOS_VERSION if sidecar.version is None else sidecar.version
    base = sidecar.base_image or site.settings.thanos_base_image
    try:
        return image_path(sidecar.image, base, version, sidecar.tag, sidecar.sha)
    except WorkloadError as error:
        path = error.path.replace("spec.", "spec.thanos.", 1)
        raise WorkloadError(path, error.reason) from None


def _arguments(
    site: Site, spec: PrometheusSpec, sidecar: ThanosSidecar, version: Version
) -> list[str]:
    subject = _Subject(site, sidecar, _delays_merging(spec, site.scraper.version))
    ours = flags_set(_ADDRESSES, subject, version)
    ours += server_tls(sidecar.grpc_server_tls_config, version)
    ours += flags_set(_FLAGS, subject, version)
    return with_additional(ours, sidecar.additional_args, "spec.thanos.additionalArgs")


def _uploads(sidecar: ThanosSidecar | None) -> bool:
    if sidecar is None:
        return False
    given = (sidecar.object_storage_config, sidecar.object_storage_config_file)
    return any(one is not None for one in given)


_WAITING: Final = (parse_version("3.9.0"), parse_version("0.42.0"))


def _delays_merging(spec: PrometheusSpec, version: Version) -> bool:
    """Whether Prometheus merges blocks once they are uploaded: both must be able to."""
    if spec.thanos is None or not _uploads(spec.thanos) or spec.disable_compaction:
        return False
    prometheus, thanos = _WAITING
    return version >= prometheus and thanos_version(spec.thanos) >= thanos


def _merges(subject: tuple[PrometheusSpec, bool]) -> bool:
    spec, delayed = subject
    return not spec.disable_compaction and (delayed or not _uploads(spec.thanos))


def _block_size(subject: tuple[PrometheusSpec, bool]) -> Value:
    spec, _ = subject
    size = spec.thanos.block_size if spec.thanos else None
    return None if _merges(subject) else size or _BLOCK_SIZE


def _keeps_overlaps(subject: tuple[PrometheusSpec, bool]) -> Value:
    """Late samples make blocks that overlap; where blocks are uploaded, Thanos merges those.

    That holds also while Prometheus merges what has been uploaded, as prometheus-operator has it.
    """
    spec, _ = subject
    late = spec.tsdb is not None and bool(spec.tsdb.out_of_order_time_window)
    return late and (bool(spec.disable_compaction) or _uploads(spec.thanos))


_MERGING: Final = (
    Flag(
        "storage.tsdb.delay-compact-file.path",
        lambda subject: subject[1] and f"{DATA}/{_UPLOADED_BLOCKS}",
    ),
    Flag("storage.tsdb.max-block-duration", _block_size),
    Flag("storage.tsdb.min-block-duration", _block_size),
    Flag("no-storage.tsdb.allow-overlapping-compaction", _keeps_overlaps, since="2.55.0"),
)


def _address(*, local: bool | None, port: int) -> str:
    return f"127.0.0.1:{port}" if local else f":{port}"


def _grpc_address(subject: _Subject) -> Value:
    sidecar = subject.sidecar
    return _address(local=sidecar.listen_local or sidecar.grpc_listen_local, port=_GRPC_PORT)


def _http_address(subject: _Subject) -> Value:
    sidecar = subject.sidecar
    return _address(local=sidecar.listen_local or sidecar.http_listen_local, port=_HTTP_PORT)


def _storage(subject: _Subject) -> Value:
    """The object storage from the environment, where no file has it."""
    sidecar = subject.sidecar
    inline = sidecar.object_storage_config and not sidecar.object_storage_config_file
    return "$(OBJSTORE_CONFIG)" if inline else None


def _tracing(subject: _Subject) -> Value:
    sidecar = subject.sidecar
    inline = sidecar.tracing_config and not sidecar.tracing_config_file
    return "$(TRACING_CONFIG)" if inline else None


_ADDRESSES: Final = (
    Flag(
        "prometheus.url",
        lambda one: web_url(one.site.scraper, one.site.settings.local_host),
    ),
    Flag("grpc-address", _grpc_address),
    Flag("http-address", _http_address),
)
_FLAGS: Final = (
    Flag("objstore.config-file", lambda one: one.sidecar.object_storage_config_file),
    Flag("objstore.config", _storage),
    Flag("tsdb.path", lambda one: _uploads(one.sidecar) and DATA),
    Flag("shipper.meta-file-name", lambda one: one.delays_merging and _UPLOADED_BLOCKS),
    Flag("shipper.ignore-unequal-block-size", lambda one: one.delays_merging),
    Flag("tracing.config-file", lambda one: one.sidecar.tracing_config_file),
    Flag("tracing.config", _tracing),
    Flag("log.level", lambda one: one.sidecar.log_level or one.site.scraper.spec.log_level),
    Flag("log.format", lambda one: one.sidecar.log_format or one.site.scraper.spec.log_format),
    Flag("min-time", lambda one: one.sidecar.min_time),
    Flag("prometheus.ready_timeout", lambda one: one.sidecar.ready_timeout),
    Flag(
        "prometheus.get_config_timeout",
        lambda one: one.sidecar.get_config_timeout,
        since="0.29.0",
    ),
    Flag(
        "prometheus.get_config_interval",
        lambda one: one.sidecar.get_config_interval,
        since="0.29.0",
    ),
    Flag(
        "prometheus.http-client-file",
        lambda one: f"{_HTTP_CLIENT}/{HTTP_CLIENT_FILE}",
        since=str(_HTTP_CLIENT_SINCE),
    ),
)

_TLS_VERSIONS: Final = {"TLS10": "1.0", "TLS11": "1.1", "TLS12": "1.2", "TLS13": "1.3"}
_SERVER_TLS: Final = (
    Flag("grpc-server-tls-cert", lambda tls: tls.cert_file),
    Flag("grpc-server-tls-key", lambda tls: tls.key_file),
    Flag("grpc-server-tls-client-ca", lambda tls: tls.ca_file),
    Flag(
        "grpc-server-tls-min-version",
        lambda tls: _TLS_VERSIONS.get(tls.min_version),
        since="0.37.0",
    ),
)
_LISTS_SINCE: Final = parse_version("0.42.0")


def server_tls(tls: GrpcServerTlsConfig | None, version: Version) -> list[Argument]:
    """How gRPC is served; a list is a flag for each of its items."""
    if tls is None:
        return []
    made = flags_set(_SERVER_TLS, tls, version)
    if version >= _LISTS_SINCE:
        ciphers, curves = tls.cipher_suites or (), tls.curves or ()
        made += [Argument(name="grpc-server-tls-ciphers", value=one) for one in ciphers]
        made += [Argument(name="grpc-server-tls-curves", value=one) for one in curves]
    return made


def _environment(sidecar: ThanosSidecar) -> Iterator[Object]:
    """Configurations that are Secrets; a file wins over them."""
    if sidecar.object_storage_config and not sidecar.object_storage_config_file:
        yield _from_secret("OBJSTORE_CONFIG", sidecar.object_storage_config)
    if sidecar.tracing_config and not sidecar.tracing_config_file:
        yield _from_secret("TRACING_CONFIG", sidecar.tracing_config)


def _from_secret(name: str, key: SecretKeySelector) -> Object:
    return {"name": name, "valueFrom": {"secretKeyRef": plain(key)}}


def _mounts(sidecar: ThanosSidecar, data: Object, *, reaches: bool) -> list[Object]:
    ours = [dict(data)] if _uploads(sidecar) else []
    if reaches:
        ours.append({"name": _HTTP_CLIENT_VOLUME, "mountPath": _HTTP_CLIENT})
    theirs = sidecar.volume_mounts or ()
    refuse_clashes(ours, theirs, "mountPath", "spec.thanos.volumeMounts")
    return [*plain(theirs), *ours]


def _http_client_volume(site: Site) -> Object:
    secret = thanos_http_client_name(site.scraper)
    return {"name": _HTTP_CLIENT_VOLUME, "secret": {"secretName": secret}}
