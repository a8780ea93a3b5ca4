"""Dropout of attention's probabilities, against JAX with the same mask, which a value that is the identity shows."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from experiment import Trained, found
from threefry import run_key, site_words

SHAPE = {"q": (2, 4, 5, 6), "k": (2, 2, 7, 6), "v": (2, 2, 7, 7)}
LONG = {"q": (1, 2, 260, 4), "k": (1, 2, 260, 4), "v": (1, 2, 260, 260)}


def program(shapes: dict[str, tuple[int, ...]], call: str, body: str = "{}", rate: str = "0.25") -> str:
    """The operands are parameters, of learning rate 1, so that what a step takes off them is their gradient."""
    params = " ".join(f'({n} (param "{n}" [{" ".join(map(str, s))}] :init (normal 1.0)))' for n, s in shapes.items())
    sizes = " ".join(map(str, (*shapes["q"][:3], shapes["v"][-1])))
    return f"""
(defvar train-loader
  (loader :sources [(files ["none.parquet"])] :fields [(field :g :shape [{sizes}])] :batch-size 1 :infinite true))
(defun prepare (batch) (list :inputs (field batch :g) :targets (field batch :g)))
(defvar rate {rate})
(defun model (g)
  (let ({params} (out (buffer "out" [{sizes}])))
    (let ((y {body.format(call)}))
      (update-buffer "out" (stop-gradient y))
      (sum (* g y)))))
(defun objective (outputs targets) outputs)
(defvar optimizer (sgd :lr 1.0))
"""


def attend(q, k, v, mask, rate, seen=None):
    k, v = (jnp.repeat(x, q.shape[1] // x.shape[1], 1) for x in (k, v))
    scores = jnp.einsum("bhtd,bhsd->bhts", q, k) / np.sqrt(q.shape[-1])
    if seen is not None:
        scores = jnp.where(seen, scores, -1e30)
    probs = jax.nn.softmax(scores)
    return jnp.where(mask, probs / (1 - rate), 0) @ v


class Setting:
    """One program; a run sets the parameters, takes step 0 and gives the output and the gradients."""

    def __init__(self, shapes, text, folder, target="cpu"):
        self.trained, self.shapes = Trained(text, folder, target=target), shapes
        rng = np.random.default_rng(3)
        self.arrays = {n: rng.standard_normal(s).astype(np.float32) for n, s in shapes.items()}
        self.g = rng.standard_normal((1, *shapes["q"][:3], shapes["v"][-1])).astype(np.float32)
        self.heads = shapes["q"][1] // shapes["v"][1]

    def run(self, arrays, step=0):
        state = {t.name: np.zeros(t.shape, np.float32) for t in self.trained.manifest.state}
        self.trained.session.state_set(state | arrays)
        self.trained.done = step
        self.trained.step({"g": self.g})
        after = self.trained.state()
        return after["out"], {n: a - after[n] for n, a in arrays.items()}

    def mask(self, step=0):
        eye = np.broadcast_to(np.eye(self.shapes["v"][-1], dtype=np.float32), self.shapes["v"])
        return self.run(self.arrays | {"v": np.ascontiguousarray(eye)}, step)[0] != 0

    def check(self, mask, rate, seen=None, step=0):
        out, gradients = self.run(self.arrays, step)
        wanted, pull = jax.vjp(lambda *x: attend(*x, mask, rate, seen), *self.arrays.values())
        np.testing.assert_allclose(out, wanted, atol=2e-5)
        for name, gradient in zip(self.arrays, pull(jnp.asarray(self.g[0], wanted.dtype)), strict=True):
            np.testing.assert_allclose(gradients[name], gradient, atol=1e-4, err_msg=name)


@pytest.mark.parametrize("target", ["cpu", "vulkan"])
def test_is_jax_with_the_same_mask(target, request, tmp_path):
    if target == "vulkan":
        request.getfixturevalue("vulkan_session")
    setting = Setting(SHAPE, program(SHAPE, "(attention q k v :dropout rate)"), tmp_path, target)
    mask = setting.mask()
    # The bits are those of the first site, as the reference generator gives them.
    words = site_words(run_key(0, 0, 0, 0), 0, 0, mask.size).reshape(mask.shape)
    np.testing.assert_array_equal(mask, words < 0.75 * 2**32)
    setting.check(mask, 0.25)
    other = setting.mask(step=1)
    assert (other != mask).any()
    setting.check(other, 0.25, step=1)


@pytest.mark.slow
@pytest.mark.parametrize("body", ["{}", "(remat {})", "(repeat 1 (fn (h i) {}) out)",
                                  "(repeat 1 (fn (h i) (remat {})) out)"])
def test_in_blocks_and_in_regions(body, tmp_path):
    """Causal, in two blocks, each with a site of its own; the rate a number of the graph."""
    text = program(LONG, "(attention q k v :causal true :dropout (schedule :rate rate))", body)
    setting = Setting(LONG, text, tmp_path)
    seen = np.tril(np.ones((260, 260), bool))
    mask = setting.mask() | ~seen
    assert 0.74 < mask[..., seen].mean() < 0.76
    setting.check(mask, 0.25, seen)


@pytest.mark.slow
def test_second_order(tmp_path):
    """The gradient of a gradient through the same mask."""
    inner = "(attention q k v :dropout rate)"
    setting = Setting(SHAPE, program(SHAPE, inner), tmp_path)
    mask = setting.mask()
    text = program(SHAPE, f"(gradient (fn (x) (sum (square {inner.replace('q', 'x', 1)}))) q)").replace(
        "[2 4 5 7]", "[2 4 5 6]")
    again = Setting(SHAPE, text.replace(":shape [2 4 5 7]", ":shape [2 4 5 6]"), tmp_path)
    again.g = again.g[..., :6]
    out, gradients = again.run(again.arrays)
    first = jax.grad(lambda q, k, v: (attend(q, k, v, mask, 0.25) ** 2).sum())
    wanted, pull = jax.vjp(first, *again.arrays.values())
    np.testing.assert_allclose(out, wanted, atol=1e-4)
    for name, gradient in zip(again.arrays, pull(jnp.asarray(again.g[0])), strict=True):
        np.testing.assert_allclose(gradients[name], gradient, atol=2e-3, err_msg=name)


@pytest.mark.parametrize(("call", "code"), [
    ("(attention q k v :dropout 1.0)", "E-VALUE-007"), ("(attention q k v :dropout -0.1)", "E-VALUE-007"),
    ("(attention q k v :dropout q)", "E-TYPE-003"), ("(attention q k v :dropout nil)", "E-TYPE-003"),
    ("(dropout g 1)", "E-VALUE-007"), ("(dropout g (ones [2]))", "E-TYPE-003"),
])
def test_a_rate_is_a_share(call, code):
    assert [d.code for d in found(program(SHAPE, call))][:1] == [code]
