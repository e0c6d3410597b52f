"""Rules in CEL, asked from several threads: the operator judges workloads side by side."""

import subprocess
import sys

_ASKED_AT_ONCE = """
import threading
from stoker.api.cel import holds

together = threading.Barrier(16)
answers = []

def ask(number):
    together.wait()
    for turn in range(50):
        answers.append(holds(f"self.a == {number} || self.a == {turn}", {"a": number}))

threads = [threading.Thread(target=ask, args=(number,)) for number in range(16)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert answers == [True] * 800, len(answers)
shared = [holds("self.a == 1 || self.a == 0", {"a": 1}) for _ in range(3)]
assert shared == [True] * 3
"""


def test_rules_may_be_asked_from_many_threads_at_once() -> None:
    """In a process of its own, in which nothing is loaded yet: loading it twice ends a process."""
    done = subprocess.run(
        [sys.executable, "-c", _ASKED_AT_ONCE], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
