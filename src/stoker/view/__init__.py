"""What explanations, pages and differences share: what can be seen, and how it is said.

view.py, listing.py   what a shell can see of a cluster or a directory, and what it may ask for
objects.py            Services, pods and all else around our kinds, as far as we read them
shelves.py, sorted.py the same by labels and namespaces, where thousands of resources ask
states.py             what a workload makes of a resource, as words
not_ours.py reconciled.py doubts.py rivals.py   what there is to say of a workload, whoever asks
configuration.py masked.py   a configuration in parts, in which values of Secrets are only named
wording.py            selectors and numbers in words
"""
