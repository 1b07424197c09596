"""What engines get wrong, one file a hazard: for conversion, validation and documentation."""
