"""AlertmanagerConfig in its two versions.

    intervals, routing            time intervals; routes, matchers, inhibition rules
    receivers                     what all integrations share
    chat, paging, delivery        the integrations, as far as both versions agree
    v1alpha1, v1beta1             the kinds, and nothing but what is different in each

A value keeps its JSON in the other version unless `v1alpha1` says otherwise.
"""

from typing import Final

from stoker.api.amconfig import v1alpha1, v1beta1
from stoker.api.common import RESOURCE_COLUMNS
from stoker.api.crd import Kind, KindVersion

ALERTMANAGER_CONFIG: Final = Kind(
    name="AlertmanagerConfig",
    plural="alertmanagerconfigs",
    short="amcfg",
    versions=(
        KindVersion("v1alpha1", v1alpha1.AlertmanagerConfig, columns=RESOURCE_COLUMNS),
        KindVersion("v1beta1", v1beta1.AlertmanagerConfig, storage=False, columns=RESOURCE_COLUMNS),
    ),
)
