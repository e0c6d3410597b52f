"""Where the API server is, and who we are to it.

Three ways to know: flags (`from_flags`), the files in every pod (`in_cluster`), and a kubeconfig
(`kubeconfig`). All give an `Access`, which is asked before each request, for tokens and
certificates are renewed while we run.
"""

import os
import ssl
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import urlsplit

from multidict import CIMultiDict

from stoker.kube import kubeconfig as files
from stoker.kube.credentials import Credentials, Fixed, Plugin, TokenFile, command_at, decoded
from stoker.kube.errors import AccessError
from stoker.kube.proxies import HttpProxy, proxy_for
from stoker.kube.tls import Pem, Tls

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")

Headers = CIMultiDict[str]
"""Headers of a request; one name may stand there several times."""


class Access:
    """An API server and our credentials for it.

    `server` is its URL without a slash at the end, `server_name` the name in its certificate where
    that differs, `namespace` the one that we are at home in ("" if not known).
    """

    def __init__(  # noqa: PLR0913 - each is one fact of an access
        self,
        server: str,
        *,
        tls: Tls | None = None,
        credentials: Credentials | None = None,
        impersonation: Iterable[tuple[str, str]] = (),
        server_name: str | None = None,
        proxy: HttpProxy | None = None,
        namespace: str = "",
    ) -> None:
        self.server = _checked_url(server)
        self.server_name = server_name or None
        self.proxy = proxy or proxy_for(self.server)
        self.namespace = namespace
        self._tls = tls or Tls() if self.server.startswith("https:") else None
        self._credentials = credentials or Fixed()
        self._impersonation = list(impersonation)

    def __repr__(self) -> str:
        return f"Access({self.server!r})"

    @property
    def ssl(self) -> ssl.SSLContext | None:
        """The context for connections, as it is after `headers` was asked; None without TLS."""
        return self._tls.context if self._tls else None

    async def headers(self) -> Headers:
        """The headers that say who we are."""
        headers = Headers(self._impersonation)
        authorization = await self._credentials.authorization()
        if authorization:
            headers["Authorization"] = authorization
        if self._tls:
            self._tls.refresh()
            if self._credentials.certificate:
                self._tls.show(*self._credentials.certificate)
        return headers

    def forget(self) -> None:
        """The server did not take our credentials: get new ones before the next request."""
        self._credentials.forget()
        if self._tls:
            self._tls.refresh(now=True)


def from_flags(  # noqa: PLR0913 - one for each flag
    apiserver: str,
    *,
    cert_file: str = "",
    key_file: str = "",
    ca_file: str = "",
    tls_insecure: bool = False,
    impersonate: str = "",
) -> Access:
    """The server and the certificate that flags name."""
    with_tls = bool(cert_file or ca_file or tls_insecure)
    if "://" not in apiserver:
        apiserver = f"{'https' if with_tls else 'http'}://{apiserver}"
    tls = Tls(
        ca=None if tls_insecure else Pem(ca_file),
        certificate=Pem(cert_file),
        key=Pem(key_file),
        insecure=tls_insecure,
    )
    return Access(apiserver, tls=tls, impersonation=_impersonation(impersonate))


def in_cluster(*, impersonate: str = "") -> Access:
    """The server and the service account of the pod that we run in."""
    host = os.environ.get("KUBERNETES_SERVICE_HOST")
    port = os.environ.get("KUBERNETES_SERVICE_PORT")
    if not host or not port:
        raise AccessError(
            "we are in no pod (KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set)"
        )
    return Access(
        f"https://{f'[{host}]' if ':' in host else host}:{port}",
        tls=Tls(ca=Pem(str(SERVICE_ACCOUNT / "ca.crt"))),
        credentials=TokenFile(SERVICE_ACCOUNT / "token"),
        impersonation=_impersonation(impersonate),
        namespace=_first_line(SERVICE_ACCOUNT / "namespace"),
    )


