"""The commands of `stoker`, one module each.

A command module says what it is (`SUMMARY`), what it takes (`arguments`) and does it (`run`, which
returns the exit status). It imports what it needs when it runs, so that `stoker --help` is instant.
"""
