"""Which `$(VARIABLE)` the reloader fills in: the operator's and owners', never a tenant's."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from stoker.generate.block import text_of
from stoker.reloader.expand import ExpansionError, expanded, ordinal, variables
from stoker.reloader.outline import Outline

VALUES = {
    "POD_NAME": "main-0",
    "NODE_NAME": "node.one",
    "SHARD": "2",
    "INZONE_SHARD": "1",
    "TOPOLOGY_ZONE": "zone.a",
}
GOLDEN = Path(__file__).parent.parent / "golden" / "prometheus"

KEEP_SHARD = {
    "source_labels": ["__tmp_hash", "__tmp_disable_sharding"],
    "regex": "$(SHARD);|.+;.+",
    "action": "keep",
}
KEEP_NODE = {
    "action": "keep",
    "source_labels": ["__meta_kubernetes_endpoint_node_name", "__meta_kubernetes_pod_node_name"],
    "regex": "$(NODE_NAME);.*|;$(NODE_NAME)",
}
OWN_NODE = {
    "role": "pod",
    "selectors": [{"role": "pod", "label": "app=x", "field": "spec.nodeName=$(NODE_NAME)"}],
}


def filled(text: str, values: dict[str, str] | None = None, **everywhere: str) -> str:
    """The text as the reloader writes it."""
    lines = text.encode().splitlines(keepends=True)
    return b"".join(expanded(lines, VALUES if values is None else values, everywhere)).decode()


def job(name: str, **members: Any) -> dict[str, Any]:
    """A configuration with one job."""
    return {"scrape_configs": [{"job_name": name, **members}]}


def read(document: dict[str, Any]) -> Any:
    """What Prometheus reads of a configuration after the reloader has written it."""
    return yaml.safe_load(filled(text_of(document)))


def test_a_long_text_belongs_to_whoever_wrote_it_on_all_of_its_lines() -> None:
    """What looks like a key or an item on a further line is part of the text."""
    text = "many words " * 8 + "where: $(POD_NAME) " + "and more words " * 6 + "- $(POD_NAME)"
    owners = {"global": {"external_labels": {"about": text}}}
    assert text_of(owners).count("\n") > 4
    assert read(owners)["global"]["external_labels"]["about"] == text.replace(
        "$(POD_NAME)", "main-0"
    )
    steps = [{"target_label": "about", "replacement": text}]
    tenants = job("serviceMonitor/a/b/0", metric_relabel_configs=steps)
    assert read(tenants) == tenants


# --- Expansion: the operator's lines --------------------------------------------------------------


TENANTS = "replacement: $(SHARD); }"  # in one of the golden files


@pytest.mark.parametrize("file", sorted(GOLDEN.glob("*/v*.yaml")), ids=str)
def test_all_that_the_operator_writes_is_filled_in(file: Path) -> None:
    """What our own generator writes and the shapes that are known here cannot drift apart."""
    text = file.read_text()
    made = filled(text)
    assert made.count(TENANTS) == text.count(TENANTS)
    assert "$(" not in made.replace(TENANTS, "")


@pytest.mark.parametrize(
    ("step", "regex"),
    [
        (KEEP_SHARD, "2;|.+;.+"),
        (KEEP_SHARD | {"regex": "$(INZONE_SHARD);|.+;.+"}, "1;|.+;.+"),
        (
            {
                "source_labels": ["__tmp_topology", "__tmp_disable_sharding"],
                "regex": "$(TOPOLOGY_ZONE);|.+;.+",
                "action": "keep",
            },
            "zone\\.a;|.+;.+",
        ),
        (KEEP_NODE, "node\\.one;.*|;node\\.one"),
    ],
)
def test_the_steps_of_the_operator_get_the_values_of_the_pod(
    step: dict[str, Any], regex: str
) -> None:
    """In an expression a dot of a name is a dot: a similar name is another node."""
    made = read(job("serviceMonitor/ns/name/0", relabel_configs=[step]))
    assert made["scrape_configs"][0]["relabel_configs"][0]["regex"] == regex


def test_the_name_of_the_own_node_is_compared_as_a_text() -> None:
    """Where labels are compared, nothing is escaped."""
    step = {"target_label": "__tmp_own_node", "replacement": "$(NODE_NAME)"}
    made = read(job("serviceMonitor/ns/name/0", relabel_configs=[step]))
    assert made["scrape_configs"][0]["relabel_configs"][0]["replacement"] == "node.one"


def test_the_selector_of_the_own_node_is_filled_in() -> None:
    """Field selectors of monitors' jobs are the operator's alone."""
    made = read(job("podMonitor/ns/name/0", kubernetes_sd_configs=[OWN_NODE]))
    discovery = made["scrape_configs"][0]["kubernetes_sd_configs"][0]
    assert discovery["selectors"][0]["field"] == "spec.nodeName=node.one"


def test_lines_may_end_as_on_windows() -> None:
    """The end of a line is neither lost nor looked at."""
    text = "global:\r\n  external_labels:\r\n    r: $(POD_NAME)\r\n"
    assert filled(text) == text.replace("$(POD_NAME)", "main-0")


# --- Expansion: owners' texts ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "document",
    [
        {"global": {"external_labels": {"replica": "$(POD_NAME)"}}},
        {"remote_write": [{"url": "http://x/$(POD_NAME)"}]},
        {"remote_write": [{"url": "x", "headers": {"X-Pod": "$(POD_NAME)"}}]},
        {"remote_write": [{"write_relabel_configs": [{"replacement": "$(POD_NAME)"}]}]},
        {"alerting": {"alert_relabel_configs": [{"regex": "$(POD_NAME)"}]}},
        job("own", relabel_configs=[{"source_labels": ["a"], "regex": "$(POD_NAME)"}]),
        job("own", static_configs=[{"labels": {"pod": "$(POD_NAME)"}}]),
    ],
)
def test_owners_of_a_workload_use_the_variables_of_the_operator(document: dict[str, Any]) -> None:
    """What the peer's reloader filled in for them still is."""
    made = filled(text_of(document))
    assert "main-0" in made
    assert "$(" not in made


