"""``python -m benches``: runs the benchmarks and prints the results; ``--help`` shows the options."""

import sys

from benches.command import main

if __name__ == "__main__":
    sys.exit(main())
