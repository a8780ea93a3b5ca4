"""Schedules of the prelude, at every step of a run, as compiled for the host."""

import math

import pytest
from iree.compiler import ir
from language import FILE, Session
from runner import Program
from sexpgpu.compiler.frontend.evaluator import Evaluator
from sexpgpu.compiler.frontend.ops.support import host
from sexpgpu.compiler.frontend.report import Reporter
from sexpgpu.compiler.frontend.trace import Phase, Trace
from sexpgpu.compiler.frontend.values import Ctx, HostScalar
from sexpgpu.compiler.passes.iree.driver import CompileOptions, generate
from sexpgpu.compiler.passes.iree.targets import parse_target
from sexpgpu.diagnostics import SourceFile, SourceMap, Span

TOTAL = 40
PLACE = Span(FILE, 1, 1, 1, 2)
KEYS = {"step": "i64", "steps": "i64", "progress": "f64"}


def cosine(start, end, step, total):
    return end + 0.5 * (start - end) * (1 + math.cos(math.pi * min(step / total, 1)))


def wsd(step):
    rise = min((step + 1) / 5, 1)
    return rise * (0.1 + 0.9 * min(max((TOTAL - step) / 10, 0), 1))


def functions(x):
    return (math.exp(x) + math.log1p(x) + math.sqrt(x) + math.tanh(x) + 1 / (1 + math.exp(-x)) + x * x + (x > 0)
            + math.floor(10 * x) + math.ceil(x) + abs(x - 1) + x ** 1.5 + math.sin(x) + math.tan(x)
            + math.trunc((x - 0.5) / 0.1) + (x - 0.5) % 0.3 + round(7 * x))


#: The schedule, and its value in a step of a run of TOTAL steps.
CASES = {
    "warmup": ("(warmup 8 1e-3)", lambda s: 1e-3 * min((s + 1) / 8, 1)),
    "warmup-cosine": ("(warmup 8 (cosine-decay 3e-3 :end 3e-4))",
                      lambda s: min((s + 1) / 8, 1) * cosine(3e-3, 3e-4, s, TOTAL)),
    "linear": ("(linear-decay 2.0 :end 0.5)", lambda s: 2 - 1.5 * s / TOTAL),
    "linear-own-length": ("(linear-decay 1 :steps 10)", lambda s: 1 - min(s / 10, 1)),
    "cosine": ("(cosine-decay 1.0 :steps 20)", lambda s: cosine(1, 0, s, 20)),
    "exponential": ("(exponential-decay 0.5 0.9 :every 4)", lambda s: 0.5 * 0.9 ** (s / 4)),
    "inverse-sqrt": ("(inverse-sqrt 1e-2 :warmup 6)", lambda s: 1e-2 * min((s + 1) / 6, math.sqrt(6 / (s + 1)))),
    "wsd": ("(wsd 1.0 :warmup 5 :decay 10 :end 0.1)", wsd),
    "wsd-default": ("(wsd 1.0)", lambda s: min(max((TOTAL - s) / 8, 0), 1)),
    "piecewise": ("(piecewise [1 0.1 1e-2] [10 30])", lambda s: 1 if s < 10 else 0.1 if s < 30 else 1e-2),
    "chain": ("(chain [(linear-decay 1.0 :steps 20) 0.25] [10])", lambda s: 1 - s / 20 if s < 10 else 0.25),
    "own": ("(fn (ctx) (if (< (get ctx :step) 10) (* 0.001 (+ (get ctx :step) 1)) (- 1.0 (get ctx :progress))))",
            lambda s: 0.001 * (s + 1) if s < 10 else 1 - s / TOTAL),
    "integers": ("(fn (ctx) (+ (mod (- 3 (get ctx :step)) 7) (quotient (- 3 (get ctx :step)) 2) (round 2.5)"
                 " (max [(len [1 2]) 1])))",
                 lambda s: (3 - s) % 7 + int((3 - s) / 2) + 2 + 2),
    "logic": ("(fn (ctx) (if (and (>= (get ctx :step) 5) (not (= (get ctx :step) 7))) 1 0))",
              lambda s: float(s >= 5 and s != 7)),
    "functions": ("(fn (ctx) (let ((x (get ctx :progress)))"
                  " (+ (exp x) (log1p x) (sqrt x) (tanh x) (sigmoid x) (square x) (sign x) (floor (* 10 x)) (ceil x)"
                  " (abs (- x 1)) (pow x 1.5) (sin x) (tan x) (quotient (- x 0.5) 0.1) (mod (- x 0.5) 0.3)"
                  " (round (* 7 x)))))", lambda s: functions(s / TOTAL)),
}


