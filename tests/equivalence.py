"""Whether the job of a monitor and the jobs of its ScrapeConfigs do the same.

Both are made by the generator and read as YAML; then they must be equal, member by member and step
by step. These are the only differences, and why they are none:

- `job_name`: the job is another's. Where a user's steps can see the name, a step restores it.
- the `job` label of a Probe, which Prometheus fills with `job_name`: a step restores it.
- an `action` of `replace` and a `regex` in quotes: what Prometheus takes it for otherwise.
- `bearer_token`: Prometheus itself turns it into `authorization` when it loads the file.
- certificates are verified unless the settings say otherwise.
- namespaces and targets that are listed twice are listed once.
- the enforced namespace is among the steps of a ScrapeConfig, and set once more after them.
- the division among shards is added by the generator: for one shard it keeps everything, and for
  several it is the same but for a Probe, whose ScrapeConfig chooses the value to hash before.
"""

from typing import Any, Final

from stoker.api.monitors import Probe, ServiceMonitor
from stoker.consolidate import Consolidated, Inexpressible, consolidated, terms_of
from stoker.consolidate.configs import Consolidable
from stoker.generate.draft import ScraperDraft
from stoker.generate.prometheus import fragment
from stoker.generate.relabel import namespace_steps
from stoker.generate.sharding import PROBED, divided, sharding_steps
from stoker.select.assets import Assets
from stoker.select.workload import Scraper
from stoker.yamltree import parse

JOB_NAME: Final = {
    "source_labels": ["job"],
    "target_label": "__tmp_prometheus_job_name",
    "action": "replace",
}


def differences(
    monitor: Consolidable, workload: Scraper, assets: Assets
) -> list[Any] | Consolidated:
    """Pairs of jobs that are not the same; or why there are no ScrapeConfigs to compare with."""
    terms = terms_of(workload)
    if isinstance(terms, Inexpressible):
        return Consolidated(problems=(terms,))
    made = consolidated(monitor, terms)
    if made.problems:
        return made
    before = jobs_of(monitor, workload, assets)
    after = [job for each in made.configs for job in jobs_of(each, workload, assets)]
    assert len(before) == len(after) == len(made.configs)
    draft = ScraperDraft(workload, assets, monitor.metadata.namespace or "")
    pairs = []
    owns = _own_steps(monitor)
    for one, other, own, made_of in zip(before, after, owns, made.configs, strict=True):
        name = one["job_name"]
        enforced = namespace_steps("scrapeconfigs", made_of.metadata, draft)
        config = _of_config(other, name, monitor, draft, _plain_steps(enforced))
        config = _without_name(config, name if own else "")
        pairs.append((_of_monitor(one, monitor, draft), config))
    return [pair for pair in pairs if pair[0] != pair[1]]


def jobs_of(resource: Any, workload: Scraper, assets: Assets) -> list[Any]:
    """The jobs that the generator writes for a resource, read again."""
    made = fragment(resource, workload, assets)
    assert made.problem is None
    jobs: list[Any] = parse(made.text) if made.text else []
    return jobs


def _of_monitor(job: dict[str, Any], monitor: Consolidable, draft: ScraperDraft) -> dict[str, Any]:
    job = _plain(job)
    probed = isinstance(monitor, Probe)
    division = sharding_steps(draft, PROBED, zoned=False) if probed else sharding_steps(draft)
    steps, last = _cut(job["relabel_configs"], len(division))
    assert last == _plain_steps(division)
    return job | {"relabel_configs": steps}


def _of_config(
    job: dict[str, Any], name: str, monitor: Consolidable, draft: ScraperDraft, enforced: list[Any]
) -> dict[str, Any]:
    job = _plain(job)
    added = enforced + _plain_steps(divided([], draft))
    steps, last = _cut(job["relabel_configs"], len(added))
    assert last == added
    if isinstance(monitor, Probe):
        hashed = _plain_steps(sharding_steps(draft, PROBED, zoned=False))
        *steps, own = steps
        assert own in hashed
        fallback = {"target_label": "job", "replacement": name, "action": "replace"}
        if not monitor.spec.job_name:
            steps.remove(fallback)
    return job | {"relabel_configs": steps}


def _own_steps(monitor: Consolidable) -> list[bool]:
    """Whether a user's steps can see the name of each job."""
    spec: Any = monitor.spec
    if not isinstance(monitor, Probe):
        found = (
            spec.endpoints if isinstance(monitor, ServiceMonitor) else spec.pod_metrics_endpoints
        )
        return [bool(each.relabelings) for each in found or ()]
    targets = spec.targets.static_config or spec.targets.ingress
    return [bool(targets.relabeling_configs)]


def _without_name(job: dict[str, Any], name: str) -> dict[str, Any]:
    """A job without the step that restores the name, which must be there if there is a name."""
    first, *others = job["relabel_configs"]
    assert first == JOB_NAME
    if name:
        restored = {"target_label": JOB_NAME["target_label"], "replacement": name}
        assert others[0] == restored | {"action": "replace"}
        del others[0]
    return job | {"relabel_configs": [first, *others]}


def _cut(steps: list[Any], count: int) -> tuple[list[Any], list[Any]]:
    place = len(steps) - count
    return list(steps[:place]), list(steps[place:])


def _plain(job: dict[str, Any]) -> dict[str, Any]:
    """A job without what means nothing."""
    made = {name: value for name, value in job.items() if name != "job_name"}
    for name in ("relabel_configs", "metric_relabel_configs"):
        if name in made:
            made[name] = _plain_steps(made[name])
    if "bearer_token" in made:
        token = made.pop("bearer_token")
        made["authorization"] = {"type": "Bearer", "credentials": token}
    if made.get("tls_config", {}).get("insecure_skip_verify") is False:
        del made["tls_config"]["insecure_skip_verify"]
    for each in made.get("kubernetes_sd_configs", ()):
        if "namespaces" in each:
            each["namespaces"]["names"] = list(dict.fromkeys(each["namespaces"]["names"]))
        asked = [one for one in each.pop("selectors", ()) if one.get("label") or one.get("field")]
        each.update({"selectors": asked} if asked else {})
    for each in made.get("static_configs", ()):
        each["targets"] = list(dict.fromkeys(each["targets"]))
    return made


def _plain_steps(steps: list[Any]) -> list[Any]:
    return [
        {"action": "replace", **each} | ({"regex": str(each["regex"])} if "regex" in each else {})
        for each in steps
    ]
