"""The generated reference pages."""

from pathlib import Path

from stoker.api.kinds import KINDS
from stoker.api.reference import pages
from stoker.cli.flag_table import FLAGS
from stoker.cli.webhook_flags import FLAGS as WEBHOOK_FLAGS
from stoker.generate.discovery import DISCOVERIES
from stoker.web.metric_table import PREFIX, TABLE
from tools import compatibility, reference

FOLDER = Path(__file__).parents[2] / "docs/reference"


def test_the_pages_are_those_of_the_declarations() -> None:
    """`make reference` was run after the last change of the API, a flag, a metric or a version."""
    folder = {
        path: text for path, text in reference.made().items() if path.parent == reference.PAGES
    }
    made = {path.name: text for path, text in folder.items()}
    found = {path.name: path.read_text() for path in FOLDER.glob("*.md")}
    assert sorted(found) == sorted(made)
    stale = [name for name in made if made[name] != found[name]]
    assert stale == [], "run `make reference`"


def test_every_flag_and_metric_is_on_its_page() -> None:
    """With its default and what it does; the webhook's too."""
    flags, metrics = reference.flags_page(), reference.metrics_page()
    for flag in (*FLAGS.values(), *WEBHOOK_FLAGS.values()):
        assert f"| `--{flag.name}` |" in flags
    for row in TABLE:
        assert f"| `{PREFIX}{row.name}` |" in metrics
    assert "| `--workers` | `4` |" in flags
    assert "`prometheus_operator_rule_validation_errors_total` | counter" in metrics


def test_versions_are_those_of_the_tables() -> None:
    """Settings of a configuration, words, discoveries, flags, rules, and of all three programs."""
    text = compatibility.page()
    for line in (
        "| `scrape_native_histograms` | 3.8.0 |  |",
        "| `queue_config.max_retries` |  | 2.11.0 |",
        "| `oauth2.proxy_url` | 2.43.0 |  |",
        "| `keepequal` | 2.41.0 |  |",
        "| `agent` | 2.32.0 | 3.0.0 |",
        "| `--web.enable-otlp-receiver` | 3.0.0 |  |",
        "| `keep_firing_for` of a rule | 2.42.0 | 0.34.0 |",
        "| `msteamsv2_configs` | 0.28.0 |  |",
        "| `http_config.http_headers` | 0.28.0 |  |",
        "| `--cluster.label` | 0.26.0 |  |",
        "| `--rule-query-offset` | 0.38.0 |  |",
    ):
        assert line in text
    assert "| `dns_sd_configs` |  | `type: MX` 2.38.0, `type: NS` 2.49.0 |" in text
    members = [row for row in text.splitlines() if "_sd_configs` |" in row]
    assert len(members) == len(DISCOVERIES)


def test_every_link_within_the_reference_leads_somewhere() -> None:
    """A link to a type leads to a heading on its page."""
    made = {page.name: page.text for page in pages(KINDS)}
    anchors = {
        f"{name}#{line[3:].lower()}"
        for name, text in made.items()
        for line in text.splitlines()
        if line.startswith("## ")
    }
    for name, text in made.items():
        for target in _local_links(text):
            page, _, anchor = target.partition("#")
            assert (page or name) in made or (FOLDER / page).is_file(), (name, target)
            assert not anchor or f"{page or name}#{anchor}" in anchors, (name, target)


def _local_links(text: str) -> list[str]:
    return [
        part.partition(")")[0] for part in text.split("](")[1:] if not part.startswith("https://")
    ]
