"""Operations on single elements in the other dialect."""
