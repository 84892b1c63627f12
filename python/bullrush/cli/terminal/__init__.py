"""What the commands share: their options, what they print, what they ask, and how they end."""
