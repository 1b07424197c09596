"""Validation of models: the rules, the engine that runs them, and the context that they share."""
