"""Pictures of graphs with nested bodies: DOT text, and SVG with its own layout."""
