"""What is read of a cluster: by commands (explain, diff, migrate), and by the operator."""
