"""What the objects of a workload are built from."""

from msgspec import Struct

from stoker.select.workload import AnyPrometheus, Scraper
from stoker.settings import ObjectSettings


class Site(Struct, frozen=True):
    """A Prometheus or PrometheusAgent as users wrote it, as generators see it, and the flags."""

    workload: AnyPrometheus
    scraper: Scraper
    settings: ObjectSettings


class TlsAssets(Struct, frozen=True):
    """The Secrets `<name>-0`, `<name>-1`, … that hold the files behind references."""

    name: str
    shards: int
