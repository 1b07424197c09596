"""Operations that read, move or combine parts of tensors, in the other dialect."""
