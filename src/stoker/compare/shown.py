"""The configuration of a workload as people may see it: values of Secrets are named, not shown.

It is the text of the status page (`stoker.view.configuration`) in one piece, without the rules,
which are compared file by file.
"""

from collections.abc import Mapping
from typing import Any

from stoker.api.alertmanager import Alertmanager
from stoker.errors import StokerError
from stoker.ref import Ref, by_path
from stoker.select.assets import Assets
from stoker.select.choice import RULE_KIND, Resource
from stoker.select.workload import Workload
from stoker.validate.verdicts import Verdict
from stoker.view.configuration import Layout, Materials, layout_of, title_at
from stoker.view.view import View


def shown_text(
    view: View,
    workload: Workload,
    verdicts: Mapping[Ref, Verdict],
    contents: Any,
    before: Assets | None = None,
) -> str:
    """The configuration; empty where there is none, a remark where it cannot be shown.

    Values that are not those of `before` are marked.
    """
    accepted = (key for key, each in verdicts.items() if each.accepted)
    used = sorted((key for key in accepted if key.kind != RULE_KIND.name), key=by_path)

    def find(ref: Ref) -> Resource | None:
        found: Resource = verdicts[ref].resource
        return found

    materials = Materials(
        used=used,
        find=find,
        assets=view.assets,
        before=before,
        capabilities=view.capabilities,
        rule_files=max(len(getattr(contents, "rule_files", ())), 1),
        stand_ins=view.stand_ins,
    )
    try:
        layout = layout_of(workload, materials)
    except StokerError as error:
        return f"# the configuration cannot be shown without the values of Secrets: {error}\n"
    return _titled(layout) if isinstance(workload, Alertmanager) else _joined(layout)


def _joined(layout: Layout) -> str:
    return "".join(map(layout.text, layout.places))


def _titled(layout: Layout) -> str:
    """Alertmanager gets its parts merged; one below the other, each needs its name."""
    return "".join(f"# {title_at(each)}\n{layout.text(each)}" for each in layout.places)
