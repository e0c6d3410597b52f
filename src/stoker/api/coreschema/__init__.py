"""Schemas of Kubernetes' own types as data; `python -m tools.coreschema` refreshes them."""
