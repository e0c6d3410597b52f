"""What Go reads: regular expressions and templates, judged as Go's own packages judge them.

Prometheus, Alertmanager and Thanos are written in Go, and one text that its parser refuses stops a
whole file. Nothing here compiles or runs what a user wrote: texts are parsed, in time proportional
to their length. `tests/judge.py` asks Go itself.
"""
