"""safetensors files: ours read by the package, the package's by us, hostile ones refused; and `--init-from`."""

from __future__ import annotations

import os
import random
from pathlib import Path

import numpy as np
import pytest
import safetensors
import safetensors.numpy
from runs import last_state, run
from sexpgpu.runtime.checkpoint.tensors import NAMES, BadTensors, Shape, TensorFile, same, write
from sexpgpu.runtime.dtypes import DTYPES


def sample() -> tuple[list[Shape], list[np.ndarray]]:
    rng = np.random.default_rng(0)
    shapes, arrays = [], []
    for dtype in NAMES:
        for shape in ((), (3,), (2, 5)):
            shapes.append(Shape(f"größe.{dtype}.{len(shape)}", dtype, shape))
            raw = rng.integers(0, 2 if dtype == "bool" else 100, shape)
            arrays.append(np.asarray(raw).astype(DTYPES[dtype].numpy))
    return shapes, arrays


def test_the_package_reads_ours(tmp_path: Path) -> None:
    shapes, arrays = sample()
    written = write(tmp_path / "a.safetensors", shapes, arrays)
    assert same(tmp_path / "a.safetensors", written)
    theirs = dict(safetensors.deserialize((tmp_path / "a.safetensors").read_bytes()))
    assert set(theirs) == {s.name for s in shapes}
    for shape, array in zip(shapes, arrays, strict=True):
        entry = theirs[shape.name]
        assert entry["dtype"] == NAMES[shape.dtype] and tuple(entry["shape"]) == shape.shape
        assert bytes(entry["data"]) == array.tobytes()


def test_we_read_the_packages(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    arrays = {"a": rng.normal(size=(3, 4)).astype(np.float32), "b": rng.integers(0, 9, 7),
              "c": np.array(2.5, np.float16)}
    safetensors.numpy.save_file(arrays, tmp_path / "b.safetensors", metadata={"by": "them"})
    file = TensorFile(tmp_path / "b.safetensors")
    for name, array in arrays.items():
        assert file.read(name).tobytes() == array.tobytes() and file.shapes[name].shape == array.shape


def test_hostile_files_are_refused(tmp_path: Path) -> None:
    shapes, arrays = sample()
    write(tmp_path / "a", shapes, arrays)
    data = (tmp_path / "a").read_bytes()
    rng = random.Random(0)
    path = tmp_path / "fuzzed"
    refused = 0
    for _ in range(1500):
        damaged = bytearray(data)
        if rng.random() < 0.3:
            del damaged[rng.randrange(len(damaged)):]
        else:
            for _ in range(rng.choice((1, 5))):
                damaged[rng.randrange(min(len(damaged), 2600))] ^= 1 << rng.randrange(8)
        path.write_bytes(damaged)
        try:
            file = TensorFile(path)
            for name, shape in file.shapes.items():
                if shape.dtype in DTYPES:
                    file.read(name)
        except BadTensors:
            refused += 1
    assert refused > 500
    for junk in (b"", b"\0" * 8, b"\xff" * 100, os.urandom(1000), (2).to_bytes(8, "little") + b"[]",
                 (2).to_bytes(8, "little") + b'"x', (12).to_bytes(8, "little") + b'{"a": [1,2]}'):
        path.write_bytes(junk)
        with pytest.raises(BadTensors):
            TensorFile(path)


def test_init_from(make_artifact, tmp_path: Path, capsys) -> None:
    path = make_artifact()
    weights = {"w": np.array([1, 2, 3], np.float32), "b": np.array(4, np.float32)}
    file = tmp_path / "w.safetensors"

    def save(changes: dict[str, np.ndarray], without: str | None = None) -> None:
        safetensors.numpy.save_file({k: v for k, v in {**weights, **changes}.items() if k != without}, file)

    def status(out: str) -> int:
        return run(path, tmp_path / out, "--init-from", str(file), "--steps", "1", "--checkpoint-every", "1")

    save({})
    assert status("a") == 0
    assert run(path, tmp_path / "b", "--steps", "1") == 0
    assert last_state(tmp_path / "a") != last_state(tmp_path / "b")
    save({"bias": np.array(4, np.float32)}, "b")
    assert status("c") == 3
    err = capsys.readouterr().err
    assert "E-CKPT-004" in err and "`b` is missing" in err and "`bias` is not in the model" in err
    save({"w": np.zeros(4, np.float32)})
    assert status("d") == 3 and "`w` is f32 [4], f32 [3] in the model" in capsys.readouterr().err
    file.write_bytes(file.read_bytes()[:-3])
    assert status("e") == 3 and "E-CKPT-005" in capsys.readouterr().err
    file.unlink()
    assert status("f") == 3 and "E-CKPT-005" in capsys.readouterr().err


def test_init_from_a_checkpoint(make_artifact, tmp_path: Path) -> None:
    path = make_artifact()
    assert run(path, tmp_path / "a", "--steps", "3") == 0
    weights = tmp_path / "a/checkpoints/step-3/weights.safetensors"
    assert run(path, tmp_path / "b", "--init-from", str(weights), "--steps", "1") == 0
