"""What `sexpc build --disable` leaves out does not run, and all of it together does not change what is computed."""

import platform
from pathlib import Path

import numpy as np
import pytest
from experiment import Trained
from sexpgpu.cli.sexpc import main
from sexpgpu.compiler.passes.build import BuildOptions, passes_for
from sexpgpu.compiler.passes.iree.targets import parse_target
from sexpgpu.compiler.passes.legalize import LEGALIZE, WAY_ROUNDS
from sexpgpu.compiler.passes.pipeline import PASSES, SWITCHES

#: A processor for which there are all of them but those for AMX.
TARGET = "cpu:x86-64-v3"
OPTIONAL = [name for name, found in PASSES.items() if found.optional]
#: A convolution in tiles and one of patches, pooling, a norm of rows, a loop through time whose product joins the data,
#: which needs no gradient, with what does.
PROGRAM = """
(defvar train-loader
  (loader :sources [(files ["none.parquet"])] :fields [(field :x :shape [6 6 4])] :batch-size 8 :infinite true))
(defun prepare (batch) (list :inputs (field batch :x) :targets (field batch :x)))
(defun cell (h x)
  (let ((h (tanh (matmul (concat [x h] :axis -1) (param "cell" [20 16])))))
    (list h h)))
(defun model (x)
  (let* ((tiled (conv x (param "tiled" [3 3 4 16]) :padding :same))
         (patched (conv (slice x 3 0 3) (param "patched" [1 1 3 16])))
         (normed (layer-norm (reshape (+ tiled patched) [288 16]) (param "gain" [16]) (param "shift" [16])))
         (over (last (scan cell (zeros [8 16]) (slice (transpose (reshape x [8 36 4]) [1 0 2]) 0 0 9)))))
    (matmul (+ (reshape (avg-pool (reshape normed [8 6 6 16]) 2) [72 16]) (reshape over [72 16]))
            (param "out" [16 16]))))
(defun objective (outputs targets) (mean (square (- outputs 1.0))))
(defvar optimizer (adamw :lr 0.01))
"""


@pytest.fixture(scope="module")
def path(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("switches") / "experiment.sexp"
    path.write_text(PROGRAM)
    return path


# `--target cpu:NAME` offers the processors of the machine's own architecture, and half of the passes are for AVX2.
@pytest.mark.skipif(platform.machine() != "x86_64", reason="processors of another architecture are not offered")
@pytest.mark.parametrize("name", SWITCHES)
def test_what_is_left_out_does_not_run(name):
    """Each is there for one of these targets, and then no more."""
    def there(*disabled: str) -> set[str]:
        found = set()
        for kind in (TARGET, "cpu:sapphirerapids", "vulkan", "cuda"):
            for pass_, options in passes_for(parse_target(kind), BuildOptions(disabled=disabled)):
                found.add(pass_.name)
                if pass_ in LEGALIZE.values():
                    found |= {w.name for w in WAY_ROUNDS if w.name not in options.disable}
        return found

    assert there() - there(name) == {name}


@pytest.mark.slow
def test_the_numbers_are_the_same_without_all(tmp_path):
    rng = np.random.default_rng(0)
    batches = [{"x": rng.standard_normal((8, 6, 6, 4)).astype(np.float32)} for _ in range(5)]
    losses = []
    for disabled in ((), OPTIONAL):
        losses.append(Trained(PROGRAM, tmp_path, disabled=disabled).losses(batches))
    assert losses[0][-1] < losses[0][0]
    np.testing.assert_allclose(*losses, rtol=1e-5)


def test_all_that_is_switched_has_one_name_and_a_line_in_the_manual():
    assert set(SWITCHES) == {*OPTIONAL, *(w.name for w in WAY_ROUNDS)}
    assert len(SWITCHES) == len(OPTIONAL) + len(WAY_ROUNDS) and all(SWITCHES.values())
    manual = (Path(__file__).parents[3] / "docs/passes.md").read_text(encoding="utf-8")
    part = manual[manual.index("## What can be left out"):]
    assert not [name for name in SWITCHES if f"`{name}`" not in part]


def test_what_no_switch_is_called_is_refused(path, capsys):
    assert main(["build", str(path), "--disable", "rows", "--disable", "rowz", "--emit", "peek"]) == 2
    err = capsys.readouterr().err
    assert "`--disable` does not take `rowz`" in err and "did you mean `rows`?" in err
    assert "`--emit` does not take `peek`" in err


@pytest.mark.parametrize("words, told", [
    (["--emit", "legalize-cuda"], "`--emit legalize-cuda`: that pass does not run in this build for cpu"),
    (["--print-after", "supported-vulkan"], "`--print-after supported-vulkan`: that pass does not run"),
    (["--emit", "random", "--print-after", "autodiff"], "these do: `parameters`, `random`"),
    (["--emit", "stablehlo", "--print-after", "random"], "these do: none"),
    (["--emit", "rows", "--disable", "rows"], "`--emit rows`: that pass does not run"),
])
def test_a_pass_that_does_not_run_is_not_printed(path, capsys, words, told):
    assert main(["build", str(path), "--target", TARGET, *words]) == 2
    assert told in capsys.readouterr().err


def test_sexpc_build_leaves_it_out(path, capsys):
    """`--emit` of the last pass prints what is left: no region of rows without `rows`."""
    assert main(["build", str(path), "--emit", "rows"]) == 0
    assert "flow.dispatch.region" in capsys.readouterr().out
    assert main(["build", str(path), "--emit", "legalize-cpu", "--disable", "rows"]) == 0
    assert "flow.dispatch.region" not in capsys.readouterr().out


def test_a_pass_alone_says_what_it_may_lack(tmp_path, capsys):
    module = tmp_path / "bare.mlir"
    module.write_text("module {\n  func.func @f(%x: tensor<f32>) -> tensor<f32> {\n    return %x : tensor<f32>\n"
                      "  }\n}\n")
    assert main(["opt", "--pass", "artifact", str(module)]) == 70
    assert "fix: give it what the passes before it leave" in capsys.readouterr().err
