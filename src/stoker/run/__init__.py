"""The loops of the running operator: watches in, applies out."""
