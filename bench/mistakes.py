"""Ten mistakes, and what sexpc, JAX and PyTorch print for each: writes docs/mistakes.md.

    python bench/mistakes.py            # all three in this environment
    python bench/mistakes.py --jax PYTHON --torch PYTHON --sexpc COMMAND

Each program is a file of its own, run alone; what stands in the page is what was printed, whole.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/mistakes.md"


@dataclass(frozen=True)
class Mistake:
    """`ours` stands instead of, or beside, definitions of the skeleton; `jax` and `torch` follow their imports."""

    title: str
    ours: str
    jax: str
    torch: str


SKELETON = {
    "train-loader": """(defvar train-loader
  (loader :sources [(files ["data/train.parquet"])]
          :fields [(field :x :shape [16]) (field :y :shape [4]) (field :label :dtype :i32)]   ; allow W-CONTRACT-026
          :batch-size 8
          :infinite true))""",
    "prepare": "(defun prepare (batch)\n  (list :inputs (field batch :x) :targets (field batch :y)))",
    "model": '(defun model (x)\n  (matmul x (param "w" [16 4])))',
    "objective": "(defun objective (outputs targets)\n  (mse outputs targets))",
    "optimizer": "(defvar optimizer (sgd :lr 0.1))",
}
LABELS = "(defun prepare (batch)\n  (list :inputs (field batch :x) :targets (field batch :label)))\n\n"
JAX = "import jax\nimport jax.numpy as jnp\n\nkey = jax.random.key(0)\nx = jnp.ones([8, 16])\n"
TORCH = "import torch\nimport torch.nn.functional as F\n\nx = torch.ones(8, 16)\n"

TEN = (
    Mistake("A weight with its axes the wrong way round",
            '(defun dense (x out)\n  (matmul x (param "w" [out (dim x -1)])))\n\n(defun model (x)\n  (dense x 4))',
            "def dense(x, out):\n    w = jnp.ones([out, x.shape[-1]])\n    return x @ w\n\njax.jit(dense, "
            "static_argnums=1)(x, 4)",
            "def dense(x, out):\n    w = torch.ones(out, x.shape[-1])\n    return x @ w\n\ndense(x, 4)"),
    Mistake("A bias of the wrong size",
            '(defvar width 32)\n\n(defun model (x)\n  (let ((h (+ (matmul x (param "up" [16 width]))\n'
            '              (param "bias" [16] :init zeros))))\n    (matmul h (param "down" [width 4]))))',
            "def model(x):\n    h = x @ jnp.ones([16, 32]) + jnp.zeros([16])\n    return h @ jnp.ones([32, 4])\n\n"
            "jax.jit(model)(x)",
            "def model(x):\n    h = x @ torch.ones(16, 32) + torch.zeros(16)\n    return h @ torch.ones(32, 4)\n\n"
            "model(x)"),
    Mistake("A mean that drops the axis it is taken over",
            '(defun model (x)\n  (matmul (- x (mean x :axis 1)) (param "w" [16 4])))',
            "def model(x):\n    return (x - x.mean(axis=1)) @ jnp.ones([16, 4])\n\njax.jit(model)(x)",
            "def model(x):\n    return (x - x.mean(dim=1)) @ torch.ones(16, 4)\n\nmodel(x)"),
    Mistake("A reshape that is one off",
            '(defvar heads 4)\n(defvar width 5)\n\n(defun model (x)\n  (let ((h (reshape x [(dim x 0) heads width])))\n'
            '    (sum (* h (param "w" [4 1])) :axis 2)))',
            "heads, width = 4, 5\n\ndef model(x):\n    h = x.reshape(x.shape[0], heads, width)\n    return h.sum(2)\n\n"
            "jax.jit(model)(x)",
            "heads, width = 4, 5\n\ndef model(x):\n    h = x.reshape(x.shape[0], heads, width)\n    return h.sum(2)\n\n"
            "model(x)"),
    Mistake("Joined along the wrong axis",
            '(defun model (x)\n  (concat [(matmul x (param "a" [16 3])) (matmul x (param "b" [16 1]))]))',
            "def model(x):\n    return jnp.concatenate([x @ jnp.ones([16, 3]), x @ jnp.ones([16, 1])])\n\n"
            "jax.jit(model)(x)",
            "def model(x):\n    return torch.cat([x @ torch.ones(16, 3), x @ torch.ones(16, 1)])\n\nmodel(x)"),
    Mistake("Outputs `[8 1]` against targets `[8]`: every one with every other",
            '(defun prepare (batch)\n  (list :inputs (field batch :x) :targets (sum (field batch :y) :axis 1)))\n\n'
            '(defun model (x)\n  (matmul x (param "w" [16 1])))',
            "targets = jnp.ones([8])\n\ndef loss(x):\n    outputs = x @ jnp.ones([16, 1])\n"
            "    return jnp.mean((outputs - targets) ** 2)\n\nprint(jax.jit(loss)(x))",
            "targets = torch.ones(8)\n\ndef loss(x):\n    outputs = x @ torch.ones(16, 1)\n"
            "    return F.mse_loss(outputs, targets)\n\nprint(loss(x))"),
    Mistake("The keyword of another library",
            "(defun objective (outputs targets)\n  (mean (sum (square (- outputs targets)) :dim -1)))",
            "def loss(outputs, targets):\n    return jnp.mean(jnp.sum((outputs - targets) ** 2, dim=-1))\n\n"
            "jax.jit(loss)(x, x)",
            "def loss(outputs, targets):\n    return torch.mean(torch.sum((outputs - targets) ** 2, axes=-1))\n\n"
            "loss(x, x)"),
    Mistake("An axis too far",
            LABELS + "(defun objective (logits labels)\n"
                     "  (metric :accuracy (mean (= (argmax logits :axis 2) labels)))\n  (cross-entropy logits labels))",
            "labels = jnp.ones([8], jnp.int32)\n\ndef accuracy(logits):\n"
            "    return jnp.mean(jnp.argmax(logits, axis=2) == labels)\n\njax.jit(accuracy)(x)",
            "labels = torch.ones(8, dtype=torch.long)\n\ndef accuracy(logits):\n"
            "    return (logits.argmax(dim=2) == labels).float().mean()\n\naccuracy(x)"),
    Mistake("Logits and labels exchanged",
            LABELS + "(defun objective (logits labels)\n  (cross-entropy labels logits))",
            "import optax\n\nlabels = jnp.ones([8], jnp.int32)\n\ndef loss(logits):\n"
            "    return optax.softmax_cross_entropy_with_integer_labels(labels, logits).mean()\n\njax.jit(loss)(x)",
            "labels = torch.ones(8, dtype=torch.long)\n\ndef loss(logits):\n    return F.cross_entropy(labels, logits)"
            "\n\nloss(x)"),
    Mistake("A layer stacked on one that it does not fit, three calls down",
            '(defun project (x name out)\n  (linear x (param name [16 out]) (param (str name "-b") [out] :init zeros)))'
            '\n\n(defun block (x)\n  (project (relu (project x "up" 64)) "down" 16))\n\n(defun model (x)\n'
            '  (project (block x) "out" 4))',
            "def project(x, out):\n    return x @ jnp.ones([16, out]) + jnp.zeros([out])\n\n\ndef block(x):\n"
            "    return project(jax.nn.relu(project(x, 64)), 16)\n\n\ndef model(x):\n"
            "    return project(block(x), 4)\n\n\n"
            "jax.jit(model)(x)",
            "def project(x, out):\n    return F.linear(x, torch.ones(out, 16), torch.zeros(out))\n\n\ndef block(x):\n"
            "    return project(F.relu(project(x, 64)), 16)\n\n\ndef model(x):\n    return project(block(x), 4)\n\n\n"
            "model(x)"),
)

HEAD = """# Ten mistakes

