"""Pictures of graphs, bodies nested: DOT text, and SVG laid out without any other program."""
