"""A real Kubernetes control plane for tests and for trying things out, without containers.

``tools.build`` compiles the servers from their Go modules into a cache, ``tools.cluster`` runs
them as one unit that leaves nothing behind, ``tools.up`` and ``tools.down`` keep such a cluster
running between commands. Nothing here is part of the operator itself.
"""
