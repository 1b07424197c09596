"""The schemas, shipped as data."""
