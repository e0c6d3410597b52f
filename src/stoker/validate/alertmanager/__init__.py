"""What Alertmanager would take of an AlertmanagerConfig."""
