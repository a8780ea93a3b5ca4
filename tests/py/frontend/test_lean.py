"""What a check must not import: libraries that cost more than the check itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

EXPERIMENT = Path(__file__).parents[3] / "examples" / "bytes-gpt" / "experiment.sexp"
CHECK = """
import sys
from sexpgpu.cli.sexpc import main
status = main(["check", sys.argv[1]])
assert status == 0, status
heavy = {"numpy", "pyarrow", "boto3", "rich", "dataclasses", "inspect", "json", "statistics"}
print(*sorted({name.partition(".")[0] for name in sys.modules} & heavy),
      *{f"iree.compiler.dialects.{name}" for name in ("arith", "builtin", "func", "math", "scf")} & set(sys.modules))
"""


def test_a_check_imports_no_heavy_library() -> None:
    done = subprocess.run([sys.executable, "-c", CHECK, str(EXPERIMENT)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "", done.stdout + done.stderr
