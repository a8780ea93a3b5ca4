"""Counters and metrics become two results of their function: `metrics: tensor<Mxf32>`, `counters: tensor<Cxi64>`.

Entry 0 of the metrics is the loss, a mean of weight 1; then the metrics and the float counters in program order. A
mean takes two numbers, value × weight and weight; every other reduction takes one. The manifest says where each stands.
In training `size` counts two more numbers, which `step` appends: the gradient norm and the skip flag.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.passes import functions as fn
from sexpgpu.compiler.passes import manifest as mf
from sexpgpu.compiler.passes.base import NoOptions, Pass
from sexpgpu.compiler.passes.parameters import text_fact

#: What `step` appends: gradient norm, skip flag.
OPTIMIZER_NUMBERS = 2


@dataclass(slots=True)
class _Vectors:
    """The numbers of one function, each a scalar."""

    metrics: list[ir.Value] = field(default_factory=list)
    counters: list[ir.Value] = field(default_factory=list)
    entries: list[mf.Json] = field(default_factory=list)
    counter_rows: list[mf.Json] = field(default_factory=list)

    def add(self, name: str, reduce: str, value: ir.Value, weight: ir.Value | None, *, counter: bool = False,
            weighted: bool = False) -> None:
        self.entries.append({"name": name, "reduce": reduce, "offset": len(self.metrics), "counter": counter,
                             "weighted": weighted})
        if reduce != "mean":
            self.metrics.append(value)
        elif weight is None:
            self.metrics += [value, hlo.splat(1.0, [], "f32")]
        else:
            self.metrics += [hlo.multiply(value, weight), weight]

    def take(self, op: ir.Operation) -> bool:
        """Reads one marker; False when it is another operation."""
        kind = hlo.marker_kind(op)
        if kind not in ("metric", "counter"):
            return False
        assert op.parent.name == "func.func", f"a {kind} stands at the top level of its function"
        name = text_fact(op, "name")
        if kind == "metric":
            self.add(name, text_fact(op, "reduce"), op.operands[0], op.operands[1], weighted=_weighted(op))
            return True
        value = op.operands[0]
        exact = isinstance(hlo.element_type(value), ir.IntegerType)
        self.counter_rows.append({"name": name, "dtype": "i64" if exact else "f64"})
        if exact:
            self.counters.append(hlo.convert(value, "i64"))
        else:
            self.add(name, "sum", hlo.convert(value, "f32"), None, counter=True)
        return True


def _weighted(op: ir.Operation) -> bool:
    facts = ir.DictAttr(op.attributes["backend_config"])
    return "weighted" in facts and ir.BoolAttr(facts["weighted"]).value


def _vector(scalars: list[ir.Value]) -> ir.Value:
    rows = [hlo.reshape(s, [1]) for s in scalars]
    return hlo.concatenate(rows, 0) if len(rows) > 1 else rows[0]


def _lower(func: ir.Operation) -> _Vectors:
    found = _Vectors()
    end = fn.terminator(func)
    with ir.InsertionPoint(end), end.location:
        found.add("loss", "mean", end.operands[fn.result_names(func).index("loss")], None)
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
        size = len(found.metrics)
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
