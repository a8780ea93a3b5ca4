"""The compiled programs of these tests run as those of the passes' tests do."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "passes"))
