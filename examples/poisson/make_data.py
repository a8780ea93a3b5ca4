"""Writes 2,000 points of [0, 1] as data/train.parquet.

    python examples/poisson/make_data.py [FOLDER]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    points = np.random.default_rng(0).random(2_000).astype(np.float32)
    pq.write_table(pa.table({"x": points}), folder / "train.parquet")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "data")
