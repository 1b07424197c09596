"""The passes that keep engines from faults of whole loops or models; a fault names its pass."""
