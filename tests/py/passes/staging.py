"""Staged modules written by hand, as the frontend would leave them: what the tests of passes start from."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
from iree.compiler import ir
from sexpgpu.compiler import hlo


class Stage:
    """One module under construction; use inside `with stage:`."""

    def __init__(self) -> None:
        self.context = ir.Context()
        with self.context, ir.Location.unknown():
            self.module = ir.Module.create()
        self._line = 0
        self._inits: dict[str, Callable[[], ir.Value]] = {}

    def __enter__(self) -> Stage:
        self.context.__enter__()
        self._location = ir.Location.file("sample.sexp", 1, 1, 1, 2)
        self._location.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._location.__exit__(*error)
        self.context.__exit__(*error)

    def at(self, line: int) -> ir.Location:
        """A source location, to be used in a `with`."""
        return ir.Location.file("sample.sexp", line, 3, line, 20)

    @contextmanager
    def function(self, name: str, role: str | None, inputs: Sequence[ir.Type],
                 attributes: dict[str, ir.Attribute] | None = None) -> Iterator[tuple[list[ir.Value], list[ir.Value]]]:
        """Yields the arguments and a list to be filled with the results."""
        with ir.InsertionPoint(self.module.body):
            func = ir.Operation.create("func.func", regions=1, attributes={
                "sym_name": ir.StringAttr.get(name), "sym_visibility": ir.StringAttr.get("private"),
                "function_type": ir.TypeAttr.get(ir.FunctionType.get(list(inputs), [])), **(attributes or {}),
                **({"sexp.role": ir.StringAttr.get(role)} if role else {}),
            })
        block = ir.Block.create_at_start(func.regions[0], list(inputs), [ir.Location.current] * len(inputs))
        results: list[ir.Value] = []
        with ir.InsertionPoint(block):
            yield list(block.arguments), results
            ir.Operation.create("func.return", operands=results)
        func.attributes["function_type"] = ir.TypeAttr.get(
            ir.FunctionType.get(list(inputs), [r.type for r in results]))

    # -- markers ------------------------------------------------------------------------------------------------------

    def param(self, name: str, shape: Sequence[int], init: Callable[[], ir.Value], *, trainable: bool = True,
              decay: bool = True, element: str = "f32") -> ir.Value:
        self._inits.setdefault(name, init)
        return hlo.marker("param", [], [hlo.tensor_type(shape, element)], {
            "name": ir.StringAttr.get(name), "trainable": ir.BoolAttr.get(trainable), "decay": ir.BoolAttr.get(decay),
        }, [f"init.{name}"]).result

    def buffer(self, name: str, shape: Sequence[int], init: Callable[[], ir.Value]) -> ir.Value:
        self._inits.setdefault(name, init)
        return hlo.marker("buffer", [], [hlo.tensor_type(shape, "f32")], {"name": ir.StringAttr.get(name)},
                          [f"init.{name}"]).result

    def update_buffer(self, name: str, value: ir.Value) -> None:
        hlo.marker("update_buffer", [value], [], {"name": ir.StringAttr.get(name)})

    def counter(self, name: str, value: ir.Value) -> None:
        hlo.marker("counter", [value], [], {"name": ir.StringAttr.get(name)})

    def metric(self, name: str, value: ir.Value, weight: ir.Value | None = None, reduce: str = "mean") -> None:
        weight = weight if weight is not None else hlo.splat(1, [], "f32")
        hlo.marker("metric", [value, weight], [],
                   {"name": ir.StringAttr.get(name), "reduce": ir.StringAttr.get(reduce)})

    def schedule(self, name: str) -> ir.Value:
        return hlo.marker("schedule", [], [hlo.tensor_type([], "f32")], {"name": ir.StringAttr.get(name)}).result

    def bits(self, site: int, shape: Sequence[int]) -> ir.Value:
        return hlo.marker("random", [], [hlo.tensor_type(shape, "ui32")], {"site": hlo.i64(site)}).result

    def uniform(self, site: int, shape: Sequence[int], low: float, high: float) -> ir.Value:
        """24 bits a number, so that every float32 is exact."""
        top = hlo.shift_right_logical(self.bits(site, shape), hlo.splat(8, shape, "ui32"))
        unit = hlo.multiply(hlo.convert(top, "f32"), hlo.splat(2.0 ** -24, shape, "f32"))
        return hlo.add(hlo.multiply(unit, hlo.splat(high - low, shape, "f32")), hlo.splat(low, shape, "f32"))

    def finish_inits(self) -> None:
        """The `init.*` functions of every parameter and buffer met so far."""
        for name, make in self._inits.items():
            with self.function(f"init.{name}", "init", []) as (_, results):
                results.append(make())

    # -- optimizers ---------------------------------------------------------------------------------------------------

    def sgd(self, types: Sequence[tuple[str, Sequence[int]]]) -> None:
        """@optimizer of plain gradient descent; one hyper, the learning rate; no state."""
        tensors = [hlo.tensor_type(shape, "f32") for _, shape in types]
        with self.function("optimizer_init", "optimizer_init", tensors):
            pass
        n = len(tensors)
        with self.function("optimizer", "optimizer", [*tensors, *tensors, hlo.tensor_type([], "f32")]) as (a, results):
            rate = a[-1]
            for p, g in zip(a[:n], a[n:2 * n], strict=True):
                results.append(hlo.subtract(p, hlo.multiply(hlo.broadcast_scalar(rate, hlo.shape_of(p)), g)))
            results += [gradient_norm(a[n:2 * n]), hlo.splat(0, [], "i32")]

    def adamw(self, types: Sequence[tuple[str, Sequence[int]]], beta1: float = 0.9, beta2: float = 0.999,
              eps: float = 1e-8, decay: float = 0.01) -> None:
        """@optimizer_init and @optimizer of AdamW: states m, v and t for each parameter; one hyper, the rate."""
        tensors = [hlo.tensor_type(shape, "f32") for _, shape in types]
        scalar = hlo.tensor_type([], "f32")
        names = [f"{n}.{s}" for n, _ in types for s in ("m", "v", "t")]
        with self.function("optimizer_init", "optimizer_init", tensors, {
                "sexp.states": ir.ArrayAttr.get([ir.StringAttr.get(n) for n in names])}) as (a, results):
            for p in a:
                results += [hlo.zeros_like(p), hlo.zeros_like(p), hlo.splat(0, [], "f32")]
        states = [t for p in tensors for t in (p, p, scalar)]
        n = len(tensors)
        with self.function("optimizer", "optimizer", [*tensors, *tensors, *states, scalar]) as (a, results):
            rate, kept = a[-1], []
            for i, (p, g) in enumerate(zip(a[:n], a[n:2 * n], strict=True)):
                m, v, t = a[2 * n + 3 * i:2 * n + 3 * i + 3]
                p, m, v, t = _adamw(p, g, m, v, t, rate, beta1, beta2, eps, decay)
                results.append(p)
                kept += [m, v, t]
            results += [*kept, gradient_norm(a[n:2 * n]), hlo.splat(0, [], "i32")]

    def manifest(self, **entries: object) -> None:
        self.module.operation.attributes["sexp.manifest"] = ir.StringAttr.get(json.dumps(entries))


def gradient_norm(gradients: Sequence[ir.Value]) -> ir.Value:
    squares = [hlo.reduce(hlo.multiply(g, g), range(len(hlo.shape_of(g))), "add") if hlo.shape_of(g)
               else hlo.multiply(g, g) for g in gradients]
    total = squares[0]
    for s in squares[1:]:
        total = hlo.add(total, s)
    return hlo.sqrt(total)


def _adamw(p: ir.Value, g: ir.Value, m: ir.Value, v: ir.Value, t: ir.Value, rate: ir.Value, beta1: float,
           beta2: float, eps: float, decay: float) -> tuple[ir.Value, ir.Value, ir.Value, ir.Value]:
    shape = hlo.shape_of(p)

    def c(number: float) -> ir.Value:
        return hlo.splat(number, shape, "f32")

    def correction(beta: float) -> ir.Value:
        power = hlo.multiply(t, hlo.splat(float(np.log(beta)), [], "f32"))
        return hlo.broadcast_scalar(hlo.negate(hlo.exponential_minus_one(power)), shape)

    t = hlo.add(t, hlo.splat(1, [], "f32"))
    m = hlo.add(hlo.multiply(c(beta1), m), hlo.multiply(c(1 - beta1), g))
    v = hlo.add(hlo.multiply(c(beta2), v), hlo.multiply(c(1 - beta2), hlo.multiply(g, g)))
    step = hlo.divide(hlo.divide(m, correction(beta1)), hlo.add(hlo.sqrt(hlo.divide(v, correction(beta2))), c(eps)))
    step = hlo.add(step, hlo.multiply(c(decay), p))
    return hlo.subtract(p, hlo.multiply(hlo.broadcast_scalar(rate, shape), step)), m, v, t
