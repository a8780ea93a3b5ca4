"""Exports: what `export` compiles, called from Python and from the command line, against NumPy and JAX."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from experiment import compiled, found
from safetensors.numpy import save_file
from sexpgpu.cli.run import main
from sexpgpu.diagnostics import SexpError
from sexpgpu.runtime.artifact.read import read_manifest
from sexpgpu.runtime.infer import load

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"

BASE = """
(defvar train-loader
  (loader :sources [(files ["data/train.parquet"])]
          :fields [(field :x :shape [6]) (field :y :shape [3])]
          :batch-size 8 :infinite true))
(defun prepare (batch) (list :inputs (field batch :x) :targets (field batch :y)))
(defun model (x)
  (metric :size (mean (square x)))
  (let ((h (tanh (linear x (param "w" [6 5]) (param "b" [5] :init zeros :decay false)))))
    (matmul (dropout h (schedule :rate (fn (ctx) (* 0.5 (get ctx :progress))))) (param "v" [5 3]))))
(defun objective (outputs targets) (mse outputs targets))
(defvar optimizer (sgd :lr 0.1 :ema 0.9))
(defvar run (run :steps 5))
"""

EXPORTS = BASE + """
(export "one" model :inputs [(field :x :shape [2 6])])
(export :pair (fn (x n) (list (model x) (+ n 1))) :inputs [(field :x :shape [1 6]) (field :n :dtype :i64 :shape [3])])
(export "named" (fn (x flags)
                  (list :best (argmax (model x) :axis -1) :half (cast (model x) :bf16) :not (not flags)
                        :unit 1.0e-3 ))
        :inputs [(field :x :shape [2 6]) (field :flags :dtype :bool :shape [4])])
(export "noise" (fn () (random-normal [4])))
"""


def text(exports: str) -> str:
    return BASE + exports


@pytest.fixture(scope="module")
def artifact(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("exports")
    (folder / "experiment.sexp").write_text(EXPORTS.replace(":unit 1.0e-3 ", ""))
    return compiled(folder / "experiment.sexp", folder / "m.vmfb")


@pytest.fixture(scope="module")
def weights(tmp_path_factory) -> tuple[Path, dict[str, np.ndarray]]:
    rng = np.random.default_rng(3)
    arrays = {name: rng.normal(size=shape).astype(np.float32) for name, shape in
              (("w", (6, 5)), ("b", (5,)), ("v", (5, 3)))}
    path = tmp_path_factory.mktemp("weights") / "w.safetensors"
    save_file(arrays, path)
    return path, arrays


def forward(arrays: dict[str, np.ndarray], x: np.ndarray) -> np.ndarray:
    wide = {name: array.astype(np.float64) for name, array in arrays.items()}
    return np.tanh(x @ wide["w"] + wide["b"]) @ wide["v"]


X = np.random.default_rng(1).normal(size=(2, 6))


def test_a_tensor_a_list_and_a_plist(artifact, weights) -> None:
    path, arrays = weights
    model = load(artifact, path)
    wanted = forward(arrays, X)
    one = model.run("one", x=X)
    assert one.dtype == np.float32
    np.testing.assert_allclose(one, wanted, atol=1e-5)
    y, n = model.run("pair", x=X[:1], n=[2**62, -1, 5])
    np.testing.assert_allclose(y, wanted[:1], atol=1e-5)
    assert n.dtype == np.int64 and n.tolist() == [2**62 + 1, 0, 6]
    named = model.run("named", x=X, flags=[True, False, 1, 0])
    assert list(named) == ["best", "half", "not"]
    assert named["best"].tolist() == wanted.argmax(-1).tolist()
    assert named["half"].dtype == np.float32
    np.testing.assert_allclose(named["half"], wanted, rtol=2**-8)
    assert named["not"].tolist() == [False, True, False, True]
    np.testing.assert_array_equal(model.run("one", x=X), one)  # dropout is off, and nothing is kept of a call


def test_inspect_lists_them(artifact, capfd) -> None:
    from sexpgpu.cli.sexpc import main as sexpc

    assert sexpc(["inspect", str(artifact)]) == 0
    shown = capfd.readouterr().out
    assert "  one     x f32[2 6] -> output f32[2 3]\n" in shown
    assert "  pair    x f32[1 6], n i64[3] -> output.0 f32[1 3], output.1 i64[3]\n" in shown
    assert "  named   x f32[2 6], flags bool[4] -> best i32[2], half bf16[2 3], not bool[4]\n" in shown
    assert "  noise   -> output f32[4]" in shown


def test_random_numbers_follow_the_seed(artifact, weights) -> None:
    model = load(artifact, weights[0])
    first, again, other = (model.run("noise", seed=seed) for seed in (0, 0, 1))
    assert (first == again).all() and (first != other).any()


def test_a_checkpoint_computes_with_the_averages(artifact, weights, tmp_path) -> None:
    """As evaluations do where the optimizer keeps `:ema`; a file of weights is taken as it is."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(5)
    (tmp_path / "data").mkdir()
    pq.write_table(pa.table({"x": list(rng.normal(size=(32, 6))), "y": list(rng.normal(size=(32, 3)))}),
                   tmp_path / "data" / "train.parquet")
    out = tmp_path / "run"
    assert main([str(artifact), "--data-root", str(tmp_path), "--out", str(out)]) == 0
    speed = json.loads((out / "summary.json").read_text())["performance"]
    assert speed["matmul_peak"] > 1e8 and speed["flops_per_step"] > 0
    assert speed["matmul_share"] == pytest.approx(speed["flops_per_s"] / speed["matmul_peak"], abs=1e-6)
    from safetensors.numpy import load_file
    step = out / "checkpoints" / "step-5"
    averages = {name.removesuffix(".ema"): a for name, a in load_file(step / "optimizer.safetensors").items()
                if name.endswith(".ema")}
    trained = load_file(step / "weights.safetensors")
    assert averages.keys() == trained.keys()
    assert np.abs(forward(averages, X) - forward(trained, X)).max() > 1e-4
    for place in (out, step):
        np.testing.assert_allclose(load(artifact, place).run("one", x=X), forward(averages, X), atol=1e-6)
    np.testing.assert_allclose(load(artifact, step / "weights.safetensors").run("one", x=X), forward(trained, X),
                               atol=1e-6)


