"""The pass library: one file a pass, what it is given and what results drawn in it."""
