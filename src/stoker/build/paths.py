"""Where things lie in the containers of Prometheus, and what the volumes they lie on are called."""

from typing import Final

DATA: Final = "/prometheus"
DATA_SUB_PATH: Final = "prometheus-db"
"""The directory of a user's volume that holds the data: its root may have a `lost+found`."""

CONFIG: Final = "/etc/prometheus/config"
EXPANDED: Final = "/etc/prometheus/config_out"
CONFIG_FILE: Final = f"{EXPANDED}/prometheus.env.yaml"
"""The configuration as Prometheus reads it, unpacked and with variables put in."""

SECRETS: Final = "/etc/prometheus/secrets"
CONFIG_MAPS: Final = "/etc/prometheus/configmaps"
WEB_CONFIG: Final = "/etc/prometheus/web_config"

CONFIG_VOLUME: Final = "config"
EXPANDED_VOLUME: Final = "config-out"
CERTIFICATES_VOLUME: Final = "tls-assets"
LOGS_VOLUME: Final = "log-file"

WEB_PORT: Final = 9090
