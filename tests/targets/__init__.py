"""Targets and relabelings as we work them out, with a real Prometheus as the judge."""
