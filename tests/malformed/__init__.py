"""Malformed models, made on demand: what stands in them and what irloop has to say."""
