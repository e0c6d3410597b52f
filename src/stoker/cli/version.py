"""Print the version, and those of everything that is taken for granted.

  stoker version
  stoker version -o json | jq -r .version

Exit status: 0.
"""

import argparse
import platform
from typing import Final

from stoker.cli.options import JSON, TEXT, YAML, output_argument
from stoker.cli.values import print_value

SCHEMA: Final = "stoker/version/v1"
PEER: Final = "v0.94.1"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `stoker version`."""
    output_argument(parser, TEXT, JSON, YAML)


def run(options: argparse.Namespace) -> int:
    """Print versions; return the exit status."""
    if options.output != TEXT:
        print_value(SCHEMA, versions(), options.output)
        return 0
    for name, version in versions().items():
        print(f"{_TITLES[name]:28} {version}")
    return 0


def versions() -> dict[str, str]:
    """Versions by what they are of: ours, what we run on, and what we stand in for or assume."""
    from stoker import __version__
    from stoker.settings import (
        DEFAULT_ALERTMANAGER_VERSION,
        DEFAULT_PROMETHEUS_VERSION,
        DEFAULT_THANOS_VERSION,
    )

    return {
        "version": __version__,
        "python": platform.python_version(),
        "platform": f"{platform.system().lower()}/{platform.machine()}",
        "prometheusOperator": PEER,
        "prometheus": DEFAULT_PROMETHEUS_VERSION,
        "alertmanager": DEFAULT_ALERTMANAGER_VERSION,
        "thanos": DEFAULT_THANOS_VERSION,
    }


_TITLES: Final = {
    "version": "stoker",
    "python": "Python",
    "platform": "platform",
    "prometheusOperator": "as prometheus-operator",
    "prometheus": "Prometheus, if unset",
    "alertmanager": "Alertmanager, if unset",
    "thanos": "Thanos, if unset",
}
