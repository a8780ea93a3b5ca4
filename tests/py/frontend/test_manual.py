"""Every program of the manual is clean."""

import re
from pathlib import Path

import pytest
from frontend_support import check_text, experiment

MANUAL = Path(__file__).parents[3] / "docs" / "language.md"
PROGRAMS = re.findall(r"```lisp\n(.*?)```", MANUAL.read_text(encoding="utf-8"), re.DOTALL)

STAGES = """(defvar train-loader
  (loader :stages [(stage :name "easy" :sources [(files ["a.parquet"])])
                   (stage :name "hard" :sources [(files ["b.parquet"])])]
          :fields [(field :x :shape [3]) (field :y)] :batch-size 4))"""
COUNTED = "(defun prepare (batch) (counter :samples 4) (list :inputs (field batch :x) :targets (field batch :y)))"


@pytest.mark.parametrize("program", PROGRAMS, ids=[p.strip().splitlines()[0][:40] for p in PROGRAMS])
def test_program(tmp_path, program):
    if "train-loader" in program:
        text = program
    elif "curriculum" in program:
        text = experiment(train_loader=STAGES, prepare=COUNTED, extra=program)
    else:
        text = experiment(extra=program)
    assert check_text(text, tmp_path)[1] == []


def test_there_are_programs():
    assert len(PROGRAMS) >= 7
