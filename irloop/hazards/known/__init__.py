"""The hazards, one file each."""
