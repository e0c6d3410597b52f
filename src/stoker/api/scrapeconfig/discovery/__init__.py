"""Service discovery for a ScrapeConfig: each class asks one kind of system which targets exist.

The modules hold the classes by subject, as those in `stoker.generate.discovery` hold their tables.
All versions of ScrapeConfig use these classes.
"""
