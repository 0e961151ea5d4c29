"""`python -m consolidator` is `consolidate`."""

import sys

from consolidator.cli import main

if __name__ == "__main__":
    sys.exit(main())
