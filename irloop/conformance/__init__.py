"""A conformance suite for loops: small models, and the numbers that the specifications ask for."""
