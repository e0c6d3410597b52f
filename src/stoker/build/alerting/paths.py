"""Where things lie in the containers of Alertmanager, and what their volumes are called."""

from typing import Final

CONFIG: Final = "/etc/alertmanager/config"
CONFIG_KEY: Final = "alertmanager.yaml.gz"
"""The key of the Secret that holds the packed configuration."""

EXPANDED: Final = "/etc/alertmanager/config_out"
CONFIG_FILE: Final = f"{EXPANDED}/alertmanager.env.yaml"
"""The configuration as Alertmanager reads it, unpacked and with variables put in."""

CERTIFICATES: Final = "/etc/alertmanager/certs"
SECRETS: Final = "/etc/alertmanager/secrets"
CONFIG_MAPS: Final = "/etc/alertmanager/configmaps"
TEMPLATES: Final = "/etc/alertmanager/templates"
WEB_CONFIG: Final = "/etc/alertmanager/web_config"
CLUSTER_TLS: Final = "/etc/alertmanager/cluster_tls_config"

CONFIG_VOLUME: Final = "config-volume"
TEMPLATES_VOLUME: Final = "notification-templates"
