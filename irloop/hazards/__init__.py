"""Known faults of engines, one file per hazard, for conversion, validation and documentation."""
