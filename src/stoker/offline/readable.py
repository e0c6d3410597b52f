"""Rendered objects as texts: manifests for kubectl, and what is in them for people.

    out/statefulset-monitoring-prometheus-main.yaml                      for `kubectl apply -f out/`
    out/readable/prometheus-monitoring-main/prometheus.yaml              for reading
    out/readable/prometheus-monitoring-main/rules/prometheus-main-rulefiles-0/….yaml
    out/readable/prometheusagent-monitoring-light/portions/NODE/jobs/….yaml

`readable` is an object with what a Secret holds as text, under `unpacked` instead of `data`: no
API server takes that for a Secret, so nobody applies it by mistake.
"""

import gzip
from base64 import b64decode
from collections.abc import Iterable, Iterator
from typing import Final

from stoker.api.core import Object
from stoker.generate.alertmanager.config import CONFIG_FILE
from stoker.generate.block import text_of
from stoker.generate.thanosruler import REMOTE_WRITE_FILE
from stoker.offline.folder import safe_name
from stoker.offline.objects import Rendered
from stoker.offline.portions import GivenOut
from stoker.ref import ref_of_manifest

NOTICE: Final = (
    "# To be read, not applied: `unpacked` is the Secret's data, decoded and unpacked.\n"
)

_PACKED: Final = ".gz"
_ENDING: Final = ".yaml"
_CONFIGURATIONS: Final = {"Alertmanager": CONFIG_FILE, "ThanosRuler": REMOTE_WRITE_FILE}


def manifest_text(made: Object) -> str:
    """An object as a document that kubectl takes."""
    return f"---\n{text_of(made)}"


def readable_text(made: Object) -> str:
    """An object as a document with all that it holds as text; a Secret is none any more."""
    shown = readable(made)
    return f"---\n{NOTICE if shown is not made else ''}{text_of(shown)}"


def readable(made: Object) -> Object:
    """The object with all that it holds as text."""
    if made["kind"] != "Secret":
        return made
    kept = {name: value for name, value in made.items() if name != "data"}
    return kept | {"unpacked": dict(_unpacked(made))}


def files_of(found: Iterable[Rendered]) -> dict[str, str]:
    """The files of workloads by their paths: one for each object, and those for reading."""
    files: dict[str, str] = {}
    for each in found:
        files |= manifest_files(each.objects, files)
        files |= readable_files(each)
    return files


def manifest_files(objects: Iterable[Object], taken: Iterable[str] = ()) -> dict[str, str]:
    """A file for each object, by its path; none has a path that is taken."""
    files: dict[str, str] = {}
    known = set(taken)
    for made in objects:
        kind, namespace, name = ref_of_manifest(made)
        path = safe_name((kind.lower(), namespace, name), _ENDING, known)
        files[path] = manifest_text(made)
        known.add(path)
    return files


def readable_files(each: Rendered) -> dict[str, str]:
    """What the pods read, by paths; the configuration alone where there are no objects."""
    kind, _, key = each.title.partition(" ")
    folder = f"readable/{safe_name((kind.lower(), *key.split('/', 1)))}"
    inside = list(_configuration_files(each.objects))
    if not each.objects and each.plan.text and not each.problem:
        inside = [(_CONFIGURATIONS.get(kind, f"prometheus{_ENDING}"), each.plan.text)]
    if inside:
        inside += _given_out(each.shares)
    return {f"{folder}/{path}": text for path, text in inside}


def _given_out(shares: GivenOut) -> Iterator[tuple[str, str]]:
    """What each node gets; where that is not known, what there is to give out."""
    if shares.nodes is None:
        yield from shares.jobs.items()
    for each in shares.nodes or ():
        folder = f"portions/{safe_name((each.node,))}"
        yield from ((f"{folder}/{path}", text) for path, text in each.files.items())


def jobs_text(shares: GivenOut) -> str:
    """The jobs of nodes as documents, each with the nodes that get it."""
    jobs = {path: text for path, text in shares.jobs.items() if path.startswith("jobs/")}
    return "".join(f"---\n# {path}{_whose(shares, path)}\n{text}" for path, text in jobs.items())


def _whose(shares: GivenOut, path: str) -> str:
    if shares.nodes is None:
        return ", on each node that has a target of it"
    nodes = [each.node for each in shares.nodes if path in each.files]
    return f", on {', '.join(nodes)}" if nodes else ", on no node here"


def _configuration_files(objects: Iterable[Object]) -> Iterator[tuple[str, str]]:
    for made in objects:
        if made["kind"] == "ConfigMap":
            folder = f"rules/{safe_name((made['metadata']['name'],))}"
            for name, text in made["data"].items():
                yield f"{folder}/{safe_name((name.removesuffix(_ENDING),), _ENDING)}", text
        elif made["kind"] == "Secret" and any(name.endswith(_PACKED) for name in made["data"]):
            yield from _unpacked(made)


def _unpacked(secret: Object) -> Iterator[tuple[str, str]]:
    """The files of a Secret as text, by name."""
    for name, encoded in secret["data"].items():
        content = b64decode(encoded)
        if name.endswith(_PACKED):
            content = gzip.decompress(content)
        yield name.removesuffix(_PACKED), content.decode()
