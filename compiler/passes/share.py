"""Optimizer states that hold the same number for every parameter become one, and what is computed twice goes.

An optimizer's rule is written for one parameter, so AdamW's count of steps is a scalar state of each. Eighty counts
that can never differ cost eighty state tensors and eighty chains of scalar kernels a step. Two scalar states are one
when they begin as the same constant and their updates are the same expression of values that are the same: a value
numbering of `@optimizer` that first assumes all of them equal and splits them until nothing contradicts (Alpern,
Wegman and Zadeck 1988, "Detecting equality of variables in programs"). The numbering then removes every operation that
repeats an earlier one. The shared state is named `optimizer.<key>`.
"""

from __future__ import annotations

from collections import defaultdict

from iree.compiler import ir
from sexpgpu.compiler.passes import functions as fn
from sexpgpu.compiler.passes import manifest as mf
from sexpgpu.compiler.passes.base import NoOptions, Pass
from sexpgpu.compiler.passes.state import trainable


class Numbering:
    """Numbers for the values of a block: equal where the values are. `classes` gives arguments one number."""

    def __init__(self, block: ir.Block, classes: dict[int, int]) -> None:
        self._numbers: dict[tuple, int] = {}
        self._of: dict[ir.Value, int] = {}
        self.repeats: list[tuple[ir.Operation, ir.Operation]] = []
        """(operation, the earlier one that gives the same)"""
        first: dict[int, ir.Operation] = {}
        for i, argument in enumerate(block.arguments):
            self._of[argument] = self._number(("argument", classes.get(i, i)))
        for view in block.operations:
            op = view.operation
            key = (op.name, str(op.attributes["value"]) if "value" in op.attributes else self._attributes(op),
                   tuple(self._of[v] for v in op.operands), tuple(str(r.type) for r in op.results))
            pure = not op.regions and len(op.results) == 1 and op.name != "stablehlo.custom_call"
            number = self._number(key if pure else ("operation", len(self._of)))
            for i, result in enumerate(op.results):
                self._of[result] = number if pure else self._number(("result", number, i))
            if pure and number in first:
                self.repeats.append((op, first[number]))
            first.setdefault(number, op)

    @staticmethod
    def _attributes(op: ir.Operation) -> str:
        return ",".join(f"{name}={op.attributes[name]}" for name in sorted(op.attributes))

    def _number(self, key: tuple) -> int:
        return self._numbers.setdefault(key, len(self._numbers))

    def of(self, value: ir.Value) -> int:
        return self._of[value]


def _constant(value: ir.Value) -> str | None:
    """The text of a scalar constant; None for anything else."""
    owner = value.owner
    op = owner.operation if isinstance(owner, ir.OpView | ir.Operation) else None
    if op is None or op.name != "stablehlo.constant" or ir.RankedTensorType(value.type).rank:
        return None
    return str(op.attributes["value"])


def _classes(optimizer: ir.Operation, first_values: list[ir.Value], count: int) -> dict[int, int]:
    """For each argument of `@optimizer` that is a shareable state, the first argument it is equal to."""
    block, results = fn.body(optimizer), list(fn.terminator(optimizer).operands)
    start = 2 * count
    by_value: dict[str, list[int]] = defaultdict(list)
    for i, value in enumerate(first_values):
        text = _constant(value)
        if text is not None:
            by_value[text].append(start + i)
    groups = [group for group in by_value.values() if len(group) > 1]
    while True:
        classes = {i: group[0] for group in groups for i in group}
        numbering = Numbering(block, classes)
        split: list[list[int]] = []
        for group in groups:
            parts: dict[int, list[int]] = defaultdict(list)
            for i in group:
                parts[numbering.of(results[count + i - start])].append(i)
            split += parts.values()
        if len(split) == len(groups):
            return classes
        groups = split


def _drop(optimizer: ir.Operation, init: ir.Operation, classes: dict[int, int], count: int) -> list[int]:
    """Replaces shared states by their first; gives the states (counted from 0) that are gone."""
    block = fn.body(optimizer)
    gone = sorted(i for i, kept in classes.items() if i != kept)
    for i in gone:
        block.arguments[i].replace_all_uses_with(block.arguments[classes[i]])
    states = [i - 2 * count for i in gone]
    _keep_results(optimizer, {count + s for s in states})
    _keep_results(init, set(states))
    for i in reversed(gone):
        block.erase_argument(i)
    fn.refresh_type(optimizer)
    return states


def _keep_results(func: ir.Operation, without: set[int]) -> None:
    end = fn.terminator(func)
    kept = [v for i, v in enumerate(end.operands) if i not in without]
    with ir.InsertionPoint(end), end.location:
        fn.return_values(kept)
    end.erase()
    fn.refresh_type(func)


def _rename(module: ir.Module, init: ir.Operation, classes: dict[int, int], states: list[int], count: int) -> None:
    manifest = mf.read(module)
    rows = manifest["state"]
    mine = [row for row in rows if row["role"] == "optimizer"]
    taken = {row["name"] for row in rows}
    for kept in {kept for i, kept in classes.items() if i != kept}:
        name = f"optimizer.{str(mine[kept - 2 * count]['name']).rpartition('.')[2]}"
        while name in taken:
            name += "'"
        taken.add(name)
        mine[kept - 2 * count]["name"] = name
    left = [row for i, row in enumerate(mine) if i not in states]
    manifest["state"] = [row for row in rows if row["role"] != "optimizer"] + left
    mf.write(module, manifest)
    if "sexp.states" in init.attributes:
        init.attributes["sexp.states"] = ir.ArrayAttr.get([ir.StringAttr.get(str(row["name"])) for row in left])


def apply(module: ir.Module, options: NoOptions) -> None:
    optimizer, init = fn.find(module, "optimizer"), fn.find(module, "optimizer_init")
    if optimizer is None or init is None:
        return
    count = len(trainable(module))
    first_values = list(fn.terminator(init).operands)
    classes = _classes(optimizer, first_values, count)
    states = _drop(optimizer, init, classes, count)
    _rename(module, init, classes, states, count)
    repeats = Numbering(fn.body(optimizer), {}).repeats
    for op, earlier in repeats:
        op.results[0].replace_all_uses_with(earlier.results[0])
    for op, _ in reversed(repeats):
        op.erase()


PASS = Pass("share", "scalar optimizer states that are equal for all parameters become one", apply, optional=True)
