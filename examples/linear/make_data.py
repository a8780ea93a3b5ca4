"""Write 2,000 rows of y = x · (2, -3, 0.5) + 1 + noise of deviation 0.01, the same each time.

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
x = rng.normal(size=(2_000, 3)).astype(np.float32)
y = (x @ np.array([2.0, -3.0, 0.5]) + 1.0 + 0.01 * rng.normal(size=2_000)).astype(np.float32)
pq.write_table(pa.table({"x": pa.FixedSizeListArray.from_arrays(pa.array(x.reshape(-1)), 3), "y": y}),
               folder / "train.parquet", row_group_size=500)
print(f"{folder / 'train.parquet'}: {len(y):,} rows")
