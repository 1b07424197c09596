"""How an operation is said in the other dialect; `pipelines` has the two directions."""
