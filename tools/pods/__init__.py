"""The parts of the pod runner; see :mod:`tools.podrunner`."""
