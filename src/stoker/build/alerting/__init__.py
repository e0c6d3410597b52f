"""The Kubernetes objects of Alertmanager and ThanosRuler."""
