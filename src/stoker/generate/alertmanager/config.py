"""`alertmanager.yaml`: a base, and a piece for each AlertmanagerConfig.

    Secret, global AlertmanagerConfig, or nothing ──> base ─┐
    AlertmanagerConfig ──> piece ───────────────────────────┴─> routes, receivers, rules, intervals

A piece depends on its object, on the `AlertTerms` of the Alertmanager and on the values it read.
The routes of pieces come before those of the base, everything else after, in the order of namespace
and name.
"""

from typing import Any, Final

from msgspec import Struct

from stoker.api.alertmanager import Alertmanager, AlertmanagerSpec, GlobalConfiguration
from stoker.errors import FieldError, ResourceError, UnknownError, WorkloadError
from stoker.generate.alertmanager.draft import TEMPLATES, AlertDraft
from stoker.generate.alertmanager.fallback import receiver_problem, with_bot_url
from stoker.generate.alertmanager.global_section import global_block
from stoker.generate.alertmanager.intervals import interval, intervals_of
from stoker.generate.alertmanager.load import check_needs, check_whole, loaded
from stoker.generate.alertmanager.receivers import RECEIVER
from stoker.generate.alertmanager.routes import Tenant, inhibit_rule, route_block, top_route
from stoker.generate.alertmanager.sanitize import sanitized
from stoker.generate.alertmanager.sections import CONFIGURATION
from stoker.generate.block import Block
from stoker.generate.draft import Ignored
from stoker.generate.grammar import written
from stoker.limits import NO_CHANGES, Limits
from stoker.select.assets import SECRET, Assets, Missing, Source
from stoker.settings import DEFAULT_ALERTMANAGER_VERSION
from stoker.validate.alertmanager.config import Config
from stoker.version import Version, parse_version

CONFIG_FILE: Final = "alertmanager.yaml"
DEFAULT_CONFIGURATION: Final = "route:\n  receiver: 'null'\nreceivers:\n- name: 'null'"
"""Alerts go nowhere."""

_EXCEPT_OWN: Final = "OnNamespaceExceptForAlertmanagerNamespace"
_NO_ENFORCEMENT: Final = "None"


class AlertTerms(Struct, frozen=True):
    """All of an Alertmanager that the pieces depend on."""

    version: Version
    namespace: str = ""
    strategy: str = ""
    features: tuple[str, ...] = ()
    deny_files: bool = False
    limits: Limits = NO_CHANGES

    def seen_by(self, namespace: str) -> str:
        """The namespace whose alerts an AlertmanagerConfig sees; empty for those of all."""
        spared = self.strategy == _EXCEPT_OWN and namespace == self.namespace
        return "" if spared or self.strategy == _NO_ENFORCEMENT else namespace


def terms_of(
    alertmanager: Alertmanager, *, deny_files: bool = False, limits: Limits = NO_CHANGES
) -> AlertTerms:
    """What pieces depend on; WorkloadError if the version cannot be read."""
    spec = alertmanager.spec
    try:
        version = parse_version(spec.version or DEFAULT_ALERTMANAGER_VERSION)
    except ValueError as error:
        raise WorkloadError("spec.version", str(error)) from None
    strategy = spec.alertmanager_config_matcher_strategy
    return AlertTerms(
        version,
        alertmanager.metadata.namespace or "",
        (strategy.type if strategy else "") or "",
        tuple(spec.enable_features or ()),
        deny_files,
        limits,
    )


# --- One AlertmanagerConfig -----------------------------------------------------------------------


class Contribution(Struct, frozen=True):
    """What one AlertmanagerConfig adds to the file."""

    tree: Block
    ignored: tuple[Ignored, ...] = ()
    reads: dict[Source, str | Missing] = {}


def piece_of(config: Config, terms: AlertTerms, assets: Assets) -> Contribution:
    """What an AlertmanagerConfig adds; ResourceError where it cannot be written."""
    return _piece(config, terms, assets, root=False)


