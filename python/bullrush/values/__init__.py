"""Values that users give: checks, names, JSON."""