Each mistake in three programs, and what each of the three prints, as printed. `sexpc check` is run before there is
data or a device; JAX and PyTorch run the line that is wrong. `python bench/mistakes.py` writes this page.

With jax {jax} and torch {torch}.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("jax", "torch"):
        parser.add_argument(f"--{name}", metavar="PYTHON", type=shlex.split, default=[sys.executable],
                            help=f"an interpreter that has {name}; this one by default")
    parser.add_argument("--sexpc", metavar="COMMAND", type=shlex.split, help="that of this interpreter by default",
                        default=[sys.executable, "-m", "sexpgpu.cli.sexpc"])
    chosen = parser.parse_args()
    jax, torch, sexpc = chosen.jax, chosen.torch, chosen.sexpc
    versions = {name: printed([*python, "-c", f"import {name}; print({name}.__version__)"], ROOT).strip()
                for name, python in (("jax", jax), ("torch", torch))}
    rows = [HEAD.format(**versions)]
    with tempfile.TemporaryDirectory() as folder:
        for number, mistake in enumerate(TEN, 1):
            rows += [f"## {number}. {mistake.title}", ""]
            for name, file, text, command in (
                    ("sexpc", "experiment.sexp", experiment(mistake.ours), [*sexpc, "check"]),
                    ("JAX", "model.py", JAX + mistake.jax + "\n", jax),
                    ("PyTorch", "model.py", TORCH + mistake.torch + "\n", torch)):
                (Path(folder) / file).write_text(text, encoding="utf-8")
                shown = mistake.ours if name == "sexpc" else mistake.jax if name == "JAX" else mistake.torch
                rows += [f"### {name}", "", "```lisp" if name == "sexpc" else "```python", shown, "```", "", "```text",
                         printed([*command, file], Path(folder)).rstrip("\n") or "(nothing: it runs)", "```", ""]
    PAGE.write_text("\n".join(rows).rstrip("\n") + "\n", encoding="utf-8")


def experiment(ours: str) -> str:
    taken = set(re.findall(r"^\(def\w+ ([^\s()]+)", ours, re.MULTILINE))
    return "\n\n".join([*(text for name, text in SKELETON.items() if name not in taken), ours]) + "\n"


def printed(command: list[str], folder: Path) -> str:
    """All that a command prints, without the paths of this machine."""
    environment = {**os.environ, "NO_COLOR": "1", "COLUMNS": "110", "PYTHONUTF8": "1", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(command, cwd=folder, env=environment, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False)
    text = done.stdout.replace(f"{folder}/", "")
    text = re.sub(r'File "[^"]*/(site-packages/)', r'File "…/\1', text)
    return text


if __name__ == "__main__":
    main()
