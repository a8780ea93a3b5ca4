"""Exports `evaluate_<i>`, `evaluate_<i>_row` and `export_<i>`, in the order of the manifest.

The arguments of an evaluation are the fields, `key` and `hyper`, as those of the training exports; those of an export
its inputs and `key`. Where the optimizer keeps an average of a parameter (`:ema`), both read that.
"""

from __future__ import annotations

from iree.compiler import ir
from sexpgpu.compiler.passes import accumulate as ac
from sexpgpu.compiler.passes import functions as fn
from sexpgpu.compiler.passes import globals as gl
from sexpgpu.compiler.passes import manifest as mf
from sexpgpu.compiler.passes.base import NoOptions, Pass
from sexpgpu.compiler.passes.state import EMA, global_name, state_rows, trainable


def _export(module: ir.Module, func: ir.Operation, name: str) -> None:
    named = list(zip(fn.argument_names(func), fn.body(func).arguments, strict=True))
    inputs = [*((n, v.type) for n, v in named if n.startswith("field:")), ("key", ac.key_type())]
    if fn.role(func) == "evaluate":
        inputs.append(("hyper", ac.hypers_of(module)))
    with fn.new_function(module, name, [t for _, t in inputs]) as (_, arguments):
        given = dict(zip((n for n, _ in inputs), arguments, strict=True))
        values = ac.training_arguments(module, given)
        averages = dict(state_rows(module, "optimizer"))
        for parameter in trainable(module):
            if (average := f"{parameter}.{EMA}") in averages:
                values[f"param:{parameter}"] = gl.load(global_name(average), averages[average])
        results = fn.inline_named(func, values)
        fn.return_values([results["metrics"]] if "metrics" in results else
                         [value for n, value in results.items() if n.startswith("output:")])
    func.erase()


def apply(module: ir.Module, options: NoOptions) -> None:
    manifest = mf.read(module)
    for i, entry in enumerate(manifest.get("evaluations") or []):
        whole = fn.find(module, f"evaluate.{entry['name']}")
        assert whole is not None
        entry["export"], entry["row_export"] = f"evaluate_{i}", None
        _export(module, whole, f"evaluate_{i}")
        if (row := fn.find(module, f"evaluate.{entry['name']}.row")) is not None:
            entry["row_export"] = f"evaluate_{i}_row"
            _export(module, row, f"evaluate_{i}_row")
    for i, entry in enumerate(manifest.get("exports") or []):
        func = fn.find(module, f"export.{entry['name']}")
        assert func is not None
        entry["export"] = f"export_{i}"
        _export(module, func, f"export_{i}")
    mf.write(module, manifest)


PASS = Pass("evaluations", "exports evaluate_<i>, evaluate_<i>_row and export_<i>", apply)
