"""The status page as values: what it answers, before anybody serves it.

    workloads, verdicts ──workloads──> states of a resource ──index──> lists, counts, search
                        └─overview─> rows        └──parts──> the configuration, secrets masked

Shells (`offline.pages`, `operator.pages`) know the objects and the verdicts, and when they change;
here answers are made of them. Nothing in an answer comes from a Secret: texts are written with
assets that only name such values (`view.masked.Masked`).
"""
