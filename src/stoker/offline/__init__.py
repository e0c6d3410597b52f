"""The offline shell: files in a directory take the place of a cluster."""
