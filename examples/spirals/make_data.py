"""Write 3,000 points of three noisy spirals to train on and 500 held out, the same each time.

    python make_data.py [FOLDER]            (default: the `data` folder beside this file)
"""

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent / "data"
folder.mkdir(parents=True, exist_ok=True)
rng = np.random.default_rng(0)
label = rng.integers(0, 3, 3_500).astype(np.int32)
radius = np.sqrt(rng.uniform(0.02, 1.0, 3_500))
angle = 2 * np.pi * (label / 3 + radius) + 0.1 * rng.normal(size=3_500)
point = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1).astype(np.float32)


def write(name: str, rows: slice) -> None:
    table = pa.table({"point": pa.FixedSizeListArray.from_arrays(pa.array(point[rows].reshape(-1)), 2),
                      "label": label[rows]})
    pq.write_table(table, folder / name, row_group_size=1_000)
    print(f"{folder / name}: {table.num_rows:,} rows")


write("train.parquet", slice(0, 3_000))
write("test.parquet", slice(3_000, None))
