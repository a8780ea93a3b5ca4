"""Exports: functions of the experiment staged on their own, with `training?` false, for inference.

An export sees the parameters and buffers of training and may declare none. A `metric` in it reports nothing. A
`schedule` follows a run, and there is none here: one that the result depends on is refused, any other goes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.frontend.budget import Abandoned
from sexpgpu.compiler.frontend.contract_values import Export
from sexpgpu.compiler.frontend.ops.export_form import CODE
from sexpgpu.compiler.frontend.ops.support.staged import describe
from sexpgpu.compiler.frontend.staging import Function
from sexpgpu.compiler.frontend.trace import Phase, Trace
from sexpgpu.compiler.frontend.values import POISON, Tensor, has_poison, is_plist, plist_items
from sexpgpu.diagnostics import Label
from sexpgpu.diagnostics.record import record

if TYPE_CHECKING:
    from sexpgpu.compiler.frontend.evaluator import Evaluator

#: Markers that are dropped where nothing takes their result.
_IDLE = ("schedule", "param", "buffer", "random", "random_site", "stop_gradient", "custom_gradient")


@record(eq=False)
class StagedExport:
    """What the manifest says of an export: `structure` is `tensor`, `list` or `plist`, `outputs` are named."""

    export: Export
    structure: str
    outputs: tuple[tuple[str, Tensor], ...]


def stage_export(evaluator: Evaluator, export: Export, trace: Trace) -> StagedExport | None:
    """`trace` begins with the state of training. None where the export is wrong (reported)."""
    types = [hlo.tensor_type(f.shape, f.dtype.mlir) for f in export.inputs]
    symbol = f"export.{export.name}"
    with evaluator.staging.function(symbol, "export", types, export.function_span, trace) as function:
        values = [Tensor(value, f.dtype, f.shape, f.span)
                  for f, value in zip(export.inputs, function.arguments, strict=True)]
        result: object = POISON
        try:
            with trace.within(Phase.EXPORT):
                result = evaluator.apply(export.function, values, export.function_span)
        except Abandoned:
            pass
        staged = _outputs(evaluator, export, result)
        if staged is not None:
            function.results = [tensor.value for _, tensor in staged.outputs]
            function.note("sexp.results", [f"output:{i}" for i in range(len(staged.outputs))])
    if staged is None or not _without_schedules(evaluator, export, function, trace):
        return None
    return staged


def _outputs(evaluator: Evaluator, export: Export, result: object) -> StagedExport | None:
    if has_poison(result):
        return None
    named: list[tuple[str, object]] = []
    structure = "tensor"
    if isinstance(result, Tensor):
        named = [("output", result)]
    elif is_plist(result) and result:
        structure, named = "plist", list(plist_items(result))
    elif isinstance(result, tuple) and result:
        structure, named = "list", [(f"output.{i}", item) for i, item in enumerate(result)]
    wrong = next((value for _, value in named if not isinstance(value, Tensor)), result if not named else None)
    if wrong is None:
        return StagedExport(export, structure, tuple(named))   # type: ignore[arg-type]
    inside = f" in a {structure}" if named and structure != "tensor" else ""
    evaluator.reporter.error(
        CODE, f"the export `{export.name}` gives {describe(wrong)}{inside}", export.function_span,
        f"gives {describe(wrong)}{inside}", fix="it gives a tensor, a list of tensors, or a plist of tensors")
    return None


def _without_schedules(evaluator: Evaluator, export: Export, function: Function, trace: Trace) -> bool:
    """Drops what no result needs; False where a schedule is left (reported)."""
    block = function.operation.regions[0].blocks[0]
    for op in reversed([view.operation for view in block.operations][:-1]):
        used = any(True for result in op.results for _ in result.uses)
        if not used and (hlo.marker_kind(op) in _IDLE or "has_side_effect" not in op.attributes):
            op.erase()
    name = _schedule_in(block)
    if name is None:
        return True
    evaluator.reporter.error(
        CODE, f"the export `{export.name}` depends on the schedule `:{name}`", export.span,
        "a schedule follows a run, and there is none here",
        secondary=[Label(trace.schedules[name].span, "the schedule")],
        fix="`(if training? (schedule …) number)` gives it a number where nothing is trained")
    return False


def _schedule_in(block: ir.Block) -> str | None:
    for view in block.operations:
        op = view.operation
        if hlo.marker_kind(op) == "schedule":
            return ir.StringAttr(ir.DictAttr(op.attributes["backend_config"])["name"]).value
        for region in op.regions:
            for inner in region.blocks:
                if (name := _schedule_in(inner)) is not None:
                    return name
    return None
