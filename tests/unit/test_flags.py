"""The flags of `stoker operator`, what they make, and which namespaces they mean."""

import subprocess
import sys

import pytest

from stoker.cli.flag_table import FLAGS, GROUPS
from stoker.cli.flags import help_text, parsed
from stoker.cli.operator_settings import operator_settings
from stoker.errors import FieldError
from stoker.operator.reconcile import removing
from stoker.select.namespaces import NAME_LABEL, Namespaces, by_label, reference_scope, scope_of
from stoker.settings import LeaderSettings, NamespaceSettings, OperatorSettings

# Every flag of prometheus-operator 0.94.1, with a value that is not its default.
PEER = [
    "alertmanager-config-namespaces=alerts",
    "alertmanager-default-base-image=reg/am",
    "alertmanager-instance-namespaces=alerts",
    "alertmanager-instance-selector=team=a",
    "annotations=note=x",
    "apiserver=http://127.0.0.1:8080",
    "as=system:serviceaccount:a:b",
    "auto-gomemlimit-ratio=0.9",
    "ca-file=/ca",
    "cert-file=/cert",
    "cluster-domain=cluster.local",
    "config-reloader-cpu-limit=0",
    "config-reloader-cpu-request=100m",
    "config-reloader-memory-limit=1Gi",
    "config-reloader-memory-request=25Mi",
    "configmap-field-selector=metadata.name!=a",
    "configmap-label-selector=a",
    "controller-id=mine",
    "deny-namespaces=kube-system",
    "disable-unmanaged-prometheus-configuration=true",
    "enable-config-reloader-probes=true",
    "feature-gates=PrometheusTopologySharding=false",
    "key-file=/key",
    "kubelet-endpoints=false",
    "kubelet-endpointslice=true",
    "kubelet-http-metrics=false",
    "kubelet-node-address-priority=external",
    "kubelet-selector=!virtual",
    "kubelet-service=kube-system/kubelet",
    "kubelet-sync-period=90s",
    "labels=team=a",
    "localhost=127.0.0.1",
    "log-format=json",
    "log-level=debug",
    "namespaces=shop",
    "prometheus-config-reloader=reg/reloader:v1",
    "prometheus-default-base-image=reg/prom",
    "prometheus-instance-namespaces=monitoring",
    "prometheus-instance-selector=a!=b",
    "repair-policy-for-statefulsets=evict",
    "secret-field-selector=type!=helm",
    "secret-label-selector=a=b",
    "short-version=true",
    "thanos-default-base-image=reg/thanos",
    "thanos-ruler-instance-namespaces=rules",
    "thanos-ruler-instance-selector=a",
    "tls-insecure=true",
    "version=true",
    "watch-referenced-objects-in-all-namespaces=true",
    "web.cert-file=/web.crt",
    "web.client-ca-file=/web-ca.crt",
    "web.enable-http2=true",
    "web.enable-tls=true",
    "web.key-file=/web.key",
    "web.listen-address=127.0.0.1:9999",
    "web.tls-cipher-suites=TLS_RSA_WITH_AES_128_CBC_SHA",
    "web.tls-curves=CurveP256,X25519",
    "web.tls-min-version=VersionTLS12",
    "web.tls-reload-interval=1h",
]


def error_of(*words: str) -> str:
    """What is said about a command line that is wrong."""
    with pytest.raises(FieldError) as raised:
        operator_settings(words)
    return str(raised.value)


def test_every_flag_of_the_peer_is_there() -> None:
    """All 59 flags are known, each has help, and no other flag took a name of theirs."""
    names = {line.partition("=")[0] for line in PEER}
    assert len(names) == 59
    assert names <= set(FLAGS)
    assert all(flag.help for flag in FLAGS.values())


