"""Measurements, as ratios within one run: `make bench`. Never part of the tests."""
