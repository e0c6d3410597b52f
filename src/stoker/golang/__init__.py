"""What Go reads: regular expressions and templates, judged as Go's own packages judge them.

Prometheus, Alertmanager and Thanos are written in Go, and one text that its parser refuses stops a
whole file. Nothing here compiles or runs what a user wrote: texts are parsed, in time proportional
to their length. `tests/judge.py` asks Go itself.

    `Go` is a version of it, such as `(1, 26)`: its parsers changed over the years.
"""

from typing import Final, TypeAlias

Go: TypeAlias = tuple[int, int]

NEWEST: Final[Go] = (1, 26)
NEWEST_MATCHERS: Final[Go] = (1, 24)
"""What reads matchers of the newest Prometheus: it has a copy of Go's parser, which lags behind."""
