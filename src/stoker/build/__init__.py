"""Typed resources to the Kubernetes objects of a workload; pure functions."""
