"""Check manifests as an API server with our definitions and the operator would, without them.

  stoker lint deploy/                            every .yaml, .yml and .json file below a folder
  helm template chart/ | stoker lint -           what a tool prints
  stoker lint -o json deploy/ | jq .path         one JSON object for each problem
  stoker lint -o github deploy/                  marks in a pull request, by GitHub Actions
  stoker lint -o sarif deploy/ > out.sarif       for code scanning

Each problem stands on a line: file, line, document, object, severity, field, reason.

  deploy/cart.yaml:9 doc 1 ServiceMonitor shop/cart  error  spec.endpoints[0].interval: `30x` is …

A resource is judged by the workloads among the manifests that select it, or where there are none,
for the newest versions, or those of --prometheus-version, --alertmanager-version and
--thanos-version: PromQL, templates, regular expressions, relabelings, receivers, routes, and more.
What hangs on a Secret that is not among the manifests is `unknown`, which is no fault.

Objects of other groups (Service, Deployment, …) are passed over, and so are files that are no
manifests (values, overlays, dashboards, templates of a chart); --exclude names others. A field that
does not exist is a warning, because an API server accepts the object and drops the field; with
--strict it is an error. So is what a workload has for nothing, such as a feature that its version
does not know. Where Nodes are among the manifests, it is a warning that no agent on nodes is on
some of them.

Exit status: 0 if all is well (warnings may be shown), 1 if something is wrong or unreadable,
2 if the command was not understood or there was no manifest at all.
"""

import argparse
import json
import os
import sys
from typing import TYPE_CHECKING, Any

from stoker.cli.busy import JUDGING, READING, busy
from stoker.cli.options import (
    JSON,
    TEXT,
    YAML,
    flag_arguments,
    flag_settings,
    output_argument,
    path_arguments,
    renamed,
)
from stoker.cli.terminal import failed, harmless
from stoker.cli.values import print_value

if TYPE_CHECKING:
    from collections.abc import Iterable

    from stoker.offline.linting import Rules
    from stoker.offline.reports import ReportLine

SCHEMA = "stoker/lint/v1"
_COLOURS = {"error": 31, "warning": 33, "unknown": 36}
_PROGRAMS = ("prometheus", "alertmanager", "thanos")
_FORMATS = (TEXT, JSON, YAML, "github", "sarif")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `stoker lint`."""
    path_arguments(parser)
    output_argument(parser, *_FORMATS)
    renamed(parser, "--format", to="--output", choices=_FORMATS)
    parser.add_argument("--strict", action="store_true", help="count warnings as errors")
    for program in _PROGRAMS:
        parser.add_argument(
            f"--{program}-version",
            metavar="VERSION",
            help=f"what no workload here selects is judged for this {program.capitalize()}"
            f" (default: {'none' if program == 'thanos' else 'the newest'})",
        )
    flag_arguments(parser)
    renamed(
        parser,
        "--resource-limits",
        to="--flag resource-limits=…",
        meant="resource-limits={}".format,
    )


def run(options: argparse.Namespace) -> int:
    """Report on the manifests at the paths; return the exit status."""
    from stoker.errors import StokerError
    from stoker.offline.linting import linted
    from stoker.offline.manifests import read

    try:
        rules = _rules(options)
    except (StokerError, ValueError) as error:
        return failed("lint", error)
    with busy("lint", READING) as work:
        readings = read(options.paths, exclude=options.exclude)
        entries, tally = linted(work.counted(readings, JUDGING), rules)
    _report(entries, options.output)
    if not tally.files:
        return failed("lint", f"no manifest found in {', '.join(options.paths)}")
    _print(tally.summary(), sys.stdout if options.output == TEXT else sys.stderr)
    return 1 if tally.is_faulty else 0


def _rules(options: argparse.Namespace) -> "Rules":
    """How to look; ValueError where a version is none."""
    from stoker.offline.linting import Rules
    from stoker.plan.alone import Versions
    from stoker.version import parse_version

    given = {name: getattr(options, f"{name}_version") for name in _PROGRAMS}
    for version in filter(None, given.values()):
        parse_version(version)
    return Rules(
        strict=options.strict,
        settings=flag_settings(options.flag, judging=True),
        versions=Versions(**{name: version for name, version in given.items() if version}),
    )


def _report(entries: "Iterable[ReportLine]", form: str) -> None:
    """Print the report."""
    from stoker import __version__
    from stoker.offline.reports import github_line, sarif

    if form == "sarif":
        print(json.dumps(sarif(entries, __version__), indent=2))
        return
    for entry in entries:
        if form in (JSON, YAML):
            print_value(SCHEMA, entry._asdict(), form, indent=None)
        else:
            _print(_as_text(entry) if form == TEXT else harmless(github_line(entry)), sys.stdout)


def _as_text(entry: "ReportLine") -> str:
    place = entry.file + (f":{entry.line}" if entry.line else "")
    document = f"doc {entry.document}" if entry.document else ""
    subject = " ".join(part for part in (place, document, entry.subject) if part)
    return f"{harmless(subject)}  {_severity(entry.severity)}  {harmless(entry.text)}"


def _severity(word: str) -> str:
    if not sys.stdout.isatty() or os.environ.get("NO_COLOR"):
        return word
    return f"\033[{_COLOURS[word]}m{word}\033[0m"


def _print(line: str, stream: Any) -> None:
    """Print in the letters that the stream knows; the others are spelt out."""
    encoding = stream.encoding or "utf-8"
    print(line.encode(encoding, "backslashreplace").decode(encoding), file=stream)
