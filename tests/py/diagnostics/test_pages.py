"""The pages of `sexpc explain`: each program raises its own code and nothing else, and its repaired one is clean."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sexpgpu.cli.sexpc import main
from sexpgpu.compiler.frontend.experiment import check
from sexpgpu.diagnostics import CODES, SexpError, SourceMap
from sexpgpu.diagnostics.codes import FAMILIES
from sexpgpu.diagnostics.pages import page_of, pages
from sexpgpu.runtime.dataio import Loader, LoaderSpec

PAGES = [page for family in FAMILIES for page in pages(family).values()]
#: No program is known to raise it: it takes a fault of a backend's version.
WITHOUT = {"E-TARGET-005"}
RAISED_BY_PROGRAMS = ("READ", "NAME", "ARITY", "TYPE", "SHAPE", "VALUE", "CONTRACT", "GRAD", "TARGET")


def columns():
    """What `pages.DATA` says."""
    rows = range(64)
    numbers = [[i + 0.5] * 16 for i in rows]
    return pa.table({"x": pa.array(numbers, pa.list_(pa.float32())), "y": [row[:4] for row in numbers],
                     "label": np.arange(64) % 10, "score": [None if i % 5 == 4 else [0.5] * 4 for i in rows],
                     "title": [str(i) for i in rows]})


def codes_of_a_run(folder, program):
    (folder / "data").mkdir(exist_ok=True)
    pq.write_table(columns(), folder / "data" / "train.parquet")
    staged, found = check(program, overrides={}, sources=SourceMap())
    assert found == []
    spec = LoaderSpec.from_json(staged.manifest["loader"])
    try:
        with Loader(spec) as loader:
            while loader.next() is not None:
                pass
    except SexpError as error:
        return [d.code for d in error.diagnostics]
    return []


EXAMPLE = Path(__file__).parents[3] / "examples" / "linear"


def shell(text, folder):
    """What the commands print for people, and the last status. Both programs are this environment's."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(["bash", "-e", "-c", text], cwd=folder, text=True, capture_output=True,
                          env={**os.environ, "PATH": path, "COLUMNS": "110"}, check=False)


@pytest.fixture(scope="session")
def prepared(tmp_path_factory):
    """What `pages.FOLDER` says."""
    folder = tmp_path_factory.mktemp("pages") / "linear"
    folder.mkdir()
    shutil.copy(EXAMPLE / "experiment.sexp", folder)
    done = shell(f"'{sys.executable}' '{EXAMPLE}/make_data.py' data; sexpc build experiment.sexp -o model.vmfb; "
                 "sexpgpu-run model.vmfb --steps 20 --out runs/a", folder)
    assert done.returncode == 0, done.stderr
    return folder


def codes_of_commands(half, prepared, folder):
    shutil.copytree(prepared, folder, dirs_exist_ok=True)
    done = shell(half.program, folder)
    found = re.findall(r"^(?:error|warning)\[([\w-]+)\]", done.stderr, re.MULTILINE)
    assert bool(found) == bool(done.returncode), done.stderr
    return found


def codes(code, half, folder, capsys):
    path = folder / "experiment.sexp"
    path.write_text(half.program, encoding=half.saved or "utf-8")
    if code.startswith(("E-DATA", "E-STORE")):
        return codes_of_a_run(folder, path)
    if half.target is None and not half.is_module:
        _, found = check(path, overrides=half.defines, sources=SourceMap(), module=False)
        return [d.code for d in found]
    words = ["opt", str(path), "--pass", "autodiff{function=loss}"] if half.is_module else \
        ["check", str(path), "--target", half.target]
    main([*words, "--format", "short"])
    return [line.split("[")[1].split("]")[0] for line in capsys.readouterr().err.splitlines() if "[" in line]


@pytest.mark.parametrize("page", [page for page in PAGES if page.wrong.is_shell], ids=lambda page: page.code)
def test_a_page_of_commands_is_true(page, prepared, tmp_path):
    assert set(codes_of_commands(page.wrong, prepared, tmp_path / "wrong")) == {page.code}
    assert codes_of_commands(page.right, prepared, tmp_path / "right") == []


@pytest.mark.parametrize("page", [page for page in PAGES if not page.wrong.is_shell], ids=lambda page: page.code)
def test_a_page_is_true(page, tmp_path, capsys):
    assert set(codes(page.code, page.wrong, tmp_path, capsys)) == {page.code}
    assert codes(page.code, page.right, tmp_path, capsys) == []


def test_every_code_that_a_program_raises_has_a_page():
    missing = [name for name, code in CODES.items() if code.family in RAISED_BY_PROGRAMS and page_of(name) is None]
    assert set(missing) == WITHOUT
    assert all(page.code in CODES for page in PAGES)
