"""Runs peers in turn against one private server, checks and compares their work. It knows no question and no peer."""
