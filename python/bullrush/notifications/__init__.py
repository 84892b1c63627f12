"""Messages between programs: hints that something may have happened."""

from bullrush.notifications.notifications import Notifications

__all__ = ["Notifications"]
