"""What users write: the ten kinds, declared once.

Each kind is a set of `msgspec` Structs. Decoding, the OpenAPI schema, CEL rules, the CRD
manifests and the reference pages all read the same declaration; see `declare` for its grammar.
"""
