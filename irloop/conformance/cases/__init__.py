"""The conformance cases, grouped by topic: each file has the cases of one operator or feature."""
