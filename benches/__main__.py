"""``python -m benches``: asks the questions and prints the answers; ``--help`` shows what can be chosen."""

import sys

from benches.command import main

if __name__ == "__main__":
    sys.exit(main())
