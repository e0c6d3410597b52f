"""Moved: see `select.choice` and `validate.verdicts`."""

from stoker.select.choice import *  # noqa: F403
from stoker.validate.verdicts import *  # noqa: F403
