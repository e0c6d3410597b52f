"""Takeovers of whole namespaces on a real control plane: what of the peer's stays, and what goes.

A world is a namespace as in `../shared/worlds`: what is `given`, and what the peer made of it. The
peer's part is either recorded or made by its own process. `python -m tests.takeover --help` tells
what can be tried.
"""
