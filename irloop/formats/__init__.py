"""The file formats; only these packages know the structure of the files."""
