"""What applies to a workload: namespaces and labels, references, and who must wake."""
