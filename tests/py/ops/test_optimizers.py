"""Each optimizer of the prelude is its published rule over 100 steps, in f64 by NumPy, and Optax's in f32."""

from collections.abc import Callable, Mapping

import numpy as np
import pytest
from iree.compiler import ir
from language import Expression, Session, flat
from runner import Program
from sexpgpu.compiler.frontend.contract_values import Optimizer
from sexpgpu.compiler.frontend.data import Keyword
from sexpgpu.compiler.frontend.trace import Phase
from sexpgpu.compiler.frontend.values import is_plist, plist_items
from sexpgpu.compiler.passes.iree.driver import CompileOptions, generate
from sexpgpu.compiler.passes.iree.targets import parse_target
from sexpgpu.diagnostics import Span

STEPS = 100
SHAPE = (5, 3)
PLACE = Span("test.sexp", 1, 1, 1, 2)


def rates() -> np.ndarray:
    """A learning rate that changes with every step."""
    return np.float32(1e-2 * (1 + np.cos(np.arange(STEPS) / 30)))


def gradients() -> np.ndarray:
    return np.random.default_rng(3).standard_normal((STEPS, *SHAPE)).astype(np.float32) * np.float32(0.3)


def start() -> np.ndarray:
    return np.random.default_rng(4).standard_normal(SHAPE).astype(np.float32)


# -- the published rules -----------------------------------------------------------------------------------------------

State = dict[str, np.ndarray]
Rule = Callable[[np.ndarray, np.ndarray, State, float, int], np.ndarray]


def sgd(momentum: float, nesterov: bool) -> Rule:
    """PyTorch's SGD with dampening 0."""
    def step(p, g, state, lr, n):
        if momentum == 0:
            return p - lr * g
        state["v"] = momentum * state.get("v", 0) + g
        return p - lr * (g + momentum * state["v"] if nesterov else state["v"])
    return step


def adam(beta1: float, beta2: float, eps: float) -> Rule:
    """Algorithm 1 of Kingma and Ba 2015 (arXiv:1412.6980)."""
    def step(p, g, state, lr, n):
        state["m"] = beta1 * state.get("m", 0) + (1 - beta1) * g
        state["v"] = beta2 * state.get("v", 0) + (1 - beta2) * g * g
        m, v = state["m"] / (1 - beta1 ** n), state["v"] / (1 - beta2 ** n)
        return p - lr * m / (np.sqrt(v) + eps)
    return step


def lion(beta1: float, beta2: float) -> Rule:
    """Algorithm 2 of Chen and others 2023 (arXiv:2302.06675), without its decay."""
    def step(p, g, state, lr, n):
        m = state.get("m", np.zeros_like(p))
        state["m"] = beta2 * m + (1 - beta2) * g
        return p - lr * np.sign(beta1 * m + (1 - beta1) * g)
    return step


def muon(momentum: float) -> Rule:
    """Keller Jordan's reference (github.com/KellerJordan/Muon), in f64 instead of bf16."""
    def step(p, g, state, lr, n):
        m = state["m"] = momentum * state.get("m", 0) + (1 - momentum) * g
        update = (1 - momentum) * g + momentum * m
        x = update.T if p.shape[0] > p.shape[1] else update
        x = x / (np.linalg.norm(x) + 1e-7)
        for _ in range(5):
            a = x @ x.T
            x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
        x = x.T if p.shape[0] > p.shape[1] else x
        return p - lr * max(1, p.shape[0] / p.shape[1]) ** 0.5 * x
    return step


def adafactor(floor: float, factored: bool) -> Rule:
    """Algorithm 4 of Shazeer and Stern 2018 (arXiv:1804.04235) with relative steps, d = 1, ε₁ = 1e-30."""
    def step(p, g, state, lr, n):
        keep, power = 1 - n ** -0.8, g * g + 1e-30
        if factored:
            rows = state["r"] = keep * state.get("r", 0) + (1 - keep) * power.mean(1)
            columns = state["c"] = keep * state.get("c", 0) + (1 - keep) * power.mean(0)
            update = g / np.sqrt(np.outer(rows, columns) / rows.mean())
        else:
            state["v"] = keep * state.get("v", 0) + (1 - keep) * power
            update = g / np.sqrt(state["v"])
        update = update / max(1, np.sqrt((update ** 2).mean()))
        return p - lr * max(np.sqrt((p ** 2).mean()), floor) * update
    return step


CASES: dict[str, tuple[str, Rule]] = {
    "sgd": ("(sgd :lr 1)", sgd(0, False)),
    "momentum": ("(sgd :lr 1 :momentum 0.9)", sgd(0.9, False)),
    "nesterov": ("(sgd :lr 1 :momentum 0.8 :nesterov true)", sgd(0.8, True)),
    "adamw": ("(adamw :lr 1)", adam(0.9, 0.999, 1e-8)),
    "adamw_betas": ("(adamw :lr 1 :beta1 0.8 :beta2 0.95 :eps 1e-3)", adam(0.8, 0.95, 1e-3)),
    "muon": ("(muon :lr 1)", muon(0.95)),
    "adafactor": ("(adafactor :lr 1)", adafactor(1e-3, False)),
    "adafactor_factored": ("(adafactor :lr 1 :factored 2 :floor 0.1)", adafactor(0.1, True)),
    "lion": ("(lion :lr 1)", lion(0.9, 0.99)),
}


