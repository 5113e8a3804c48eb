"""One module for each kind of case.

NEEDS_NET   whether a worker stands in namespaces of its own
later()     why a case cannot run against this build yet, or None
groups()    cases -> groups that share what is dear to set up; {"cases": [...], ...}
run_group() a group -> [(id, "passed" | "failed" | "later", text)]
"""
