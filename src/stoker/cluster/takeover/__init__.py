"""What becomes of a cluster that prometheus-operator looks after, if we take over; only read."""
