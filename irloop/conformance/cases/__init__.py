"""The cases: one file for each operator and group of features."""
