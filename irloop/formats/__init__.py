"""The file formats; nothing outside these packages knows how a file looks."""