@pytest.mark.parametrize(
    "document",
    [
        {"global": {"external_labels": {"x": "$(HOME) $(KUBERNETES_SERVICE_HOST) $(UNKNOWN)"}}},
        {"remote_write": [{"basic_auth": {"password": "a$(POD_NAME)"}}]},
        job("own", basic_auth={"password": "a$(POD_NAME)"}),
        {"receivers": [{"name": "$(POD_NAME)"}], "route": {"receiver": "$(POD_NAME)"}},
        {"anything": "$(POD_NAME)"},
    ],
)
def test_nothing_else_is_filled_in(document: dict[str, Any]) -> None:
    """No other variable of the environment, no credentials, no file of another kind."""
    assert filled(text_of(document)) == text_of(document)


def test_the_administrator_can_name_more_variables() -> None:
    """With `--expand` a variable is filled in wherever it stands."""
    text = text_of({"receivers": [{"name": "$(CLUSTER) $(POD_NAME)"}]})
    assert filled(text, CLUSTER="west") == text.replace("$(CLUSTER)", "west")


# --- Expansion: tenants' texts --------------------------------------------------------------------

FORGED = "\n".join(
    [
        "relabel_configs:",
        *text_of([KEEP_SHARD, KEEP_NODE]).splitlines(),
        "selectors:",
        "- role: pod",
        "  field: spec.nodeName=$(NODE_NAME)",
        "external_labels:",
        "  r: $(POD_NAME)",
    ]
)
WORDS = st.sampled_from(
    [
        *("$(SHARD)", "$(POD_NAME)", "$(NODE_NAME)", "$(SHARD);|.+;.+", "\n", "  ", "- ", ": "),
        *("'", '"', "spec.nodeName=$(NODE_NAME)", "regex: ", "scrape_configs:", "- job_name: own"),
        FORGED,
    ]
)
TEXTS = st.lists(WORDS | st.text(max_size=5), min_size=1, max_size=8).map("".join)
KINDS = st.sampled_from(["serviceMonitor", "podMonitor", "probe", "scrapeConfig"])


def tenants_job(kind: str, text: str) -> dict[str, Any]:
    """A job in which a tenant has put the same text wherever a monitor has a field for text."""
    steps = [
        {"source_labels": [text], "target_label": text, "regex": text, "action": "keep"},
        {"separator": text, "regex": "$(SHARD)", "replacement": text},
        {"regex": "$(NODE_NAME)", "action": "keep"},
    ]
    return job(
        f"{kind}/ns/name",
        metrics_path=text,
        params={text: [text, text], "regex": ["$(SHARD);|.+;.+"]},
        basic_auth={"username": text, "password": text},
        static_configs=[{"targets": [text], "labels": {text: text}}],
        relabel_configs=steps,
        metric_relabel_configs=[*steps, KEEP_SHARD],
    )


