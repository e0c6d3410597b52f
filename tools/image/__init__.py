"""Makes the image without a container engine or a base image: `make image`. See docs/image.md."""
