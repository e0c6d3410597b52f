"""The commands, one module each: `arguments` declares the options, `run` does the work.

The docstring of a module is the text of its `--help`. What is heavy to import is imported in `run`,
so that help is instant.
"""
