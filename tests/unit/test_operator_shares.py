"""Which changes a workload takes up now, and which wait."""

from stoker.operator.changes import Changes
from stoker.operator.shares import RATE, Shares
from stoker.ref import Ref


class World:
    """A workload, a clock, and what is dear."""

    def __init__(self, *dear: str) -> None:
        self.now = 100.0
        self.shares = Shares(lambda key: key.name in dear, lambda: self.now)

    def passed(self, changes: Changes, seconds: float) -> tuple[set[str], Changes]:
        """One pass: what it took up, which takes so long for each, and what is left."""
        now, later, wait = self.shares.divide(changes)
        if not now:
            self.now += wait
            return set(), later
        taken = {each.name for each in now.resources} | {each.name for each in now.values}
        spent = seconds * max(1, len(taken))
        self.now += spent
        self.shares.charge(now, spent, spent)
        return taken, later


def changed(*names: str, namespace: str = "evil") -> set[Ref]:
    """Monitors of these names."""
    return {Ref("ServiceMonitor", namespace, name) for name in names}


def test_what_comes_alone_is_taken_up_at_once() -> None:
    """Also if it is dear, and also a workload itself."""
    world = World("dear")
    assert world.passed(Changes(resources=changed("a", "b")), 0.01) == ({"a", "b"}, Changes())
    assert world.passed(Changes(resources=changed("dear")), 0.3) == ({"dear"}, Changes())
    now, later, _ = world.shares.divide(Changes(own=True, drifted=True))
    assert (now.own, now.drifted, bool(later)) == (True, True, False)


def test_dear_ones_come_after_the_others_and_one_by_one() -> None:
    """Who came with them does not wait for them, and they do not wait for ever."""
    world = World("one", "two")
    changes = Changes(resources=changed("one", "two") | changed("web", namespace="shop"))
    world.passed(Changes(resources=changed("one")), 0.01)
    taken, rest = world.passed(changes, 0.01)
    assert taken == {"web"}
    taken, rest = world.passed(rest, 0.1)
    assert len(taken) == 1
    last, rest = world.passed(rest, 0.1)
    assert taken | last == {"one", "two"}
    assert not rest
    world.now += 2
    taken, _ = world.passed(changes, 0.1)
    assert len(taken) == 2


def test_who_has_few_changes_does_not_wait_for_who_has_many() -> None:
    """These come next, all at once."""
    world = World()
    world.passed(Changes(resources=changed(*map(str, range(9)))), 0.001)
    many = changed(*map(str, range(300)))
    taken, rest = world.passed(Changes(resources=many | changed("web", namespace="shop")), 0.001)
    assert taken == {"web"}
    assert len(world.passed(rest, 0.001)[0]) == 300


def test_of_dear_ones_that_of_who_used_least_is_first() -> None:
    """A large rule of a team does not wait for all large ones of another."""
    world = World(*"abcdef", "large")
    rest = Changes(resources=changed(*"abcdef"))
    _, rest = world.passed(rest, 0.2)
    rest.resources |= changed("large", namespace="shop")
    assert world.passed(rest, 0.2)[0] == {"large"}


def test_who_changes_something_all_the_time_has_a_part_of_the_time() -> None:
    """And who has a change now and then never waits."""
    for dear, seconds in (((), 0.05), (("flood",), 0.4)):
        world = World(*dear)
        begun, used, waited = world.now, 0.0, 0.0
        rest = Changes()
        for step in range(4000):
            rest.merge(Changes(resources=changed("flood")))
            if step % 40 == 0:
                rest.merge(Changes(values={Ref("Secret", "shop", "calm")}))
            before = world.now
            taken, rest = world.passed(rest, seconds)
            used += world.now - before if taken == {"flood"} else 0
            waited += Ref("Secret", "shop", "calm") in rest.values
        assert waited == 0
        assert used < (RATE + 0.1) * (world.now - begun)


def test_nobody_waits_for_long() -> None:
    """A namespace whose allowance is used up has a turn soon, with all its changes at once."""
    world = World()
    for step in range(200):
        world.passed(Changes(resources=changed(f"m-{step}")), 0.1)
    many = Changes(resources=changed(*map(str, range(50))))
    _, _, wait = world.shares.divide(many)
    assert 0 <= wait <= 1
    world.now += 1
    assert len(world.shares.divide(many).now.resources) == 50


def test_accounts_that_are_balanced_are_forgotten() -> None:
    """A workload remembers who is in its debt, and nobody else."""
    world = World()
    world.passed(Changes(resources=changed("a")), 0.1)
    world.now += 60
    world.passed(Changes(resources=changed("b", namespace="shop")), 0.1)
    assert list(world.shares._accounts) == ["shop"]


def test_a_server_that_is_slow_is_nobodys_doing() -> None:
    """A pass that waited for its answers keeps nobody from the next one."""
    world = World()
    taken = Changes(resources=changed("a"))
    for _ in range(3):
        world.now += 60
        world.shares.charge(taken, 0.05, 60)
    assert world.shares.divide(taken).now == taken
