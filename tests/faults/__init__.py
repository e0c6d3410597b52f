"""The fault campaign: the state of a run with faults is the state of a run without.

`python -m tests.faults --help` tells how it is run.
"""
