"""Validation of models: rules, the engine that runs them, and their shared context."""
