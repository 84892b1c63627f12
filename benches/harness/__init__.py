"""Runs peers in turn against one private server, checks their work and compares them. It knows no question and no peer."""
