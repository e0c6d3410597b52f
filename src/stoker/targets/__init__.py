"""Which targets a scrape job has, worked out from Kubernetes' objects as Prometheus does it.

    objects ──groups──> candidates ──steps──> targets, or the step that dropped a candidate

A job is what the generator writes. What is kept of an object is what becomes a label; a group of
candidates is a function of one object and of those it refers to, so that one change concerns few.
"""
