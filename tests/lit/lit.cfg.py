"""lit's configuration: the real commands, run on small files, their output compared exactly.

Substitutions: `%sexpc`; `%filecheck`; `%same EXPECTED ACTUAL` compares two files, and with `--param bless=1` (that is
`make bless`) makes EXPECTED what ACTUAL is. Only rendered files are ever blessed: what a test says inline is written
by hand.
"""

# ruff: noqa: F821 (lit gives `config` and `lit_config`)

import os
import platform
import shutil
import sys
from pathlib import Path

import lit.formats

config.name = "sexpgpu"
config.test_format = lit.formats.ShTest()
config.suffixes = [".sexp", ".mlir", ".test"]
config.excludes = ["Inputs", "bless.py"]
config.test_source_root = str(Path(__file__).parent)
# Outputs go outside of the sources, so that the tests run on a read-only checkout.
config.test_exec_root = os.environ.get("SEXPGPU_LIT_OUTPUT", str(Path(__file__).parents[2] / "build" / "lit"))

# What a processor has by name is listed for its own architecture.
config.available_features.add(platform.machine())

python = sys.executable
filecheck = shutil.which("filecheck", path=str(Path(python).parent)) or "filecheck"
bless = lit_config.params.get("bless")

config.substitutions += [
    ("%sexpc", f"{python} -m sexpgpu.cli.sexpc"),
    ("%filecheck", filecheck),
    ("%same", f"{python} {config.test_source_root}/bless.py" if bless else "diff -u"),
    ("%python", python),
]

# Rendered text has one width and no colour, wherever the tests run.
config.environment |= {"COLUMNS": "110", "NO_COLOR": "1", "PYTHONUTF8": "1"}
for name in ("PYTHONPATH", "HOME", "VIRTUAL_ENV", "TMPDIR"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
