"""What would change: two states of a cluster or of folders, compared workload by workload.

    View ──plan──> Planned ─┐
                            ├─> Change: objects, configuration, selection, and whether pods roll
    View ──plan──> Planned ─┘   or what is in the cluster

    plan.py      the objects that a state makes of a workload, as the operator would write them
    shown.py     its configuration with values of Secrets named instead of shown
    objects.py   two states of one object: where they differ, and how that looks
    lines.py     two texts as a unified diff
    change.py    all of it for one workload, and in one sentence
    consolidated.py  the ScrapeConfigs that are kept in place of monitors, for all workloads
    overlay.py   a state with manifests on top of it

And what happens if we take over what another operator wrote:

    handover.py  a workload as it is: pods, objects, and what the two judge otherwise
    taken.py     what an operator took, as the objects tell that it wrote
    defaults.py  what an API server fills in, which is no difference
    definitions.py  the definition of a kind beside ours, field by field

All of it is pure.
"""
