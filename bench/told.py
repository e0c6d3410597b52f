"""The other process of `bench replaced`: the API server (`tests.told`) and the crowd that asks."""

import threading
import time
from functools import partial
from multiprocessing.connection import Connection
from typing import NamedTuple

from bench.crowd import Crowd
from bench.toldworld import ToldWorld
from tests.told import ToldObjects
from tools.waiting import until


class CrowdKnows(NamedTuple):
    """How many clients were told what they have, what was not as agreed, and if all is replaced."""

    told: int
    problems: list[str]
    replaced: bool


def tell(pipe: Connection, nodes: int, pods: int, apart: float) -> None:
    """Be the API server and the crowd; do what comes by the pipe until nothing does.

    ("listen", port, authority)  have the clients connect
    ("replace", numbers)         replace so many pods, with the events so many seconds apart
    ("state",)                   answered by `CrowdKnows`
    """
    world = ToldWorld(nodes, pods)
    server = ToldObjects(world.all)
    pipe.send(f"http://127.0.0.1:{server.port}")
    _, port, authority = pipe.recv()
    with Crowd(port, authority, world.tokens) as crowd:
        replacing = threading.Thread()
        while asked := pipe.recv():
            if asked[0] == "replace":
                work = partial(_replace, world, server, crowd, asked[1], apart)
                replacing = threading.Thread(target=work, daemon=True)
                replacing.start()
            else:
                pipe.send(CrowdKnows(crowd.told_since(0), crowd.problems, not replacing.is_alive()))


def _replace(
    world: ToldWorld, server: ToldObjects, crowd: Crowd, numbers: list[int], apart: float
) -> None:
    for number in numbers:
        name = f"new-{number}"
        crowd.expect(name)
        for step in world.replaced(number * 7919 % world.count, name):
            for event in step:
                server.tell(*event)
            time.sleep(apart)
        until("the node to have it", partial(crowd.arrived.get, name))
