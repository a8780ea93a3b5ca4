"""Writes scikit-learn's handwritten digits, 8 × 8 pixels from 0 to 1, as data/train.parquet and data/test.parquet.

    python examples/digits/make_data.py [FOLDER]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.datasets import load_digits

HELD_OUT = 297


def main(folder: Path) -> None:
    digits = load_digits()
    order = np.random.default_rng(0).permutation(len(digits.target))
    pixels = (digits.images[order] / 16).astype(np.float32).reshape(len(order), -1)
    labels = digits.target[order].astype(np.int32)
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in (("test", slice(HELD_OUT)), ("train", slice(HELD_OUT, None))):
        flat = pa.array(pixels[rows].reshape(-1))
        table = pa.table({"pixels": pa.FixedSizeListArray.from_arrays(flat, 64), "label": labels[rows]})
        pq.write_table(table, folder / f"{name}.parquet")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "data")
