"""What the checks of an AlertmanagerConfig may use: a version, values, and a policy for files.

Without a reading (None), a check is one of the object alone: a webhook knows neither the
Alertmanager that will read it nor the Secrets.
"""

from collections.abc import Sequence

from stoker.limits import Limits
from stoker.select.assets import Assets
from stoker.validate.reading import CheckReading
from stoker.version import Version, parse_version

UTF8_NAMES = "0.27.0"
CLASSIC = "classic-mode"


class AlertReading(CheckReading):
    """The Alertmanager that asks, the namespace of the object, and the values behind references."""

    def __init__(  # noqa: PLR0913 - what an Alertmanager is, and all that it allows
        self,
        version: Version,
        assets: Assets,
        namespace: str,
        *,
        features: Sequence[str] = (),
        deny_files: bool = False,
        limits: Limits | None = None,
    ) -> None:
        super().__init__(version, assets, namespace, limits)
        self.limits = limits
        self.deny_files = deny_files
        self._features = features

    @property
    def utf8_names(self) -> bool:
        """Whether Alertmanager takes any character in the name of a label."""
        return self.version >= parse_version(UTF8_NAMES) and CLASSIC not in self._features