# -- ours --------------------------------------------------------------------------------------------------------------

def stage(session: Session, name: str, source: str) -> list[str]:
    """Two functions, `<name>_init` (p) and `<name>` (p, g, lr, states…); the names of the states."""
    names: list[str] = []
    shapes: list[tuple[int, ...]] = []

    def start_state(evaluator, optimizer, tensors):
        assert isinstance(optimizer, Optimizer)
        state = evaluator.apply(optimizer.init, tensors[:1], PLACE)
        assert is_plist(state)
        for key, value in plist_items(state):
            names.append(key)
            shapes.append(tuple(int(d) for d in value.shape))
        return state

    def update(evaluator, optimizer, tensors):
        p, g, lr, *states = tensors
        state = tuple(x for key, value in zip(names, states, strict=True) for x in (Keyword(key), value))
        made = dict(plist_items(evaluator.apply(optimizer.update, [p, g, state, (Keyword("lr"), lr)], PLACE)))
        after = dict(plist_items(made["state"]))
        return (made["param"], *[after[key] for key in names])

    zeros = np.zeros(SHAPE, np.float32)
    _, found, _ = session.stage(Expression(f"{name}_init", source, {"p": zeros}), phase=Phase.OPTIMIZER,
                                finish=start_state)
    assert not found, found
    arguments: Mapping[str, np.ndarray] = {
        "p": zeros, "g": zeros, "lr": np.zeros((), np.float32),
        **{f"state-{key}": np.zeros(shape, np.float32) for key, shape in zip(names, shapes, strict=True)}}
    value, found, _ = session.stage(Expression(name, source, arguments), phase=Phase.OPTIMIZER, finish=update)
    assert not found, found
    assert len(flat(value)) == 1 + len(names)
    return names


@pytest.fixture(scope="module")
def program():
    session = Session()
    for name, (source, _) in CASES.items():
        stage(session, f"of_{name}", source)
    with session.context, ir.Location.unknown():
        return Program(generate(session.module, parse_target("cpu"), CompileOptions()))


@pytest.mark.parametrize("name", list(CASES))
def test_is_its_published_rule(name, program):
    rule = CASES[name][1]
    ours = start()
    states = program.call(f"of_{name}_init", ours)
    reference, memory = start().astype(np.float64), {}
    for n, (lr, g) in enumerate(zip(rates(), gradients(), strict=True), 1):
        ours, *states = program.call(f"of_{name}", ours, g, lr, *states)
        reference = rule(reference, g.astype(np.float64), memory, float(lr), n)
        if n == 1:
            np.testing.assert_allclose(ours, reference, rtol=3e-6, atol=3e-7, err_msg="the first step")
    np.testing.assert_allclose(ours, reference, rtol=2e-5, atol=2e-6)


def optax_rules():
    optax = pytest.importorskip("optax")
    # `:weight-decay` is not part of `:update`: it is tested with whole experiments.
    return {
        "sgd": lambda lr: optax.sgd(lr), "momentum": lambda lr: optax.sgd(lr, momentum=0.9),
        "nesterov": lambda lr: optax.sgd(lr, momentum=0.8, nesterov=True),
        "adamw": lambda lr: optax.adamw(lr, weight_decay=0.0),
        "adamw_betas": lambda lr: optax.adamw(lr, b1=0.8, b2=0.95, eps=1e-3, weight_decay=0.0),
        "lion": lambda lr: optax.lion(lr, weight_decay=0.0),
        "adafactor": lambda lr: optax.adafactor(lr),
        "adafactor_factored": lambda lr: optax.chain(
            optax.scale_by_factored_rms(min_dim_size_to_factor=2), optax.clip_by_block_rms(1.0),
            optax.scale_by_learning_rate(lr, flip_sign=False), optax.scale_by_param_block_rms(0.1), optax.scale(-1)),
    }


@pytest.mark.parametrize("name", ["sgd", "momentum", "nesterov", "adamw", "adamw_betas", "lion", "adafactor",
                                  "adafactor_factored"])
def test_is_optax(name, program):
    rule = optax_rules()[name](lambda count: rates_of_jax()[count])
    theirs = start()
    memory = rule.init(theirs)
    ours = start()
    states = program.call(f"of_{name}_init", ours)
    for lr, g in zip(rates(), gradients(), strict=True):
        ours, *states = program.call(f"of_{name}", ours, g, lr, *states)
        change, memory = rule.update(g, memory, theirs)
        theirs = theirs + np.asarray(change)
    np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)


def rates_of_jax():
    import jax.numpy as jnp

    return jnp.asarray(rates())