def _piece(config: Config, terms: AlertTerms, assets: Assets, *, root: bool) -> Contribution:
    namespace, name = config.metadata.namespace or "", config.metadata.name or ""
    draft = AlertDraft(terms.version, assets, namespace, None if root else terms.limits)
    seen = "" if root else terms.seen_by(namespace)
    tenant = Tenant(f"{namespace}/{name}/", terms.version, seen, draft.ignored)
    tree = _tree(config.spec, tenant, draft, root=root)
    try:
        tree = sanitized(tree, CONFIGURATION, terms.version, draft.ignored)
    except FieldError as error:
        raise ResourceError(_in_object(error.path), error.reason) from None
    del tree["templates"]
    ignored = (Ignored(_in_object(each.path), each.reason) for each in draft.ignored)
    return Contribution(tree, tuple(ignored), draft.reads)


def _tree(spec: Any, tenant: Tenant, draft: AlertDraft, *, root: bool) -> Block:
    rules = [inhibit_rule(rule, tenant) for rule in spec.inhibit_rules or ()]
    tree: Block = {"inhibit_rules": rules}
    # Without a route nothing is sent: then no receiver is asked to be complete.
    if spec.route is not None:
        make = _root_route if root else top_route
        given = enumerate(spec.receivers or ())
        tree |= {
            "receivers": [
                {"name": tenant.own(receiver.name)}
                | written(RECEIVER.members, receiver, draft, f"spec.receivers[{index}]")
                for index, receiver in given
            ],
            "mute_time_intervals": [
                interval(each, tenant, f"spec.muteTimeIntervals[{index}]")
                for index, each in enumerate(intervals_of(spec))
            ],
            "route": make(spec.route, tenant),
        }
    return {key: value for key, value in tree.items() if value}


def _root_route(route: Any, tenant: Tenant) -> Block:
    """The first route of the whole file, which has none to go on to."""
    block = route_block(route, tenant, "spec.route")
    block.pop("continue", None)
    return block


def _in_object(path: str) -> str:
    """A path of the file as one of the object: names in camel case, below `spec`."""
    if path.startswith("spec."):
        return path
    head, *rest = path.split("_")
    return "spec." + head + "".join(word[:1].upper() + word[1:] for word in rest)


def joined_piece(piece: Contribution, base: "Base") -> Contribution:
    """The piece beside a base; ResourceError for what Alertmanager would refuse of both."""
    common, taken = base.common, base.names
    for section in ("receivers", "mute_time_intervals"):
        for index, item in enumerate(piece.tree.get(section) or ()):
            if item["name"] in taken:
                where = f"{_in_object(section)}[{index}].name"
                raise ResourceError(where, f"the Alertmanager's own file has `{item['name']}` too")
    for index, receiver in enumerate(piece.tree.get("receivers") or ()):
        whole = with_bot_url(receiver, common)
        path, problem = receiver_problem(whole, common)
        where = f"spec.receivers[{index}]"
        if problem:
            raise ResourceError(f"{where}.{_in_object(path).removeprefix('spec.')}", problem)
        try:
            check_needs(whole, RECEIVER, f"receivers[{index}]")
        except FieldError as error:
            raise ResourceError(_in_object(error.path), error.reason) from None
    return piece


# --- The base -------------------------------------------------------------------------------------


class Base(Struct, frozen=True):
    """What the pieces are added to.

    A `verbatim` text is a user's own and is handed on as it is: nothing is added to it.
    """

    tree: Block = {}
    verbatim: str | None = None
    ignored: tuple[Ignored, ...] = ()
    reads: dict[Source, str | Missing] = {}
    template_files: tuple[str, ...] = ()

    @property
    def common(self) -> Block:
        """The `global` section."""
        found: Block = self.tree.get("global") or {}
        return found

    @property
    def names(self) -> frozenset[str]:
        """The names of receivers and time intervals."""
        sections = ("receivers", "mute_time_intervals", "time_intervals")
        return frozenset(
            item["name"] for section in sections for item in self.tree.get(section) or ()
        )


def config_source(alertmanager: Alertmanager) -> Source:
    """Where a user's own configuration is looked for."""
    metadata = alertmanager.metadata
    name = alertmanager.spec.config_secret or f"alertmanager-{metadata.name}"
    return Source(SECRET, metadata.namespace or "", name, CONFIG_FILE)


