"""What can be known of a graph without running it, for passes, faults and conversion."""
