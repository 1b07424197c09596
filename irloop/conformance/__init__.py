"""A conformance suite for loops: small models with the results that the specifications demand."""