@pytest.mark.parametrize("line", PEER)
def test_a_flag_may_be_spelt_in_each_way_of_go(line: str) -> None:
    """One dash or two, an equals sign or the next word: the value is the same, and not the default.

    A switch takes no next word.
    """
    name, _, value = line.partition("=")
    ways = [[f"--{line}"], [f"-{line}"]]
    if not FLAGS[name].is_switch:
        ways += [[f"--{name}", value], [f"-{name}", value]]
    elif value == "true":
        ways += [[f"--{name}"], [f"-{name}"]]
    values = [parsed(words)[name] for words in ways]
    assert values == [values[0]] * len(ways)
    assert values[0] != FLAGS[name].default


def test_without_flags_the_settings_are_the_defaults() -> None:
    """The table of flags and the declared settings agree on every default."""
    assert operator_settings([]) == OperatorSettings()


def test_every_flag_reaches_the_settings() -> None:
    """Each flag changes the settings, save those that are only accepted or only print."""
    silent = {"auto-gomemlimit-ratio", "web.enable-http2", "version", "short-version"}
    for line in PEER:
        changed = operator_settings([f"--{line}"]) != OperatorSettings()
        assert changed is (line.partition("=")[0] not in silent), line


def test_our_own_flags_reach_the_settings() -> None:
    """Leader election, workers and the kubeconfig can be set."""
    settings = operator_settings(
        [
            "--leader-election=false",
            "--leader-election-namespace=ops",
            "--leader-election-id=x",
            "--workers=9",
            "--kubeconfig=/kube",
            "--context=test",
        ]
    )
    assert settings.leader == LeaderSettings(enabled=False, namespace="ops", name="x")
    assert settings.workers == 9
    assert (settings.api.kubeconfig, settings.api.context) == ("/kube", "test")


def test_lists_and_maps_given_twice_are_both_together() -> None:
    """A repeated list or map adds up; of any other flag the last use counts."""
    given = parsed(
        [
            *("--namespaces=b, a", "-namespaces", "c,"),
            *("--labels=a=1,b=2", "--labels=b=3"),
            *("--feature-gates=A=true", "--feature-gates=B=0"),
            *("--as=x", "--as=y"),
        ]
    )
    assert given["namespaces"] == ("a", "b", "c")
    assert given["labels"] == {"a": "1", "b": "3"}
    assert given["feature-gates"] == {"A": True, "B": False}
    assert given["as"] == "y"


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("1m0s", 60), ("1h2m3.5s", 3723.5), ("300ms", 0.3), (".5h", 1800), ("+2s", 2), ("1us", 1e-6)],
)
def test_durations_are_those_of_go(text: str, seconds: float) -> None:
    """Every unit that Go knows, and several of them in a row."""
    assert parsed([f"--kubelet-sync-period={text}"])["kubelet-sync-period"] == pytest.approx(
        seconds
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--namespace=x"], "--namespace: there is no such flag; did you mean --namespaces?"),
        (["--web.enable-tls", "true"], "--web.enable-tls: takes its value after an equals sign"),
        (["--web.enable-tls=yes"], "--web.enable-tls: `yes` is neither true nor false"),
        (["--namespaces"], "--namespaces: needs a value"),
        (["--namespaces=Shop"], "--namespaces: `Shop` cannot be the name of a namespace"),
        (["stray"], "`stray` belongs to no flag"),
        (["--as=x", "--", "stray"], "`stray` belongs to no flag"),
        (["--labels=key"], "--labels: `key` is not of the form key=value"),
        (["--labels=a=b c"], "--labels: `b c` cannot be the value of a label"),
        (["--annotations=a b=c"], "--annotations: `a b` cannot be the key"),
        (["--kubelet-sync-period=5"], "--kubelet-sync-period: `5` is not a duration"),
        (["--kubelet-sync-period=-5s"], "--kubelet-sync-period: `-5s` is not longer than nothing"),
        (["--web.tls-reload-interval=0"], "--web.tls-reload-interval: `0` is not longer"),
        (["--kubelet-service=kubelet"], "--kubelet-service: `kubelet` is not of the form"),
        (["--kubelet-service=a/b/c"], "--kubelet-service: `a/b/c` is not of the form"),
        (["--kubelet-node-address-priority=x"], "`x` is not one of internal, external"),
        (["--config-reloader-cpu-limit=fast"], "`fast` is not a quantity"),
        (["--prometheus-instance-selector=a in"], "--prometheus-instance-selector: `a in`"),
        (["--secret-field-selector=a"], "--secret-field-selector: `a`"),
        (["--feature-gates=Foo=true"], "--feature-gates: Foo: there is no such feature gate"),
        (["--feature-gates=Foo=maybe"], "--feature-gates: `maybe` is neither"),
        (["--namespaces=a", "--deny-namespaces=b"], "--deny-namespaces: cannot be given together"),
        (["--web.listen-address=8080"], "--web.listen-address: `8080` is not of the form"),
        (["--web.listen-address=:99999"], "--web.listen-address: `99999` is not a port"),
        (["--web.tls-min-version=1.3"], "--web.tls-min-version: `1.3` is not one of VersionTLS10"),
        (["--web.tls-cipher-suites=RC4"], "--web.tls-cipher-suites: `RC4` is not one of"),
        (["--workers=0"], "--workers: `0` is less than 1"),
        (["--log-level=loud"], "--log-level: `loud` is not one of all, debug"),
        (["--auto-gomemlimit-ratio=2"], "--auto-gomemlimit-ratio: `2` is not between 0 and 1"),
    ],
)
def test_a_mistake_is_answered_with_the_flag_and_what_is_wrong(
    words: list[str], message: str
) -> None:
    """One clear error names the flag; nothing is passed over in silence."""
    assert message in error_of(*words)


