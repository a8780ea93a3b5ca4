"""Runs `sexpc explain` with a fault planted in it, and looks into the bundle that is left."""

import os
import sys
import zipfile
from pathlib import Path

import sexpgpu.cli.sexpc_explain as explain
from sexpgpu.cli.sexpc import main


def fail(arguments, sources):
    return 1 // 0


folder = Path(sys.argv[1])
folder.mkdir(exist_ok=True)
assert os.environ["TMPDIR"] == str(folder)
explain.run = fail
assert main(["explain", "E-READ-001"]) == 70
[bundle] = folder.glob("sexpgpu-ice-*.zip")
with zipfile.ZipFile(bundle) as found:
    assert b"ZeroDivisionError" in found.read("traceback.txt")
    assert b'"explain"' in found.read("command.json")
bundle.unlink()
