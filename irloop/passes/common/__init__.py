"""passes/common."""
