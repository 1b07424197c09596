"""Known faults of engines, one file each: recognition, repair and the smallest model with it."""
