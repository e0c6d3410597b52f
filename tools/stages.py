"""How fake pods come to life: at once, unless somebody else is to say when they are ready.

kwok says that a pod is ready as soon as it has a node. Where that is not honest, as the pod really
runs (see ``podrunner``), an annotation in its template keeps kwok from it: the pod gets its address
and is Running, but it is ready only when somebody writes so into its status.

And nobody is at home at the node `dead`: it is never Ready, and its pods neither start nor end.
"""

from __future__ import annotations

from pathlib import Path

READINESS = "pods.stoker.dev/readiness"
"""The annotation of a pod whose readiness is told by whoever runs it; its value is `told`."""

DEAD = "dead"
"""The name of a node that kwok does not play."""

_STAGES = "stages.yaml"
_TOLD = f'{{{{ if eq "told" (get (or .metadata.annotations dict) "{READINESS}") }}}}'
_CONDITIONS = ("Ready", "ContainersReady")


def write_stages(original: Path, directory: Path) -> Path:
    """Write kwok's own stages with this exception; where they are."""
    text = original.read_text()
    for kind in _CONDITIONS:
        ready = f'status: "True"\n        type: {kind}\n'
        if text.count(ready) != 1:
            raise ValueError(f"{original} does not say once when a pod is {kind}")
        told = f'status: {_TOLD}"False"{{{{ else }}}}"True"{{{{ end }}}}\n        type: {kind}\n'
        text = text.replace(ready, told)
    path = directory / _STAGES
    path.write_text("---".join(map(_without_the_dead, text.split("---"))))
    return path


def _without_the_dead(stage: str) -> str:
    """A stage that leaves out the dead node, or what is on it."""
    key = ".metadata.name" if "kind: Node\n" in stage else ".spec.nodeName"
    every = "    matchExpressions:\n"
    other = f"    - key: '{key}'\n      operator: 'NotIn'\n      values:\n      - '{DEAD}'\n"
    return stage.replace(every, every + other)
