"""Gives the agents on nodes their portions: who asks, what is theirs, and how it is said.

    watches ──stock──> portions of each agent ──stream──> one connection for each pod
                                                  ^
    door ──> request ──> token ──> pod, its node ─┘

One thread works with the portions, so that the event loop serves everybody else; texts are made
when they are sent. No portion is sent before all that it is made of is known.
"""
