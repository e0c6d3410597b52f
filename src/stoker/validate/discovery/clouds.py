"""Targets of cloud providers: what each way to log in and each role needs."""

from typing import Final

from stoker.api.scrapeconfig.discovery.aws import AwsRoleDiscovery
from stoker.api.scrapeconfig.discovery.clouds import (
    AzureDiscovery,
    OciDiscovery,
    OpenStackDiscovery,
)
from stoker.errors import below
from stoker.validate.discovery.checks import too_old
from stoker.validate.findings import Finding, Findings, Reason, json_name
from stoker.validate.http import conflict
from stoker.validate.reading import ScraperReading


def azure_login(item: AzureDiscovery, reading: ScraperReading, path: str) -> Findings:
    """OAuth, the default, needs an application with its secret."""
    if item.authentication_method not in (None, "", "OAuth"):
        return
    for attribute in ("tenant_id", "client_id", "client_secret"):
        if not getattr(item, attribute):
            where = below(path, json_name(item, attribute))
            yield Finding(where, Reason.REQUIRED, "is needed to log in by OAuth")


def openstack_role(item: OpenStackDiscovery, reading: ScraperReading, path: str) -> Findings:
    """Load balancers are found by newer versions only."""
    if item.role.lower() == "loadbalancer" and not reading.knows("3.2.0"):
        yield too_old(below(path, "role"), "3.2.0")


FILTERED_RDS: Final = "3.13.0"


def aws_filters(item: AwsRoleDiscovery, reading: ScraperReading, path: str) -> Findings:
    """Databases are filtered by newer versions only; older ones would find all of them."""
    if item.filters and item.role == "RDS" and not reading.knows(FILTERED_RDS):
        yield too_old(below(path, "filters"), FILTERED_RDS)


_OCI_KEY: Final = ("tenancy", "user", "fingerprint", "private_key")


def oci_login(item: OciDiscovery, reading: ScraperReading, path: str) -> Findings:
    """An API key, the default, needs all of it; the instance's own identity nothing."""
    by_key = item.authentication_method in (None, "", "APIKey")
    for attribute in (*_OCI_KEY, "private_key_passphrase"):
        where = below(path, json_name(item, attribute))
        given = bool(getattr(item, attribute))
        if given and not by_key:
            yield conflict(where, "needs `authenticationMethod` to be `APIKey`")
        if by_key and not given and attribute in _OCI_KEY:
            yield Finding(where, Reason.REQUIRED, "is needed to log in with an API key")


def oci_key_file(item: OciDiscovery, reading: ScraperReading, path: str) -> Findings:
    """The private key is there; it becomes a file."""
    if item.private_key is None:
        return
    yield from reading.unresolved(item.private_key, below(path, "privateKey"))
    text = reading.value(item.private_key)
    if text is not None:
        reading.keep_file(item.private_key, text)