def kubeconfig(
    path: Path | None = None, context: str | None = None, *, impersonate: str = ""
) -> Access:
    """The server and the user of a context: the current one unless one is given.

    Without a path, the files of $KUBECONFIG are read, or else ~/.kube/config. To `impersonate`
    somebody wins over what the file says of that.
    """
    choice = files.chosen(path, context)
    cluster, user = choice.cluster, choice.user
    return Access(
        cluster.server,
        tls=_tls(cluster, user) if not cluster.server.startswith("http:") else None,
        credentials=_credentials(choice),
        impersonation=_impersonation(impersonate)
        if impersonate
        else _impersonation(
            user.as_user, user.as_uid, user.as_groups or (), user.as_user_extra or {}
        ),
        server_name=cluster.tls_server_name,
        proxy=HttpProxy(cluster.proxy_url) if cluster.proxy_url else None,
        namespace=choice.namespace or "default",
    )


def _tls(cluster: files.Cluster, user: files.User) -> Tls:
    def pem(file: str, data: str, what: str) -> Pem:
        return Pem(data=decoded(data, what)) if data else Pem(file)

    ca = pem(
        cluster.certificate_authority,
        cluster.certificate_authority_data,
        "certificate-authority-data",
    )
    return Tls(
        ca=None if cluster.insecure_skip_tls_verify else ca,
        certificate=pem(
            user.client_certificate, user.client_certificate_data, "client-certificate-data"
        ),
        key=pem(user.client_key, user.client_key_data, "client-key-data"),
        insecure=cluster.insecure_skip_tls_verify,
    )


def _credentials(choice: files.ChosenContext) -> Credentials:
    user = choice.user
    if user.auth_provider:
        raise AccessError("auth-provider is not supported, as in Kubernetes since 1.26: use exec")
    if user.exec:
        return _plugin(user.exec, choice)
    if user.token_file:
        return TokenFile(Path(user.token_file))
    if user.token:
        return Fixed.token(user.token)
    if user.username:
        return Fixed.basic(user.username, user.password)
    return Fixed()


def _plugin(plugin: files.Exec, choice: files.ChosenContext) -> Plugin:
    if plugin.interactive_mode == "Always":
        raise AccessError(f"the exec plugin {plugin.command!r} wants a terminal: we have none")
    return Plugin(
        [command_at(plugin.command, choice.directory), *(plugin.args or [])],
        api_version=plugin.api_version,
        environment={each["name"]: each.get("value", "") for each in plugin.env or []},
        cluster=_told(choice.cluster) if plugin.provide_cluster_info else None,
        install_hint=plugin.install_hint,
    )


def _told(cluster: files.Cluster) -> dict[str, object]:
    """What a plugin is told about the cluster."""
    extension = next(
        (
            each.get("extension")
            for each in cluster.extensions or []
            if each.get("name") == "client.authentication.k8s.io/exec"
        ),
        None,
    )
    told = {
        "server": cluster.server,
        "tls-server-name": cluster.tls_server_name,
        "insecure-skip-tls-verify": cluster.insecure_skip_tls_verify,
        "certificate-authority-data": cluster.certificate_authority_data,
        "proxy-url": cluster.proxy_url,
        "config": extension,
    }
    return {key: value for key, value in told.items() if value}


def _impersonation(
    user: str,
    uid: str = "",
    groups: Iterable[str] = (),
    extra: dict[str, list[str]] | None = None,
) -> list[tuple[str, str]]:
    """The headers by which we act for someone else."""
    headers = [("Impersonate-User", user), ("Impersonate-Uid", uid)]
    headers += [("Impersonate-Group", group) for group in groups]
    for key, values in (extra or {}).items():
        headers += [(f"Impersonate-Extra-{key}", value) for value in values]
    if not user and any(value for _, value in headers):
        raise AccessError("impersonation needs a user to act for")
    return [(name, value) for name, value in headers if value]


def _checked_url(server: str) -> str:
    url = urlsplit(server)
    if url.scheme not in ("http", "https") or not url.hostname:
        raise AccessError("the server must be an http or https URL")
    # A password in the URL would end up in errors.
    return f"{url.scheme}://{url.netloc.rpartition('@')[2]}{url.path.rstrip('/')}"


def _first_line(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
