"""`remat`: what is computed again on the way back instead of being kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.frontend.data import Form
from sexpgpu.compiler.frontend.ops.support.structure import leaves, rebuilt
from sexpgpu.compiler.frontend.scope import Scope
from sexpgpu.compiler.frontend.special import Frame, Node, malformed, special
from sexpgpu.compiler.frontend.trace import Region

if TYPE_CHECKING:
    from sexpgpu.compiler.frontend.analysis import Analyzer


@special("remat")
def remat(analyzer: Analyzer, form: Form, scope: Scope) -> Node:
    """`(remat body…)` is the body; its values inside are not kept for the gradient, but computed twice.

    It is staged as the one branch of a `stablehlo.case`, which autodiff knows by its attribute `sexp.remat`.
    """
    if len(form.items) < 2:
        malformed(form, "`remat` has no body", form.span, "incomplete", shape="(remat body…)")
    body = analyzer.sequence(form.items[1:], scope)
    evaluator = analyzer.evaluator

    def run(frame: Frame) -> object:
        trace = evaluator.trace
        if not trace.in_graph:
            return body(frame)
        with evaluator.location(form.span):
            holder = ir.Operation.create("scf.execute_region", regions=1)
            block = hlo.block(holder.regions[0], [])
            region = Region()
            try:
                with ir.InsertionPoint(block), trace.within_region(region):
                    value = body(frame)
                    found = [leaf.value for leaf in leaves(value)]
                    given = [*found, *(v for leaving in region.leaving.values() for v in leaving.values)]
                    hlo.return_(given)
                if not given:
                    return value
                case = hlo.make("stablehlo.case", [v.type for v in given], [hlo.splat(0, [], "i32")],
                                {"sexp.remat": ir.UnitAttr.get()}, regions=1)
                block.append_to(case.regions[0])
            finally:
                holder.erase()
            trace.left(region, list(case.results)[len(found):])
        return rebuilt(value, list(case.results)[:len(found)])

    return run
