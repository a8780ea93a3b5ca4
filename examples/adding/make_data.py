"""Writes 5,000 sequences of the adding problem as data/train.parquet.

    python examples/adding/make_data.py [FOLDER]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROWS, LENGTH = 5_000, 30


def main(folder: Path) -> None:
    rng = np.random.default_rng(0)
    sequence = np.zeros((ROWS, LENGTH, 2), np.float32)
    sequence[:, :, 0] = rng.random((ROWS, LENGTH))
    marked = np.stack([rng.integers(0, LENGTH // 2, ROWS), rng.integers(LENGTH // 2, LENGTH, ROWS)], 1)
    np.put_along_axis(sequence[:, :, 1], marked, 1.0, 1)
    sums = (sequence[:, :, 0] * sequence[:, :, 1]).sum(1)
    folder.mkdir(parents=True, exist_ok=True)
    flat = pa.FixedSizeListArray.from_arrays(pa.array(sequence.reshape(-1)), LENGTH * 2)
    pq.write_table(pa.table({"sequence": flat, "sum": sums}), folder / "train.parquet")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "data")
