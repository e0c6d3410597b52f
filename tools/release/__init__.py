"""Makes a release: `make release VERSION=1.2.3`. See docs/releasing.md."""
