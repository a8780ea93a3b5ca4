"""Counters and metrics become two results of their function: `metrics: tensor<Mxf32>`, `counters: tensor<Cxi64>`.

Entry 0 of the metrics is the loss, a mean of weight 1; then the metrics and the float counters in program order. A
mean takes two numbers, value × weight and weight; every other reduction takes one. The manifest says where each stands.
In training `size` counts two more numbers, which `step` appends: the gradient norm and the skip flag.

What was reported in a `repeat` has an axis for the layers, and `layers` says of how many axes each place has a name of
its own, and entries; over the rest of them the reduction goes, here. Counters are summed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.passes import functions as fn
from sexpgpu.compiler.passes import manifest as mf
from sexpgpu.compiler.passes.base import NoOptions, Pass
from sexpgpu.compiler.passes.parameters import text_fact
from sexpgpu.runtime.layers import names_of

#: What `step` appends: gradient norm, skip flag.
OPTIMIZER_NUMBERS = 2


#: How the layers' numbers of one metric are put together; `last` takes the last.
_COMBINED = {"mean": "add", "sum": "add", "max": "maximum", "min": "minimum"}


def _together(value: ir.Value, layers: int, reduce: str) -> ir.Value:
    """`[n]`, a number for each name: of the axes the first `layers` stay, over the others it goes. A scalar stays."""
    shape = hlo.shape_of(value)
    if not shape:
        return value
    rest = range(layers, len(shape))
    if reduce == "last":
        value = hlo.slice_(value, [n - 1 if i in rest else 0 for i, n in enumerate(shape)], shape)
    elif rest:
        value = hlo.reduce(value, list(rest), _COMBINED[reduce])
    return hlo.reshape(value, [prod(shape[:layers])])


@dataclass(slots=True)
class _Vectors:
    """The numbers of one function, in vectors."""

    metrics: list[ir.Value] = field(default_factory=list)
    counters: list[ir.Value] = field(default_factory=list)
    entries: list[mf.Json] = field(default_factory=list)
    counter_rows: list[mf.Json] = field(default_factory=list)
    size: int = 0

    def add(self, names: Sequence[str], reduce: str, value: ir.Value, weight: ir.Value | None, layers: int = 0, *,
            counter: bool = False, weighted: bool = False) -> None:
        """`names` has one for each place of the first `layers` axes of `value` and `weight`."""
        width = 2 if reduce == "mean" else 1
        self.entries += [{"name": name, "reduce": reduce, "offset": self.size + width * i, "counter": counter,
                          "weighted": weighted} for i, name in enumerate(names)]
        self.size += width * len(names)
        if reduce != "mean":
            self.metrics.append(_together(value, layers, reduce))
            return
        alone = prod(hlo.shape_of(value)[layers:])
        if weight is None or (alone > 1 and not weighted):
            # One that nobody weighs weighs 1, however many layers there are.
            value = _together(value, layers, reduce)
            value = hlo.divide(value, hlo.splat(alone, [len(names)], "f32")) if alone > 1 else value
            weight = hlo.splat(1.0, hlo.shape_of(value), "f32")
        else:
            value, weight = (_together(v, layers, reduce) for v in (hlo.multiply(value, weight), weight))
        if not hlo.shape_of(value):
            self.metrics += [value, weight]
            return
        rows = [hlo.reshape(v, [len(names), 1]) for v in (value, weight)]
        self.metrics.append(hlo.reshape(hlo.concatenate(rows, 1), [2 * len(names)]))

    def take(self, op: ir.Operation) -> bool:
        """Reads one marker; False when it is another operation."""
        kind = hlo.marker_kind(op)
        if kind not in ("metric", "counter"):
            return False
        assert op.parent.name == "func.func", f"a {kind} stands at the top level of its function"
        value, layers = op.operands[0], _layers(op)
        shape = hlo.shape_of(value)
        names = names_of(text_fact(op, "name"), shape[:layers])[0] if layers else [text_fact(op, "name")]
        if kind == "metric":
            self.add(names, text_fact(op, "reduce"), value, op.operands[1], layers, weighted=_weighted(op))
            return True
        exact = isinstance(hlo.element_type(value), ir.IntegerType)
        self.counter_rows += [{"name": name, "dtype": "i64" if exact else "f64"} for name in names]
        if exact:
            self.counters.append(_together(hlo.convert(value, "i64"), layers, "sum"))
        else:
            self.add(names, "sum", hlo.convert(value, "f32"), None, layers, counter=True)
        return True


def _layers(op: ir.Operation) -> int:
    facts = ir.DictAttr(op.attributes["backend_config"])
    return ir.IntegerAttr(facts["layers"]).value if "layers" in facts else 0


def _weighted(op: ir.Operation) -> bool:
    facts = ir.DictAttr(op.attributes["backend_config"])
    return "weighted" in facts and ir.BoolAttr(facts["weighted"]).value


def _vector(parts: list[ir.Value]) -> ir.Value:
    """Scalars and vectors in a row."""
    rows = [part if hlo.shape_of(part) else hlo.reshape(part, [1]) for part in parts]
    return hlo.concatenate(rows, 0) if len(rows) > 1 else rows[0]


def _lower(func: ir.Operation) -> _Vectors:
    found = _Vectors()
    end = fn.terminator(func)
    with ir.InsertionPoint(end), end.location:
        found.add(["loss"], "mean", end.operands[fn.result_names(func).index("loss")], None)
    for op in fn.walk(fn.body(func)):
        with ir.InsertionPoint(op), op.location:
            if found.take(op):
                op.erase()
    with ir.InsertionPoint(end), end.location:
        results = {"metrics": _vector(found.metrics)}
        if found.counters:
            results["counters"] = _vector(found.counters)
    fn.add_results(func, results)
    return found


def apply(module: ir.Module, options: NoOptions) -> None:
    manifest = mf.read(module)
    evaluations = {str(e["name"]): e for e in manifest.get("evaluations") or []}
    for func in fn.by_role(module, "train", "evaluate"):
        found = _lower(func)
        size = found.size
        if fn.role(func) == "train":
            manifest["metrics"] = {"train": found.entries, "size": size + OPTIMIZER_NUMBERS}
            manifest["counters"] = found.counter_rows
            continue
        entry = evaluations.get(fn.symbol(func).removeprefix("evaluate."))
        if entry is not None:
            entry["metrics"] = [{k: e[k] for k in ("name", "reduce", "offset", "weighted")} for e in found.entries]
            entry["size"] = size
    mf.write(module, manifest)


PASS = Pass("counters", "counters and metrics become results of their function", apply, lowers=("counter", "metric"))