def test_the_forward_of_bytes_gpt(tmp_path) -> None:
    jax = pytest.importorskip("jax")
    from jax import numpy as jnp

    layers, width, heads, seq = 2, 32, 4, 128
    source = tmp_path / "experiment.sexp"
    source.write_text((EXAMPLES / "bytes-gpt" / "experiment.sexp").read_text() +
                      "(export \"logits\" model :inputs [(field :tokens :dtype :i32 :shape [3 128])])")
    artifact = compiled(source, tmp_path / "m.vmfb", layers=str(layers), width=str(width))
    rng = np.random.default_rng(0)
    arrays = {p.name: (rng.normal(size=p.shape) * 0.3).astype(np.float32) for p in read_manifest(artifact).parameters}
    save_file(arrays, tmp_path / "w.safetensors")
    w = {name: jnp.asarray(array) for name, array in arrays.items()}

    def norm(x, name):
        centred = x - x.mean(-1, keepdims=True)
        return centred / jnp.sqrt((centred ** 2).mean(-1, keepdims=True) + 1e-5) * w[f"{name}.gain"] + w[f"{name}.bias"]

    def project(x, name):
        return x @ w[f"{name}.w"] + w[f"{name}.b"]

    def split(x):
        return x.reshape(x.shape[0], seq, heads, width // heads)

    tokens = rng.integers(0, 256, (3, seq))
    with jax.default_matmul_precision("highest"):
        x = w["tokens"][tokens] + w["places"]
        for i in range(layers):
            h = norm(x, f"block.{i}.norm-1")
            q, k, v = (split(project(h, f"block.{i}.{part}")) for part in "qkv")
            mixed = jax.nn.dot_product_attention(q, k, v, is_causal=True).reshape(3, seq, width)
            x = x + project(mixed, f"block.{i}.out")
            h = norm(x, f"block.{i}.norm-2")
            x = x + project(jax.nn.gelu(project(h, f"block.{i}.up"), approximate=False), f"block.{i}.down")
        wanted = norm(x, "norm") @ w["tokens"].T
    np.testing.assert_allclose(load(artifact, tmp_path / "w.safetensors").run("logits", tokens=tokens), wanted,
                               rtol=1e-4, atol=1e-4)


# -- the command ------------------------------------------------------------------------------------------------------

def infer(artifact: Path, weights, *words: object) -> int:
    return main(["infer", str(artifact), "--checkpoint", str(weights[0]), *map(str, words)])


@pytest.mark.parametrize("suffix", ["npz", "npy", "json"])
def test_files(artifact, weights, tmp_path, suffix) -> None:
    into, out = tmp_path / f"x.{suffix}", tmp_path / f"y.{suffix}"
    if suffix == "npz":
        np.savez(into, x=X)
    elif suffix == "npy":
        np.save(into, X)
    else:
        into.write_text(json.dumps(X.tolist()))
    assert infer(artifact, weights, "--export", "one", "--inputs", into, "--outputs", out) == 0
    found = {"npz": lambda: np.load(out)["output"], "npy": lambda: np.load(out),
             "json": lambda: np.array(json.loads(out.read_text()))}[suffix]()
    np.testing.assert_allclose(found, forward(weights[1], X), atol=1e-5)


def test_several_outputs_and_stdout(artifact, weights, tmp_path, capfd) -> None:
    (tmp_path / "x.json").write_text(json.dumps({"x": X.tolist(), "flags": [True, True, False, False]}))
    assert infer(artifact, weights, "--export", "named", "--inputs", tmp_path / "x.json") == 0
    shown = json.loads(capfd.readouterr().out)
    assert shown["not"] == [False, False, True, True] and len(shown["half"]) == 2
    assert infer(artifact, weights, "--export", "noise", "--outputs", tmp_path / "n.npz", "--seed", 4) == 0
    assert np.load(tmp_path / "n.npz")["output"].shape == (4,)


@pytest.mark.parametrize("words, code, said", [
    ((), "E-RUN-032", "4 exports"),
    (("--export", "oen"), "E-RUN-032", "did you mean `one`?"),
    (("--export", "one"), "E-RUN-033", "`x` f32 [2 6]"),
    (("--export", "one", "--inputs", "no.npz"), "E-RUN-034", "no such file"),
    (("--export", "one", "--inputs", "x.txt"), "E-RUN-034", "no kind that is read"),
    (("--export", "one", "--inputs", "bad.npz"), "E-RUN-034", "no whole npz file"),
    (("--export", "one", "--inputs", "bad.npy"), "E-RUN-034", "no whole npy file"),
    (("--export", "one", "--inputs", "bad.json"), "E-RUN-034", "no whole json file"),
    (("--export", "one", "--inputs", "deep.json"), "E-RUN-034", "no whole json file"),
    (("--export", "one", "--inputs", "objects.npy"), "E-RUN-034", "no whole npy file"),
    (("--export", "one", "--inputs", "text.json"), "E-RUN-033", "not numbers"),
    (("--export", "one", "--inputs", "ragged.json"), "E-RUN-033", "not of one length"),
    (("--export", "one", "--inputs", "wide.json"), "E-RUN-033", "its shape is [1 2], not [2 6]"),
    (("--export", "one", "--inputs", "other.json"), "E-RUN-033", "has no input `y`"),
    (("--export", "one", "--inputs", "big.json"), "E-RUN-033", "too large"),
    (("--export", "pair", "--inputs", "float.json"), "E-RUN-033", "floats"),
    (("--export", "pair", "--inputs", "x.npy"), "E-RUN-034", "2 inputs"),
    (("--export", "pair", "--outputs", "y.npy"), "E-RUN-034", "2 outputs"),
    (("--export", "one", "--outputs", "y.csv"), "E-RUN-034", "no kind that is written"),
    (("--export", "noise", "--outputs", "gone/y.npy"), "E-RUN-034", "cannot be written"),
    (("--export", "noise", "--seed", "x"), "E-RUN-002", "integer from 0"),
    (("--export", "noise", "--sede", "1"), "E-RUN-001", "did you mean `--seed`?"),
    (("--export",), "E-RUN-002", "lacks its value"),
    (("more",), "E-RUN-011", "takes one ARTIFACT"),
])
def test_misuse_is_told(artifact, weights, tmp_path, monkeypatch, capfd, words, code, said) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", X)
    for name in ("bad.npz", "bad.npy", "bad.json"):
        Path(name).write_bytes(b"PK\x03\x04 not")
    np.save("objects.npy", np.array([{}], object), allow_pickle=True)
    Path("deep.json").write_text("[" * 100_000)
    for name, value in {"text": {"x": "abc"}, "ragged": [[1, 2], [3]], "wide": [[1, 2]], "other": {"x": X.tolist(),
                        "y": 1}, "big": (X * 0 + 1e300).tolist(), "float": {"x": X[:1].tolist(), "n": [1.5, 2, 3]}
                        }.items():
        Path(f"{name}.json").write_text(json.dumps(value))
    assert infer(artifact, weights, *words) == 2
    error = capfd.readouterr().err
    assert code in error and said in error, error


def test_a_checkpoint_that_is_not_there(artifact, tmp_path, capfd) -> None:
    assert main(["infer", str(artifact), "--checkpoint", str(tmp_path / "no"), "--export", "noise"]) == 3
    assert "E-CKPT-001" in capfd.readouterr().err
    assert main(["infer", str(artifact), "--export", "noise"]) == 2
    assert "--checkpoint" in capfd.readouterr().err


def test_an_artifact_without_exports(make_sample, tmp_path) -> None:
    with pytest.raises(SexpError, match="has no exports"):
        load(make_sample, None).run(x=1)


@pytest.fixture
def make_sample(tmp_path) -> Path:
    (tmp_path / "experiment.sexp").write_text(BASE)
    return compiled(tmp_path / "experiment.sexp", tmp_path / "m.vmfb")


# -- the compiler -----------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("exports, message", [
    ('(export 5 model)', "the name of an export"),
    ('(export "a" 5)', "an export is a function, not the number 5"),
    ('(export "a" model)', "has 0 inputs, and its function does not take 0"),
    ('(export "a" model :inputs [5])', "`:inputs` holds the number 5"),
    ('(export "a" model :inputs (field :x :shape [2 6]))', "a vector of `(field …)`"),
    ('(export "a" (fn (x y) x) :inputs [(field :x) (field :x)])', "stands twice"),
    ('(export "a" (fn (x) x) :inputs [(field :x :from "y")])', "has a `:from`"),
    ('(export "a" (fn (x) x) :inputs [(field :x)]) (export "a" (fn (x) x) :inputs [(field :x)])', "two exports"),
    ('(export "a" (fn (x) 5) :inputs [(field :x)])', "gives the number 5"),
    ('(export "a" (fn (x) (list x 5)) :inputs [(field :x)])', "gives the number 5 in a list"),
    ('(export "a" (fn (x) (list)) :inputs [(field :x)])', "gives"),
    ('(export "a" (fn (x) (* x (schedule :s (fn (ctx) 1.0)))) :inputs [(field :x)])', "depends on the schedule `:s`"),
    ('(defun helper () (export "a" model))', None),
])
def test_a_wrong_export_has_its_code(exports: str, message: str | None) -> None:
    diagnostics = found(text(exports))
    if message is None:
        assert not diagnostics
        return
    assert [d.code for d in diagnostics] == ["E-CONTRACT-030"], diagnostics
    assert message in diagnostics[0].message


def test_other_codes_hold_in_exports() -> None:
    of = {'(export "a" (fn (x) (param "new" [3])) :inputs [(field :x)])': "E-CONTRACT-024",
          '(export "a" (fn (x) (counter :c 1) x) :inputs [(field :x)])': "E-CONTRACT-010",
          '(export "a" model :inputs [(field :x :shape [2 7])])': "E-SHAPE-002",
          '(export "a" (fn (x) (export "b" model) x) :inputs [(field :x)])': "E-CONTRACT-020"}
    for exports, code in of.items():
        assert [d.code for d in found(text(exports))] == [code], exports