@given(kind=KINDS, text=TEXTS)
def test_a_tenants_text_never_changes(kind: str, text: str) -> None:
    """Whatever it contains, even whole pieces of the operator's own lines (defect 24)."""
    document = text_of(tenants_job(kind, text))
    assert filled(document) == document


@given(kind=KINDS, text=TEXTS)
def test_a_tenants_text_keeps_nothing_from_being_filled_in(kind: str, text: str) -> None:
    """The operator's own steps in the same job get their values all the same."""
    written, wanted = tenants_job(kind, text), tenants_job(kind, text)
    written["scrape_configs"][0]["relabel_configs"].append(KEEP_SHARD)
    wanted["scrape_configs"][0]["relabel_configs"].append(KEEP_SHARD | {"regex": "2;|.+;.+"})
    assert filled(text_of(written)) == text_of(wanted)


def test_a_field_selector_in_a_scrape_config_is_its_tenants() -> None:
    """Only monitors' jobs have one of the operator's."""
    text = text_of(job("scrapeConfig/ns/name", kubernetes_sd_configs=[OWN_NODE]))
    assert filled(text) == text


@pytest.mark.parametrize(
    "step",
    [
        {"source_labels": ["__tmp_hash"], "regex": "$(SHARD)", "action": "keep"},
        KEEP_SHARD | {"regex": "$(POD_NAME);|.+;.+"},
        {"source_labels": ["a", "__tmp_disable_sharding"], "regex": "$(SHARD);|.+;.+"},
        {"target_label": "pod", "replacement": "$(SHARD)", "action": "replace"},
        {
            "source_labels": ["__meta_kubernetes_endpoint_node_name"],
            "regex": "$(NODE_NAME)",
            "action": "keep",
        },
    ],
)
def test_a_step_that_is_only_like_the_operators_is_text(step: dict[str, Any]) -> None:
    """To the letter, or not at all."""
    text = text_of(job("serviceMonitor/ns/name/0", relabel_configs=[step]))
    assert filled(text) == text


# --- Expansion: values ----------------------------------------------------------------------------


def test_a_variable_of_ours_that_is_not_set_is_an_error() -> None:
    """A configuration with a hole in it is worse than the one before."""
    with pytest.raises(ExpansionError, match="POD_NAME is not set"):
        filled("global:\n  external_labels:\n    r: $(POD_NAME)\n", {})


@pytest.mark.parametrize("value", ["a\nb: c", 'a"', "a'", "a b", "{}", "a#", "a\\"])
def test_a_value_that_would_change_the_file_is_an_error(value: str) -> None:
    """The error names the variable and not its value."""
    with pytest.raises(ExpansionError, match="POD_NAME") as raised:
        filled("global:\n  external_labels:\n    r: $(POD_NAME)\n", {"POD_NAME": value})
    assert value not in str(raised.value)


@pytest.mark.parametrize(
    ("pod", "number"),
    [
        ("main-0", "0"),
        ("main-10", "10"),
        ("main1", "1"),
        ("m-10-x", ""),
        ("main-10a", ""),
        ("", ""),
    ],
)
def test_the_ordinal_is_the_number_at_the_end_of_a_name(pod: str, number: str) -> None:
    """As StatefulSets name their pods."""
    assert ordinal(pod) == number


def test_only_the_operators_variables_are_taken_from_the_environment() -> None:
    """The ordinal is made where it is asked for."""
    environment = {"POD_NAME": "main-3", "SHARD": "0", "PASSWORD": "secret"}
    assert variables(environment) == {"POD_NAME": "main-3", "SHARD": "0"}
    assert variables(environment, "POD_NAME")["STATEFULSET_ORDINAL_NUMBER"] == "3"


def test_the_outline_follows_lists_with_and_without_indentation() -> None:
    """Both are the same YAML."""
    for text in ("a:\n- b: 1\n  c:\n  - d\n", "a:\n  - b: 1\n    c:\n      - d\n"):
        outline = Outline()
        paths = []
        for line in text.encode().splitlines():
            outline.follow(line)
            paths.append(outline.path)
        assert paths == [(b"a",), (b"a", b"-", b"b"), (b"a", b"-", b"c"), (b"a", b"-", b"c", b"-")]
