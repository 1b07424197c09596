"""Malformed models, generated on demand, and the findings that irloop must report for them."""
