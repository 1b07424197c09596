"""What operations are, in each of the two dialects."""
