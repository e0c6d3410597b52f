"""The options of `stoker crds` about versions: which are served, and who converts them."""

import argparse
import base64
import re
from pathlib import Path
from typing import Final

from stoker.api.crd import (
    CONVERT_PATH,
    ConversionWebhook,
    Kind,
    KindVersion,
    Serving,
    only,
    with_webhook,
    without_webhook,
)
from stoker.api.scrapeconfig import SCRAPE_CONFIG
from stoker.errors import StokerError

_NAME: Final = "[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?"
_SERVICE: Final = re.compile(
    rf"(?P<namespace>{_NAME})/(?P<service>{_NAME})(?::(?P<port>[0-9]{{1,5}}))?(?P<path>/.*)?"
)
_HIGHEST_PORT: Final = 65535


class OptionError(StokerError):
    """Options that do not mean anything, alone or together."""


def servings(options: argparse.Namespace, kinds: tuple[Kind, ...]) -> dict[str, Serving]:
    """How each of the kinds is to be served, by its plural; OptionError if that cannot be."""
    if options.conversion_webhook is None:
        return _without_webhook(options, kinds)
    if options.scrapeconfig_version is not None:
        raise OptionError(
            "--scrapeconfig-version is for a ScrapeConfig of one version; "
            "--conversion-webhook serves all (and --not-served leaves one out)"
        )
    conversion = _conversion(options.conversion_webhook, options.ca_bundle)
    stored = _stored(options.storage_version, kinds)
    unserved = _unserved(options.not_served, kinds)
    return {
        kind.plural: with_webhook(
            kind, conversion, stored.get(kind.plural, ""), unserved.get(kind.plural, frozenset())
        )
        for kind in kinds
    }


def _without_webhook(options: argparse.Namespace, kinds: tuple[Kind, ...]) -> dict[str, Serving]:
    for flag, given in (
        ("--ca-bundle", options.ca_bundle),
        ("--storage-version", options.storage_version),
        ("--not-served", options.not_served),
    ):
        if given:
            raise OptionError(
                f"{flag} needs --conversion-webhook: without it one version is served"
            )
    found = {kind.plural: without_webhook(kind) for kind in kinds}
    if options.scrapeconfig_version is not None:
        version = _version(SCRAPE_CONFIG, options.scrapeconfig_version, "--scrapeconfig-version")
        if SCRAPE_CONFIG not in kinds:
            raise OptionError("--scrapeconfig-version is given, but no ScrapeConfig is printed")
        found[SCRAPE_CONFIG.plural] = only(version)
    return found


def _conversion(text: str, bundle: str | None) -> ConversionWebhook:
    found = _SERVICE.fullmatch(text)
    port = int(found["port"] or 443) if found else 0
    if not found or not 1 <= port <= _HIGHEST_PORT:
        raise OptionError(
            f"--conversion-webhook: `{text}` is not NAMESPACE/SERVICE[:PORT][/PATH], "
            "such as `stoker/stoker-webhook:443/convert`"
        )
    path = found["path"] or CONVERT_PATH
    return ConversionWebhook(found["namespace"], found["service"], port, path, _bundle(bundle))


def _bundle(file: str | None) -> str:
    if file is None:
        return ""
    try:
        content = Path(file).read_bytes()
    except OSError as error:
        raise OptionError(f"--ca-bundle: {file}: {error.strerror}") from None
    if b"-----BEGIN CERTIFICATE-----" not in content:
        raise OptionError(f"--ca-bundle: {file} holds no certificate in PEM")
    return base64.b64encode(content).decode()


def _stored(given: list[str], kinds: tuple[Kind, ...]) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in given:
        kind, version = _named(text, "=", kinds, "--storage-version")
        if kind.plural in found:
            raise OptionError(f"--storage-version: {kind.plural} is stored in one version only")
        found[kind.plural] = version.name
    return found


def _unserved(given: list[str], kinds: tuple[Kind, ...]) -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for text in given:
        kind, version = _named(text, "/", kinds, "--not-served")
        found[kind.plural] = found.get(kind.plural, frozenset()) | {version.name}
        if len(found[kind.plural]) == len(kind.versions):
            raise OptionError(f"--not-served: no version of {kind.plural} would be left")
    return found


def _named(text: str, between: str, kinds: tuple[Kind, ...], flag: str) -> tuple[Kind, KindVersion]:
    """The kind and the version that an option names."""
    plural, found, name = text.partition(between)
    kind = next((kind for kind in kinds if kind.plural == plural), None)
    if not found or kind is None:
        several = ", ".join(kind.plural for kind in kinds if len(kind.versions) > 1)
        hint = f"RESOURCE is one of {several}" if several else "no kind with versions is printed"
        raise OptionError(f"{flag}: `{text}` is not RESOURCE{between}VERSION; {hint}")
    return kind, _version(kind, name, flag)


def _version(kind: Kind, name: str, flag: str) -> KindVersion:
    version = kind.version(name)
    if version is None:
        names = ", ".join(each.name for each in kind.versions)
        raise OptionError(f"{flag}: {kind.name} has no version `{name}`; there are {names}")
    return version
