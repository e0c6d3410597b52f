"""The Secrets that hold what pods read: configuration, web configuration, files behind references.

A Secret holds about a megabyte; what is larger goes over several.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import msgspec

from stoker.api.core import Object
from stoker.build.meta import metadata
from stoker.build.names import config_secret_name, tls_assets_name, web_config_name
from stoker.build.webconfig import WEB_CONFIG_FILE
from stoker.generate.split import MAIN_FILE, SECRET_LIMIT, file_name
from stoker.select.workload import Scraper, Workload
from stoker.settings import ObjectSettings

AUTHORITY_FILE: Final = "portion-ca.pem"
"""Beside a configuration: whom to trust that gives portions."""

_COMPRESSED: Final = ".yaml.gz"


def secret(
    workload: Workload, settings: ObjectSettings, name: str, data: Mapping[str, str | bytes]
) -> Object:
    """A Secret of this workload."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": metadata(workload, settings, name),
        "data": {key: _encoded(data[key]) for key in sorted(data)},
    }


def sharded(
    workload: Workload, settings: ObjectSettings, name: str, data: Mapping[str, str | bytes]
) -> list[Object]:
    """Secrets `NAME-0`, `NAME-1`, … that hold all the data together; at least one."""
    return [
        secret(workload, settings, f"{name}-{number}", part)
        for number, part in enumerate(shards_of(data))
    ]


def shards_of(data: Mapping[str, str | bytes]) -> list[dict[str, bytes]]:
    """The data in portions that fit into a Secret, always the same for the same data.

    What fits into no Secret is left in a portion of its own, for the API server to refuse.
    """
    portions: list[dict[str, bytes]] = [{}]
    room = SECRET_LIMIT
    for key, content in sorted(_bytes_of(data)):
        size = len(key.encode()) + len(content)
        if size > room:
            portions.append({})
            room = SECRET_LIMIT
        portions[-1][key] = content
        room -= size
    return portions


def tls_asset_secrets(
    workload: Workload,
    scraper: Scraper,
    settings: ObjectSettings,
    files: Mapping[str, str | bytes],
) -> list[Object]:
    """The Secrets with the files that the configuration refers to."""
    return sharded(workload, settings, tls_assets_name(scraper), files)


def config_secrets(
    workload: Workload, scraper: Scraper, settings: ObjectSettings, files: Mapping[str, bytes]
) -> list[Object]:
    """The Secrets of a configuration, one for each of its compressed files.

    Beside the main file lies what else its readers need.
    """
    beside = _authority(settings) if scraper.portions else {}
    return [
        secret(
            workload,
            settings,
            config_file_secret_name(scraper, file),
            {file: content} | (beside if file == MAIN_FILE else {}),
        )
        for file, content in files.items()
    ]


def _authority(settings: ObjectSettings) -> dict[str, bytes]:
    ca = settings.node_server.ca if settings.node_server else ""
    return {AUTHORITY_FILE: ca.encode()} if ca else {}


def config_file_secret_name(scraper: Scraper, file: str) -> str:
    """The Secret of a file: the main file has the workload's own, `scrape-0.yaml.gz` one beside."""
    name = config_secret_name(scraper)
    return name if file == MAIN_FILE else f"{name}-{file.removesuffix(_COMPRESSED)}"


def further_files(scraper: Scraper, secrets: Iterable[str]) -> int:
    """How many files beside the main one there are, by the names of the workload's Secrets."""
    names = set(secrets)
    count = 0
    while config_file_secret_name(scraper, file_name(count)) in names:
        count += 1
    return count


def web_config_secret(
    workload: Workload, scraper: Scraper, settings: ObjectSettings, text: str
) -> Object:
    """The Secret that tells the web server how to listen."""
    return secret(workload, settings, web_config_name(scraper), {WEB_CONFIG_FILE: text})


def _bytes_of(data: Mapping[str, str | bytes]) -> Iterator[tuple[str, bytes]]:
    for key, content in data.items():
        yield key, content.encode() if isinstance(content, str) else content


def _encoded(content: str | bytes) -> str:
    # In base64, twice as fast as the standard library.
    made: str = msgspec.to_builtins(content.encode() if isinstance(content, str) else content)
    return made
