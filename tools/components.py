"""The command lines of the control plane's processes.

Flags here either connect the processes with each other, or keep them small and quiet: one etcd
that never syncs to disk, no leader election, no servers that nobody asks. Everything else is as
Kubernetes has it by default, with **all** controllers: without nodelifecycle, for one, new nodes
would keep their not-ready taint and nothing would be scheduled.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tools import audit
from tools.credentials import Credentials
from tools.namespace import POD_NETWORK
from tools.ports import held_port

NAMES = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok")

# Where etcd keeps what it holds, in the folder of a cluster.
ETCD_DATA = "etcd"
SERVER_ADDRESS = "10.244.255.1"
SERVICE_RANGE = "10.96.0.0/16"
# Clients of their own are limited to a few requests per second by default; tests do not wait.
UNHURRIED = ("--kube-api-qps=300", "--kube-api-burst=600")


@dataclass(frozen=True)
class Ports:
    """Where the processes listen, on the loopback address."""

    etcd: int = 2379
    etcd_peer: int = 2380
    server: int = 6443

    @classmethod
    def free(cls) -> Ports:
        """Three ports that nobody else gets while this process lives."""
        return cls(held_port(), held_port(), held_port())


@dataclass(frozen=True)
class Layout:
    """All that the command lines depend on."""

    directory: Path
    credentials: Credentials
    kubeconfig: Path
    stages: Path
    ports: Ports
    namespaces: bool


def command_lines(binaries: Mapping[str, Path], layout: Layout) -> dict[str, list[str]]:
    """Return the command line of each process, in the order of starting."""
    flags = {
        "etcd": _etcd(layout),
        "kube-apiserver": _server(layout),
        "kube-controller-manager": _controllers(layout),
        "kube-scheduler": _scheduler(layout),
        "kwok": _kwok(layout),
    }
    return {name: [str(binaries[name]), *flags[name]] for name in NAMES}


def _etcd(layout: Layout) -> list[str]:
    client = f"http://127.0.0.1:{layout.ports.etcd}"
    peer = f"http://127.0.0.1:{layout.ports.etcd_peer}"
    return [
        f"--data-dir={layout.directory / ETCD_DATA}",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        "--unsafe-no-fsync",
        "--log-level=warn",
    ]


def _server(layout: Layout) -> list[str]:
    credentials = layout.credentials
    return [
        f"--etcd-servers=http://127.0.0.1:{layout.ports.etcd}",
        f"--secure-port={layout.ports.server}",
        f"--tls-cert-file={credentials.server_certificate}",
        f"--tls-private-key-file={credentials.server_key}",
        f"--token-auth-file={credentials.token_file}",
        "--authorization-mode=RBAC",
        f"--service-account-key-file={credentials.service_account_key}",
        f"--service-account-signing-key-file={credentials.service_account_key}",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-cluster-ip-range={SERVICE_RANGE}",
        # Pods name service accounts that a test may not have made.
        "--disable-admission-plugins=ServiceAccount",
        "--allow-privileged",
        "--profiling=false",
        f"--audit-policy-file={audit.write_policy(layout.directory)}",
        f"--audit-log-path={layout.directory / audit.LOG}",
        "--audit-log-mode=blocking",
        # In megabytes: places in it are only true as long as it is one file.
        "--audit-log-maxsize=100000",
        *_server_address(layout),
    ]


def _server_address(layout: Layout) -> list[str]:
    if layout.namespaces:
        return ["--bind-address=0.0.0.0", f"--advertise-address={SERVER_ADDRESS}"]
    # Endpoints may not be loopback addresses, so the kubernetes Service gets none at all.
    address = "127.0.0.1"
    return [
        f"--bind-address={address}",
        f"--advertise-address={address}",
        "--endpoint-reconciler-type=none",
    ]


def _controllers(layout: Layout) -> list[str]:
    return [
        f"--kubeconfig={layout.kubeconfig}",
        "--controllers=*",
        f"--service-account-private-key-file={layout.credentials.service_account_key}",
        f"--root-ca-file={layout.credentials.ca_file}",
        "--allocate-node-cidrs",
        f"--cluster-cidr={POD_NETWORK}",
        f"--service-cluster-ip-range={SERVICE_RANGE}",
        "--leader-elect=false",
        "--secure-port=0",
        # After an outage of a minute pods would be marked as not ready, and kwok, unlike a kubelet,
        # never marks them as ready again.
        "--node-monitor-grace-period=10m",
        *UNHURRIED,
    ]


def _scheduler(layout: Layout) -> list[str]:
    return [
        f"--kubeconfig={layout.kubeconfig}",
        "--leader-elect=false",
        "--secure-port=0",
        *UNHURRIED,
    ]


def _kwok(layout: Layout) -> list[str]:
    return [
        f"--kubeconfig={layout.kubeconfig}",
        f"--config={layout.stages}",
        "--manage-all-nodes",
        # With leases renewed, nodes stay Ready for as long as the cluster runs.
        "--node-lease-duration-seconds=40",
        "--v=warn",
    ]
