"""A conformance suite for loops.

It consists of small models and the results that the specifications demand.
"""
