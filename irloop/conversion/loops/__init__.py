"""Loop, TensorIterator, Scan, If, sequences and recurrent operations in the other dialect."""