def test_an_address_to_listen_on_may_be_ipv6() -> None:
    """Brackets belong to the spelling, not to the address."""
    assert parsed(["--web.listen-address=[::1]:80"])["web.listen-address"] == ("::1", 80)


def test_a_client_ca_that_was_asked_for_is_required() -> None:
    """Only who names the file, even by its default path, means that it must be there."""
    assert not operator_settings([]).web.client_ca_required
    assert operator_settings(["--web.client-ca-file=/etc/tls/private/tls-ca.crt"]).web == (
        operator_settings(["--web.client-ca-file", "/etc/tls/private/tls-ca.crt"]).web
    )
    assert operator_settings(["--web.client-ca-file=/x"]).web.client_ca_required
    assert not operator_settings(["--web.client-ca-file="]).web.client_ca_required


def test_features_that_are_finished_are_on() -> None:
    """Agents on every node and status on resources need no gate; they can be turned off."""
    gates = operator_settings(["--feature-gates=StatusForConfigurationResources=false"]).gates
    assert gates["PrometheusAgentDaemonSet"]
    assert not gates["StatusForConfigurationResources"]


def test_operators_with_other_work_have_another_lease() -> None:
    """Two operators that share a namespace but not their workloads do not wait for each other."""
    names = [
        operator_settings(words).leader.name
        for words in (
            [],
            ["--controller-id=a"],
            ["--namespaces=a"],
            ["--prometheus-instance-selector=a"],
        )
    ]
    assert names[0] == "stoker-operator"
    assert len(set(names)) == 4
    assert operator_settings(["--controller-id=a", "--log-level=debug"]).leader.name == names[1]


def test_help_shows_every_flag_in_its_group() -> None:
    """Help is grouped, names defaults, and says what has no effect."""
    text = help_text()
    assert all(f"\n{title}:\n" in text for title in GROUPS)
    assert all(f"\n  --{name}" in text for name in FLAGS)
    assert "[3m0s]" in text
    ineffective = text[text.index("Accepted, without effect") :]
    assert "--auto-gomemlimit-ratio" in ineffective
    assert "--web.enable-http2" in ineffective
    assert parsed(["-h"])["help"]


