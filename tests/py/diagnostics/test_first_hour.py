"""What somebody who met the language an hour ago writes: the advice says what to write instead."""

import pytest
from sexpgpu.cli.sexpc import main

PROGRAM = """
(defvar train-loader
  (loader :sources [(files ["data/train.parquet"])]
          :fields [(field :x :shape [3]) (field :y)]
          :batch-size 32 :shuffle 1_000 :infinite true))
(defun prepare (batch)
  (list :inputs (field batch :x) :targets (field batch :y)))
(defun model (x)
  (matmul x (param "w" [3] :init zeros)))
(defun objective (outputs targets) (mse outputs targets))
(defvar optimizer (sgd :lr 0.1))
"""


@pytest.mark.parametrize("right, wrong, told", [
    ("1_000", "1,000", ["[E-READ-006]: `1,000` is not a number", "digits are grouped with `_`: `1_000`"]),
    ("1_000", "1,000.5", ["[E-READ-006]: `1,000.5` is not a number"]),
    ("0.1)", ")", ["[E-ARITY-004]: `:lr` has no value after it", "for instance `:lr 0.1`"]),
    (":init zeros", ":init :zeros", ["[E-CONTRACT-025]", "fix: write the name alone: `:init zeros`"]),
    (":init zeros", ':init "he-normal"', ["[E-CONTRACT-025]", "fix: write the name alone: `:init he-normal`"]),
    (":init zeros", ":init :matmul", ["[E-CONTRACT-025]", "fix: an initialiser is a number"]),
    ('[(files ["data/train.parquet"])]', '["mine.parquet"]',
     ["[E-CONTRACT-006]: `:sources` holds the string \"mine.parquet\"",
      'fix: write `:sources [(files ["mine.parquet"])]`']),
    ('[(files ["data/train.parquet"])]', '(files ["mine.parquet"])',
     ["[E-CONTRACT-006]: `:sources` is one source, not a vector of them"]),
    (":inputs (field batch :x)", ":inputs (list (field batch :x) (field batch :y))",
     ["[E-CONTRACT-013]", "give `model` 2 of them"]),
    ('"w" [3]', '"w" [3 2]', ["[E-SHAPE-013]: `mse` of outputs [32 2] and targets [32]",
                              "the 2 of outputs comes from the number 2 at experiment.sexp:9:27"]),
])
def test_advice(tmp_path, monkeypatch, capsys, right, wrong, told):
    assert right in PROGRAM
    monkeypatch.chdir(tmp_path)
    (tmp_path / "experiment.sexp").write_text(PROGRAM.replace(right, wrong, 1), encoding="utf-8")
    assert main(["check", "experiment.sexp"]) == 1
    err = capsys.readouterr().err
    assert [text for text in told if text not in err] == [] and err.count("error[") == 1, err


def test_the_program_is_right(tmp_path):
    (tmp_path / "experiment.sexp").write_text(PROGRAM, encoding="utf-8")
    assert main(["check", str(tmp_path / "experiment.sexp")]) == 0


@pytest.mark.parametrize("words, told", [
    (["explain", "shape"], "`sexpc explain` lists them all"),
    (["explain", "E-SHAPE-999"], "did you mean `E-SHAPE-009`?"),
    (["build", "experiment.sexp", "--target", "gpu"], "did you mean `cuda`?"),
    (["check", "experiment.sexp", "--formt", "json"], "did you mean `--format`?"),
])
def test_words_of_a_command(tmp_path, monkeypatch, capsys, words, told):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "experiment.sexp").write_text(PROGRAM, encoding="utf-8")
    assert main(words) in (1, 2)
    err = capsys.readouterr().err
    assert told in err and err.count("error[") == 1, err


def test_an_artifact_in_place_of_an_experiment(tmp_path, capsys):
    path = tmp_path / "model.vmfb"
    path.write_bytes(b"PK\x03\x04\xef\xff")
    assert main(["check", str(path)]) == 1
    said = capsys.readouterr()
    assert f"fix: `sexpc inspect {path}` says what is in it" in said.out + said.err
