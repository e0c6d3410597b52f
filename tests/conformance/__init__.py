"""The peer's recorded behaviour, replayed through stoker's own functions."""