def test_help_imports_nothing_heavy() -> None:
    """The table is light, so that help is instant."""
    script = (
        "import sys; from stoker.cli.flags import help_text; help_text();"
        "print({'msgspec', 'aiohttp', 'asyncio', 're2', 'stoker.api'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "set()"


# --- Namespaces -----------------------------------------------------------------------------------


def test_a_list_for_a_kind_wins_over_the_general_ones() -> None:
    """Workloads follow their own list; what they select follows the general one."""
    settings = NamespaceSettings(denied=("kube-system",), prometheus=("kube-system", "a"))
    for kind in ("Prometheus", "PrometheusAgent"):
        assert scope_of(kind, settings).watches == ("a", "kube-system")
        assert scope_of(kind, settings).covers("kube-system")
    rest = scope_of("ServiceMonitor", settings)
    assert rest.watches == ("",)
    assert rest.field_selector == "metadata.namespace!=kube-system"
    assert rest.namespace_selector == f"{NAME_LABEL} notin (kube-system)"
    assert not rest.covers("kube-system")
    assert rest.covers("new")


def test_allowed_namespaces_are_watched_one_by_one() -> None:
    """No watch across the cluster is needed, so Roles are enough."""
    scope = scope_of("PodMonitor", NamespaceSettings(allowed=("b", "a")))
    assert scope.watches == ("a", "b")
    assert scope.field_selector == ""
    assert scope.namespace_selector == f"{NAME_LABEL} in (a,b)"
    assert not scope.covers("c")


def test_references_are_watched_beside_workloads_or_wherever_monitors_are() -> None:
    """The flag widens the watch of Secrets to the namespaces of monitors."""
    settings = NamespaceSettings(allowed=("shop",), prometheus=("monitoring",))
    assert reference_scope("Prometheus", settings, everywhere=False).watches == ("monitoring",)
    wide = reference_scope("Prometheus", settings, everywhere=True)
    assert wide.watches == ("monitoring", "shop")
    alerting = NamespaceSettings(alertmanager=("a",), alertmanager_config=("b",))
    assert reference_scope("Alertmanager", alerting, everywhere=False).watches == ("a", "b")


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        (Namespaces(frozenset("a")), Namespaces(frozenset("b")), Namespaces(frozenset("ab"))),
        (Namespaces(None, frozenset("a")), Namespaces(frozenset("a")), Namespaces()),
        (
            Namespaces(None, frozenset("ab")),
            Namespaces(frozenset("c")),
            Namespaces(None, frozenset("ab")),
        ),
        (
            Namespaces(None, frozenset("ab")),
            Namespaces(None, frozenset("bc")),
            Namespaces(None, frozenset("b")),
        ),
        (Namespaces(), Namespaces(None, frozenset("b")), Namespaces()),
    ],
)
def test_two_scopes_together_cover_what_either_covers(
    one: Namespaces, other: Namespaces, both: Namespaces
) -> None:
    """A namespace that one denies and the other allows is covered."""
    assert one | other == both == other | one
    for namespace in "abcd":
        assert both.covers(namespace) is (one.covers(namespace) or other.covers(namespace))


def test_a_selector_is_joined_to_the_one_that_is_there() -> None:
    """Both must hold; without values there is nothing to add."""
    assert by_label("l", ["b", "a", "b"], besides="x=y") == "l in (a,b),x=y"
    assert by_label("l", [], besides="x=y") == "x=y"


# --- Finalizers -----------------------------------------------------------------------------------


def test_removing_a_finalizer_takes_off_ours_alone() -> None:
    """The place is tested before it is removed; nothing happens where there is nothing."""
    patch = removing("ours", ["theirs", "ours"])
    assert [one["op"] for one in patch] == ["test", "remove"]
    assert {one["path"] for one in patch} == {"/metadata/finalizers/1"}
    assert removing("ours", ["theirs"]) == removing("ours", None) == []