def stage(session: Session, name: str, source: str) -> None:
    with session.context, ir.Location.unknown():
        reporter, sources = Reporter(), SourceMap()
        evaluator = Evaluator(sources, reporter, {})
        evaluator.trace = Trace(phase=Phase.CTX)
        Session.define(evaluator, reporter, sources.add(SourceFile(FILE, f"(defvar schedule {source})")))
        types = [ir.Type.parse(kind) for kind in KEYS.values()]
        with ir.InsertionPoint(session.module.body):
            ir.Operation.create("func.func", regions=1, attributes={
                "sym_name": ir.StringAttr.get(name),
                "function_type": ir.TypeAttr.get(ir.FunctionType.get(types, [ir.F64Type.get()]))})
        func = list(session.module.body.operations)[-1]
        block = ir.Block.create_at_start(func.operation.regions[0], types)
        with ir.InsertionPoint(block):
            values = {key: HostScalar(argument, kind, PLACE)
                      for (key, kind), argument in zip(KEYS.items(), block.arguments, strict=True)}
            value = evaluator.apply(evaluator.define(evaluator.user.table["schedule"]), [Ctx(values, True)], PLACE)
            assert not reporter.found, (name, reporter.found)
            result = host.to_kind(host.scalar(value, PLACE), "f64")
            ir.Operation.create("func.return", operands=[result])


@pytest.fixture(scope="module")
def program():
    session = Session()
    for name, (source, _) in CASES.items():
        stage(session, name, source)
    with session.context, ir.Location.unknown():
        return Program(generate(session.module, parse_target("cpu"), CompileOptions()))


@pytest.mark.parametrize("name", list(CASES))
def test_at_every_step(name, program):
    for step in range(TOTAL + 5):
        progress = min(step / TOTAL, 1.0)
        found = float(program.call(name, step, TOTAL, progress)[0])
        wanted = CASES[name][1](step) if step <= TOTAL else None
        if wanted is not None:
            assert math.isclose(found, wanted, rel_tol=1e-12, abs_tol=1e-15), (name, step, found, wanted)
        assert math.isfinite(found)


def optax_schedules():
    optax = pytest.importorskip("optax")
    return {
        "linear": optax.linear_schedule(2.0, 0.5, TOTAL),
        "linear-own-length": optax.linear_schedule(1.0, 0.0, 10),
        "cosine": optax.cosine_decay_schedule(1.0, 20),
        "exponential": optax.exponential_decay(0.5, 4, 0.9),
        "piecewise": optax.piecewise_constant_schedule(1.0, {10: 0.1, 30: 0.1}),
        "chain": optax.join_schedules([optax.linear_schedule(1.0, 0.0, 20), lambda n: 0.25], [10]),
        # The first of our steps already has a share of the peak; so has Optax's, one step on.
        "warmup": lambda n: optax.linear_schedule(0.0, 1e-3, 8)(n + 1),
    }


@pytest.mark.parametrize("name", ["linear", "linear-own-length", "cosine", "exponential", "piecewise", "chain",
                                  "warmup"])
def test_is_optax(name, program):
    theirs = optax_schedules()[name]
    for step in range(TOTAL):
        found = float(program.call(name, step, TOTAL, step / TOTAL)[0])
        if name == "chain" and step >= 10:
            assert found == 0.25
        else:
            assert math.isclose(found, float(theirs(step)), rel_tol=1e-5, abs_tol=1e-6), (name, step)
