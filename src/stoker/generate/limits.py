"""Settings that every kind of scrape job shares: limits, histograms, protocols, scrape classes.

Most of them can be set in three places: by the resource, by its scrape class (administrators'
defaults under a name), and by the workload, which can also enforce ceilings. Since Prometheus 2.45
a limit can be global, and the workload's own limits and ceilings are written there; a job then
needs a limit only where the resource sets one.
"""

from collections.abc import Callable
from typing import Any, Final

from msgspec import Struct, structs

from stoker.api.common import AttachMetadata, SafeAuthorization, SafeTlsConfig, TlsConfig
from stoker.api.prometheus_common import ScrapeClass
from stoker.api.scrape import ScrapeSettings
from stoker.errors import below
from stoker.generate.block import Block
from stoker.generate.draft import ScraperDraft
from stoker.generate.grammar import Member, put
from stoker.generate.http import authorization, tls_config
from stoker.generate.kubernetes import in_namespace_of_workload
from stoker.generate.measures import lowest, number, size
from stoker.generate.sharding import needs_node_metadata
from stoker.generate.values import scrape_protocols


class JobLimit(Struct, frozen=True):
    """A limit that a job can have, and since when it can also be global."""

    member: Member
    json_name: str
    globally: Member | None = Member("global", since="2.45.0")
    amount: Callable[[Any], int] = int


LIMITS: Final = (
    JobLimit(Member("sample_limit"), "sampleLimit"),
    JobLimit(Member("target_limit", since="2.21.0"), "targetLimit"),
    JobLimit(Member("label_limit", since="2.27.0"), "labelLimit"),
    JobLimit(Member("label_name_length_limit", since="2.27.0"), "labelNameLengthLimit"),
    JobLimit(Member("label_value_length_limit", since="2.27.0"), "labelValueLengthLimit"),
    JobLimit(
        Member("keep_dropped_targets", since="2.47.0"),
        "keepDroppedTargets",
        Member("global", since="2.47.0"),
    ),
)
# The global one would do here, too; prometheus-operator repeats this one in every job.
BODY_SIZE_LIMIT: Final = JobLimit(
    Member("body_size_limit", since="2.28.0"), "bodySizeLimit", globally=None, amount=size
)


def put_limits(
    block: Block, limits: tuple[JobLimit, ...], settings: Any, draft: ScraperDraft, path: str
) -> None:
    """Add the limits of a resource, none above its ceiling."""
    for limit in limits:
        member = limit.member
        wanted = getattr(settings, member.name, None)
        ceiling = getattr(draft.spec, f"enforced_{member.name}")
        # Under a ceiling, zero is not unlimited but as good as none.
        unset = not wanted if ceiling else wanted is None
        if unset and (not ceiling or _is_global(limit, draft)):
            continue
        if member.known_to(draft.version):
            written = lowest(wanted, ceiling, limit.amount)
            block |= {} if written is None else {member.name: written}
        elif wanted is not None:
            draft.ignore_unknown(below(path, limit.json_name), member)


def _is_global(limit: JobLimit, draft: ScraperDraft) -> bool:
    return limit.globally is not None and limit.globally.known_to(draft.version)


def _number(quantity: int | str, _draft: ScraperDraft, _path: str) -> float | None:
    return number(quantity)


def _histograms(classic: Member) -> tuple[Member, ...]:
    return (
        Member("scrape_native_histograms", since="3.8.0"),
        Member("native_histogram_bucket_limit", since="2.45.0"),
        Member("native_histogram_min_bucket_factor", since="2.50.0", write=_number),
        classic,
        Member("convert_classic_histograms_to_nhcb", since="3.0.0"),
    )


# Classic histograms beside native ones got another name with the first candidate of Prometheus 3.
_RENAMED: Final = Member(
    "always_scrape_classic_histograms", "scrape_classic_histograms", since="3.0.0-0"
)
_HISTOGRAMS: Final = _histograms(_RENAMED)
_HISTOGRAMS_BEFORE: Final = _histograms(Member("scrape_classic_histograms", since="2.45.0"))


def put_histograms(block: Block, settings: ScrapeSettings, draft: ScraperDraft, path: str) -> None:
    """Add how native and classic histograms are scraped."""
    renamed = _RENAMED.known_to(draft.version)
    put(block, _HISTOGRAMS if renamed else _HISTOGRAMS_BEFORE, settings, draft, path)


_PROTOCOLS: Final = (Member("scrape_protocols", since="2.49.0", write=scrape_protocols),)
_FALLBACK: Final = (Member("fallback_scrape_protocol", since="3.0.0"),)


def put_protocols(
    block: Block,
    settings: ScrapeSettings,
    chosen: ScrapeClass | None,
    draft: ScraperDraft,
    path: str,
) -> None:
    """Add the formats to ask a target for, and the one to assume where it names none."""
    put(block, _PROTOCOLS, settings, draft, path)
    if settings.fallback_scrape_protocol or chosen is None:
        put(block, _FALLBACK, settings, draft, path)
    else:
        put(block, _FALLBACK, chosen, draft, class_path(chosen, draft))


def put_honored(block: Block, labels: bool | None, draft: ScraperDraft) -> None:
    """Add whether labels that a target exposes win over those of the target."""
    block["honor_labels"] = bool(labels) and not draft.spec.override_honor_labels


