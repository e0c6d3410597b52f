"""Why a resource is scraped or not, in words, the same for a terminal, a page and programs.

    View ──selecting──> by workload ──plan──> verdicts ──targets, access──> Explanation

A `View` (`stoker.view`) is what can be seen of a cluster or of a directory. What else it takes
(Services, pods, permissions) is asked through `Surroundings`, so that a shell reads only what is
needed.
"""
