"""Unpack a configuration, fill in the pod's own values, and ask for a reload when files change.

  stoker reloader --config-file=/etc/prometheus/config/prometheus.yaml.gz
      --config-envsubst-file=/etc/prometheus/config_out/prometheus.env.yaml
      --watched-dir=/etc/prometheus/rules/rulefiles-0 --listen-address=:8080
  stoker reloader --watch-interval=0 --config-file=IN --config-envsubst-file=OUT     write and exit
  stoker reloader --reload-method=signal --config-file=IN --config-envsubst-file=OUT

It takes the arguments of prometheus-config-reloader, with one dash or two, so an operator can run
either. Filled in are the variables that operators write, $(POD_NAME), $(NODE_NAME), $(SHARD),
$(INZONE_SHARD) and $(TOPOLOGY_ZONE), in lines that operators or owners of a workload write; what a
tenant wrote in a monitor is text and stays as it is. docs/reloader.md has the rules.

A configuration that is refused is tried again; meanwhile the last good one lies in its place.
"""

import os
import sys
from typing import TYPE_CHECKING

from stoker.cli.terminal import failed

if TYPE_CHECKING:
    import argparse


def arguments(parser: "argparse.ArgumentParser") -> None:
    """Declare the options of `stoker reloader`."""
    from stoker.reloader.options import declare

    declare(parser)


def run(options: "argparse.Namespace") -> int:
    """Become the reloader: a process of its own, without what the command line has taken."""
    from stoker.reloader.options import UsageError, parsed, words_of

    words = words_of(options)
    try:
        parsed(words)
    except UsageError as error:
        return failed("reloader", error)
    sys.stdout.flush()
    command = [sys.executable, "-P", "-m", "stoker.reloader", *words]
    return os.execv(sys.executable, command)  # noqa: S606  (no shell is what is wanted)
