"""The pages: each reads what it shows, and returns it as an answer."""
