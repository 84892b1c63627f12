"""``python -m bullrush`` is the command ``bullrush``."""

import sys

from bullrush.cli import main

if __name__ == "__main__":
    sys.exit(main())
