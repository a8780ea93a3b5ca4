"""Write the dataset of the bytes-gpt example: the source text of the Python standard library that runs this script.

    python make_data.py [FOLDER]            (default: the `data` folder beside this file)

Files are taken in the sorted order of their paths below the library's folder, without tests and installed packages.
Every twentieth is held out. The text of each split, files joined by one zero byte, is cut into rows of 129 bytes, each
row beginning with the last byte of the row before it, so that every byte is a target once; what is left over at the
end is dropped. Both splits are Parquet with one column, `input_ids`, a list of 129 uint8, in row groups of 1,000 rows.
The same interpreter writes the same bytes each time.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROW = 129
ROW_GROUP = 1_000
HELD_OUT = 20
TRAIN_BYTES = 6_000_000
LEFT_OUT = {"site-packages", "dist-packages", "test", "tests", "idle_test", "__pycache__", "lib2to3"}


def library_files() -> list[Path]:
    """The library's `.py` files, sorted by path."""
    root = Path(sysconfig.get_path("stdlib"))
    found = (p for p in root.rglob("*.py") if not LEFT_OUT & set(p.relative_to(root).parts))
    return sorted(found, key=lambda p: p.relative_to(root).as_posix())


def rows(files: list[Path], limit: int | None = None) -> np.ndarray:
    """`[n, 129]` uint8 of the files' joined text, from at most `limit` bytes of it."""
    text = np.frombuffer(b"\0".join(p.read_bytes() for p in files)[:limit], np.uint8)
    count = (len(text) - 1) // (ROW - 1)
    return np.lib.stride_tricks.sliding_window_view(text, ROW)[:: ROW - 1][:count]


def write(path: Path, data: np.ndarray) -> None:
    column = pa.FixedSizeListArray.from_arrays(pa.array(np.ascontiguousarray(data).reshape(-1)), ROW)
    temporary = path.with_suffix(".partial")
    pq.write_table(pa.table({"input_ids": column}), temporary, row_group_size=ROW_GROUP, compression="zstd")
    os.replace(temporary, path)
    print(f"{path}: {len(data):,} rows, {path.stat().st_size:,} bytes")


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent / "data"
    folder.mkdir(parents=True, exist_ok=True)
    files = library_files()
    held_out = files[::HELD_OUT]
    train = [p for i, p in enumerate(files) if i % HELD_OUT]
    write(folder / "train.parquet", rows(train, TRAIN_BYTES))
    write(folder / "val.parquet", rows(held_out))


if __name__ == "__main__":
    main()
