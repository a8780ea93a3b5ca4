"""The reference generator of random words is that of the passes' tests, the central differences those of operations."""

import sys
from pathlib import Path

sys.path += [str(Path(__file__).parents[1] / folder) for folder in ("passes", "ops")]
