"""What a recorder has written, for the pages, and a recorder of the dashboard's own."""

from bullrush.dashboard.history.memory import Memory
from bullrush.dashboard.history.rates import Rates
from bullrush.dashboard.history.recording import Recording, usual_file

__all__ = ["Memory", "Rates", "Recording", "usual_file"]
