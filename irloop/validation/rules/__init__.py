"""validation/rules."""
