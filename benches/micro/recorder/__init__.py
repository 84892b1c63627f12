"""What a recorder costs, and how much it can keep."""
