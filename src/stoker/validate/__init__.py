"""What is acceptable: chains of small checks, each of which yields findings."""
