"""What the operator serves over HTTP: metrics, health."""
