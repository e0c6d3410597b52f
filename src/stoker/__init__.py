"""stoker: a Prometheus Operator."""

__version__ = "0.1.0"