def root_name(alertmanager: Alertmanager) -> str:
    """The AlertmanagerConfig beside the Alertmanager that the file starts from; empty for none."""
    configuration = alertmanager.spec.alertmanager_configuration
    if configuration is None:
        return ""
    if not configuration.name:
        raise WorkloadError("spec.alertmanagerConfiguration.name", "must be set")
    return configuration.name


def base_of(alertmanager: Alertmanager, root: Config | None, assets: Assets) -> Base:
    """The base: of a global AlertmanagerConfig, a Secret, or nothing. WorkloadError for none.

    `root` is the AlertmanagerConfig that `root_name` names.
    """
    spec = alertmanager.spec
    if spec.alertmanager_configuration is not None:
        return _global_base(alertmanager, spec.alertmanager_configuration, root, assets)
    source = config_source(alertmanager)
    found = assets.value(source)
    if isinstance(found, Missing) and (found.problem or _may_be_elsewhere(spec, found)):
        error = UnknownError if found.unsure else WorkloadError
        raise error("spec.configSecret", str(found))
    text = DEFAULT_CONFIGURATION if isinstance(found, Missing) or not found else found
    if spec.alertmanager_config_selector is None:
        return Base(verbatim=text, reads={source: found})
    return _own_base(text, terms_of(alertmanager), {source: found})


def _may_be_elsewhere(spec: AlertmanagerSpec, found: Missing) -> bool:
    """Whether a Secret is missing that was named, where it is not known that there is none.

    Few that name none have one of the usual name, so it is not waited for.
    """
    return found.unsure and not found.object_exists and spec.config_secret is not None


def _own_base(text: str, terms: AlertTerms, reads: dict[Source, str | Missing]) -> Base:
    ignored: list[Ignored] = []
    try:
        tree = sanitized(loaded(text), CONFIGURATION, terms.version, ignored)
    except FieldError as error:
        raise WorkloadError("spec.configSecret", f"{CONFIG_FILE}: {error}") from None
    notes = (Ignored(f"{CONFIG_FILE}: {each.path}", each.reason) for each in ignored)
    return Base(tree, ignored=tuple(notes), reads=reads)


_CONFIGURATION: Final = "spec.alertmanagerConfiguration"


def _global_base(
    alertmanager: Alertmanager,
    configuration: GlobalConfiguration,
    root: Config | None,
    assets: Assets,
) -> Base:
    name = root_name(alertmanager)
    if root is None:
        where = f"{alertmanager.metadata.namespace or ''}/{name}"
        raise WorkloadError(f"{_CONFIGURATION}.name", f"there is no AlertmanagerConfig {where}")
    terms = terms_of(alertmanager)
    files = _template_files(configuration)
    draft = AlertDraft(terms.version, assets, root.metadata.namespace or "")
    try:
        piece = _piece(root, terms, assets, root=True)
        settings = configuration.global_
        common = global_block(settings, draft, f"{_CONFIGURATION}.global") if settings else {}
        tree: Block = {"global": common} if common else {}
        tree |= piece.tree | {"templates": [f"{TEMPLATES}/{file}" for file in files]}
        tree = sanitized(tree, CONFIGURATION, terms.version, draft.ignored)
        check_whole(tree)
        for index, receiver in enumerate(tree.get("receivers") or ()):
            check_needs(with_bot_url(receiver, common), RECEIVER, f"receivers[{index}]")
    except FieldError as error:
        raise _base_error(error, root) from None
    reads = {**piece.reads, **draft.reads}
    return Base(tree, None, (*piece.ignored, *draft.ignored), reads, files)


def _base_error(error: FieldError, root: Config) -> WorkloadError:
    """A fault of the settings, or of the AlertmanagerConfig beside them."""
    if error.path.startswith(_CONFIGURATION):
        return WorkloadError(error.path, error.reason)
    where = f"{root.metadata.namespace or ''}/{root.metadata.name or ''}"
    return WorkloadError(f"{_CONFIGURATION}.name", f"AlertmanagerConfig {where}: {error}")


def _template_files(configuration: GlobalConfiguration) -> tuple[str, ...]:
    """The names of template files, each once."""
    keys = [
        reference.key
        for template in configuration.templates or ()
        for reference in (template.config_map, template.secret)
        if reference is not None and reference.key
    ]
    return tuple(dict.fromkeys(keys))
