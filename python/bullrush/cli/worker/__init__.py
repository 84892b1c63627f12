"""``bullrush worker``: runs workers by their import path."""
