"""What becomes of a PrometheusAgent in its other mode, before anything is changed.

    manifest, World ──> fields   what must go, and the manifest that is left
                    ──> targets  who else scrapes, and who scrapes no longer
                    ──> steps    what to do, in order
                    ──> text     the manifest as its owner wrote it, comments and all

Everything here is a pure function; `stoker migrate agent-mode` reads and prints.
"""
