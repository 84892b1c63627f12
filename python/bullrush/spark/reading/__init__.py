"""Jobs as DataFrames."""
