"""What a start of the operator pays before it has asked the API server for anything."""

import json
import subprocess
import sys
from typing import Any

# Modules that are heavy and rarely needed: each is imported by whoever needs it, when it does.
RARE = ("cel", "difflib", "cryptography", "unittest", "stoker.offline", "stoker.compare")

_OPERATOR = """
import gc, json, os, sys
os.environ["SSL_CERT_DIR"] = "/somewhere"
before = dict(os.environ)
from stoker.cli.operator import import_all
import_all()
from aiohttp import connector
from stoker.golang.template import token_pattern
print(json.dumps({
    "modules": list(sys.modules),
    "frozen": gc.get_freeze_count(),
    "collecting": gc.isenabled(),
    "patterns": token_pattern.cache_info().currsize,
    "trusted": len(connector._SSL_CONTEXT_VERIFIED.get_ca_certs()),
    "environment": dict(os.environ) == before,
}))
"""
_KINDS = """
import stoker.api.convert, stoker.api.kinds, stoker.validate.verdicts
from stoker.api.scrapeconfig.v1alpha1 import ScrapeConfig
print(len(ScrapeConfig.__subclasses__()))
"""


def told_by(program: str) -> Any:
    """What a fresh Python prints, read."""
    made = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    return json.loads(made.stdout)


def test_the_operator_imports_nothing_that_is_rarely_needed() -> None:
    """Nor does it make patterns that few need, or look for cycles in what it imported."""
    found = told_by(_OPERATOR)
    assert [name for name in RARE if name in found["modules"]] == []
    assert found["frozen"] > 10_000
    assert found["collecting"]
    assert found["patterns"] == 0


def test_the_operator_reads_no_authorities_of_the_machine_when_it_is_imported() -> None:
    """Where they are is as before afterwards, for whoever connects to a server they vouch for."""
    found = told_by(_OPERATOR)
    assert found["trusted"] == 0
    assert found["environment"]


def test_types_of_versions_that_nobody_asked_for_are_not_made() -> None:
    """Those of the newer ScrapeConfigs are made of the older ones, which takes its time."""
    assert told_by(_KINDS) == 0
