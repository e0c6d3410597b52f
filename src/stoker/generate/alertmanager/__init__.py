"""AlertmanagerConfigs, or a user's own file, to `alertmanager.yaml`."""
