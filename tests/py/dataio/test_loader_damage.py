"""Damaged files: any flipped bits and any cut give a coded error or the right rows, never a crash and never a hang.

Bits are flipped in files whose pages carry checksums, so a change in the data is always found. What lies outside the
pages (page headers, the footer) has no checksum in the format; a flip there that still reads must give rows of the
declared shape, and gives the right ones unless it hit what gives numbers their meaning.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from dataio_helpers import make_spec, write
from sexpgpu.runtime.dataio import FieldSpec

CHILD = """
import json, sys
import numpy as np
from sexpgpu.diagnostics import SexpError
from sexpgpu.runtime.dataio import Loader, LoaderSpec

spec, path, seed, count, shuffle = json.loads(sys.stdin.read())
spec = LoaderSpec.from_json(spec)
whole = open(path + ".whole", "rb").read()
random = np.random.default_rng(seed)
wanted = None
outcomes = {"right": 0, "wrong": 0}
for turn in range(count + 1):
    data = bytearray(whole)
    kind = turn % 4
    if turn == 0:
        pass
    elif kind == 0:
        data = data[:random.integers(0, len(data))]
    elif kind == 1:
        for _ in range(random.integers(1, 4)):
            data[random.integers(0, len(data))] ^= 1 << random.integers(0, 8)
    elif kind == 2:                                        # the footer, where all structure is
        at = len(data) - 1 - random.integers(0, min(len(data), 900))
        data[at] = random.integers(0, 256)
    else:
        at = random.integers(0, len(data))
        data[at:at + 16] = random.bytes(len(data[at:at + 16]))
    with open(path, "wb") as file:
        file.write(data)
    print(json.dumps([turn, kind]), file=sys.stderr, flush=True)
    try:
        with Loader(spec, partial=True) as loader:
            got = [{name: a[:b.records].copy() for name, a in b.arrays.items()} for b in loader]
    except SexpError as error:
        assert turn, error
        [diagnostic] = error.diagnostics
        outcomes[diagnostic.code] = outcomes.get(diagnostic.code, 0) + 1
        continue
    rows = {name: np.concatenate([g[name] for g in got]) for name in got[0]}
    if turn == 0:
        wanted = rows
    same = all(rows[n].shape == wanted[n].shape and rows[n].tobytes() == wanted[n].tobytes() for n in rows)
    outcomes["right" if same else "wrong"] += 1
    if not same and kind in (0, 1):
        at = [i for i, (a, b) in enumerate(zip(data, whole)) if a != b]
        print("wrong rows after a change at", at, "of", len(whole), file=sys.stderr)
print(json.dumps(outcomes))
"""


def sweep(folder: Path, compression: str, seed: int, count: int) -> dict[str, int]:
    random = np.random.default_rng(5)
    rows = 300
    columns = {
        "tokens": pa.array(random.integers(0, 50_000, (rows, 9)).tolist(), pa.list_(pa.int32())),
        "image": pa.array(random.integers(0, 255, (rows, 2, 3)).tolist(), pa.list_(pa.list_(pa.uint8(), 3))),
        "label": pa.array(random.integers(0, 10, rows)),
        "weight": pa.array(random.random(rows)),
        "raw": pa.array([random.bytes(8) for _ in range(rows)]),
    }
    path = write(folder / "a.parquet", columns, row_group_size=70, compression=compression, write_page_checksum=True)
    path.rename(folder / "a.parquet.whole")
    spec = make_spec(folder, ["a.parquet"], FieldSpec("tokens", "tokens", "i32", (9,)),
                     FieldSpec("image", "image", "u8", (2, 3)), FieldSpec("label", "label", "i64", ()),
                     FieldSpec("weight", "weight", "f32", ()), FieldSpec("raw", "raw", "u8", (8,)), batch=32)
    child = subprocess.run([sys.executable, "-c", CHILD], text=True, capture_output=True, timeout=900,
                           input=json.dumps([spec.to_json(), str(path), seed, count, 0]))
    assert child.returncode == 0, (child.returncode, child.stderr[-2000:])
    return json.loads(child.stdout)


def check(outcomes: dict[str, int], count: int) -> None:
    assert sum(outcomes.values()) == count + 1
    assert set(outcomes) <= {"right", "wrong", "E-STORE-003", "E-STORE-004", "E-STORE-005", "E-STORE-006", "E-DATA-001",
                             "E-DATA-002", "E-DATA-003", "E-DATA-004", "E-DATA-005", "E-DATA-006", "E-DATA-008",
                             "E-DATA-014"}, outcomes
    # Footer bytes that change a column's meaning and nothing else: a type's sign, an offset to an equal page.
    assert outcomes["wrong"] <= count // 50, outcomes
    assert outcomes["right"] >= 1


@pytest.mark.parametrize("compression", ["none", "zstd"])
def test_damage(tmp_path: Path, compression: str) -> None:
    check(sweep(tmp_path, compression, seed=1, count=160), 160)


@pytest.mark.slow
@pytest.mark.parametrize("compression", ["none", "snappy", "zstd", "gzip"])
@pytest.mark.parametrize("seed", range(2, 6))
def test_much_damage(tmp_path: Path, compression: str, seed: int) -> None:
    check(sweep(tmp_path, compression, seed=seed, count=2000), 2000)
