"""Two states that are known whole, such as two folders, compared."""

from stoker.compare.change import Comparison, change_of
from stoker.compare.consolidated import StandIns
from stoker.compare.plan import planned
from stoker.ref import ref_of
from stoker.view.view import View


def changes_between(before: View, after: View) -> Comparison:
    """What happens to each workload that something happens to, in the order of kinds and names."""
    old = {ref_of(each): each for each in before.workloads}
    new = {ref_of(each): each for each in after.workloads}
    found, stand_ins = [], StandIns()
    for key in sorted(old.keys() | new.keys()):
        one = planned(before, old[key]) if key in old else None
        other = planned(after, new[key], before=before.assets) if key in new else None
        stand_ins.gather(one, other)
        change = change_of(one, other)
        if not change.is_nothing:
            found.append(change)
    return Comparison(tuple(found), consolidated=tuple(stand_ins.changes()))
