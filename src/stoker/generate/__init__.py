"""Typed resources to text: what Prometheus reads."""
