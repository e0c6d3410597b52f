"""Which part of an agent's configuration each node gets, worked out as far as somebody asks.

    objects ──whereabouts──> what is on a node ──candidates──> targets of its jobs ──> files

A change of one object is noted with the nodes that it concerns, and looked at when one of these is
asked for: on that node alone, for the jobs whose discovery sees the object. Of the targets nothing
is kept but from which objects they come and a digest of their file; texts are made when they are
sent.
"""
