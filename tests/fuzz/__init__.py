"""Resources that nobody thought of, sent through selection and generation: see `__main__`."""
