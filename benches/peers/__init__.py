"""The compared programs, each its own process that exchanges lines of text with the harness."""
