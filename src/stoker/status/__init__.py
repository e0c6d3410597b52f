"""Outcomes to conditions, numbers and bindings; pure functions."""
