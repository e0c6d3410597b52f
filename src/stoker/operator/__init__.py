"""The running operator: caches, triggers, queues, the writer, statuses."""
