"""The file formats; only these packages know what the files look like."""
