"""A conformance suite for loops, which consists of small models and the results that the
specifications demand.
"""
