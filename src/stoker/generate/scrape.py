"""Scrape jobs of ServiceMonitors, PodMonitors and Probes, from one place."""

from stoker.generate.podmonitor import pod_monitor_jobs
from stoker.generate.probe import probe_job
from stoker.generate.servicemonitor import service_monitor_jobs

__all__ = ["pod_monitor_jobs", "probe_job", "service_monitor_jobs"]