_TIMESTAMPS: Final = Member("honor_timestamps", since="2.9.0")
_STALENESS: Final = (Member("track_timestamps_staleness", since="2.48.0"),)


def put_timestamps(block: Block, honored: bool | None, draft: ScraperDraft, path: str) -> None:
    """Add whether timestamps that a target exposes are taken; no path where no user asked."""
    override = draft.spec.override_honor_timestamps
    if honored is None and not override:
        return
    if _TIMESTAMPS.known_to(draft.version):
        block[_TIMESTAMPS.name] = bool(honored) and not override
    elif path and honored is not None:
        draft.ignore_unknown(below(path, "honorTimestamps"), _TIMESTAMPS)


def put_staleness(block: Block, source: Any, draft: ScraperDraft, path: str) -> None:
    """Add whether series with timestamps of their own end as soon as they disappear."""
    put(block, _STALENESS, source, draft, path)


def scrape_class(settings: ScrapeSettings, draft: ScraperDraft) -> ScrapeClass | None:
    """The class that a resource names, or the default one where it names none."""
    classes = draft.spec.scrape_classes or ()
    wanted = settings.scrape_class
    chosen = (each for each in classes if (each.name == wanted if wanted else each.default))
    return next(chosen, None)


def class_path(chosen: ScrapeClass, draft: ScraperDraft) -> str:
    """Where a scrape class is found in the workload."""
    return f"spec.scrapeClasses[{(draft.spec.scrape_classes or ()).index(chosen)}]"


def attached_metadata(
    own: AttachMetadata | None, chosen: ScrapeClass | None, draft: ScraperDraft
) -> AttachMetadata | None:
    """Metadata to attach to targets: the resource's own wish, its class' or what sharding needs."""
    if needs_node_metadata(draft.scraper):
        return _NODE
    return own or (chosen.attach_metadata if chosen else None)


_NODE: Final = AttachMetadata(node=True)
_FILES: Final = (("ca", "ca_file"), ("cert", "cert_file"), ("key_secret", "key_file"))


_REFERENCES: Final = ("ca", "cert")


def merged_tls(tls: SafeTlsConfig | None, chosen: ScrapeClass | None) -> SafeTlsConfig | None:
    """TLS settings of a resource, completed with the files that its scrape class names.

    Settings that can name no files and say nothing are as good as none.
    """
    defaults = chosen.tls_config if chosen else None
    if tls is None or (not isinstance(tls, TlsConfig) and says_nothing(tls)):
        return defaults
    if defaults is None:
        return tls
    missing = {
        file: getattr(defaults, file)
        for reference, file in _FILES
        if not _has(tls, reference) and not getattr(tls, file, None) and getattr(defaults, file)
    }
    return TlsConfig(**{**structs.asdict(tls), **missing}) if missing else tls


def says_nothing(tls: SafeTlsConfig) -> bool:
    """Whether there is nothing in TLS settings (`ca: {}` is nothing)."""
    return not any(
        _has(tls, name) if name in _REFERENCES else value not in (None, "")
        for name, value in structs.asdict(tls).items()
    )


def _has(tls: SafeTlsConfig, name: str) -> bool:
    """Whether a certificate or key is given by reference (`ca: {}` is nothing)."""
    reference = getattr(tls, name)
    return reference is not None and reference != type(reference)()


_AUTHORIZATION: Final = Member("authorization", since="2.26.0")
_OTHER_CREDENTIALS: Final = ("basic_auth", "oauth2", "bearer_token_secret", "bearer_token_file")


def put_tls(
    block: Block, source: Any, chosen: ScrapeClass | None, draft: ScraperDraft, path: str
) -> None:
    """Add the TLS settings of an object with the field `tls_config`, or those of its class."""
    tls = merged_tls(source.tls_config, chosen)
    if chosen and tls is chosen.tls_config:
        draft, path = in_namespace_of_workload(draft), class_path(chosen, draft)
    written = tls_config(tls, draft, below(path, "tlsConfig"))
    if written is not None:
        block["tls_config"] = written


def put_authorization(
    block: Block, source: Any, chosen: ScrapeClass | None, draft: ScraperDraft, path: str
) -> None:
    """Add the `authorization` of an object, completed with the credentials of its class.

    The class is for those that authenticate in no other way: Prometheus refuses two ways at once.
    """
    own = own_authorization(source)
    written = _authorization(own, draft, path)
    if chosen and (own.credentials is None if own else not _authenticates(source)):
        at = class_path(chosen, draft)
        of_class = _authorization(chosen.authorization, in_namespace_of_workload(draft), at)
        written = of_class | written
    if written:
        block[_AUTHORIZATION.name] = written


def own_authorization(source: Any) -> SafeAuthorization | None:
    """The `authorization` of an object; one that says nothing is as good as none."""
    own: SafeAuthorization | None = source.authorization
    return own if own and (own.type or own.credentials is not None) else None


def _authorization(auth: SafeAuthorization | None, draft: ScraperDraft, path: str) -> Block:
    here = below(path, "authorization")
    if auth is None or _AUTHORIZATION.known_to(draft.version):
        return authorization(auth, draft, here) or {}
    draft.ignore_unknown(here, _AUTHORIZATION)
    return {}


def _authenticates(source: Any) -> bool:
    return any(getattr(source, name, None) for name in _OTHER_CREDENTIALS)
