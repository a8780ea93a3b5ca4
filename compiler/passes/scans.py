"""Running sums, products, extremes and recurrences in one kernel, for processors.

A kernel walks along the axis once, with the state of eight or sixteen lines in registers: their elements lie side by
side, or, where the axis is the last, eight rows are turned round eight columns at a time. Sums and recurrences are kept
in f64, as their errors would grow with the length. It is written in the vector dialect, as a dispatch that the code
generator takes as it is; what it does not fit stays for `running`. Measured in docs/benchmarks.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.passes import functions as fn
from sexpgpu.compiler.passes import running
from sexpgpu.compiler.passes.base import NoOptions, Pass
from sexpgpu.compiler.passes.running import Running

#: Rows turned round together, and the columns of one turn.
ROWS = 8
#: Lines that lie side by side: as many bytes as a cache line.
SIDE_BY_SIDE = 16
#: Elements that are worth a piece of work of their own.
PIECE = 1 << 13

#: The state before the first element, and whether it is kept in f64.
STATES = {"add": ("0.0", True), "multiply": ("1.0", False), "maximum": ("0xFF800000", False),
          "minimum": ("0x7F800000", False), "recurrence": ("0.0", True)}


@dataclass(slots=True)
class _Text:
    """Lines of a kernel, and fresh names."""

    kind: str
    lanes: int
    lines: list[str]
    names: int = 0

    def add(self, text: str) -> str:
        """A line with one result: its name."""
        self.names += 1
        self.lines.append(f"%v{self.names} = {text}")
        return f"%v{self.names}"

    def step(self, state: str, given: list[str]) -> tuple[str, str]:
        """One element of each lane: the new state, and what goes out."""
        f32, f64 = (f"vector<{self.lanes}x{kind}>" for kind in ("f32", "f64"))
        if not STATES[self.kind][1]:
            name = {"multiply": "mulf", "maximum": "maximumf", "minimum": "minimumf"}[self.kind]
            state = self.add(f"arith.{name} {state}, {given[0]} : {f32}")
            return state, state
        *factor, term = [self.add(f"arith.extf {v} : {f32} to {f64}") for v in given]
        if factor:
            state = self.add(f"arith.mulf {factor[0]}, {state} : {f64}")
        state = self.add(f"arith.addf {state}, {term} : {f64}")
        return state, self.add(f"arith.truncf {state} : {f64} to {f32}")

    @property
    def state_type(self) -> str:
        return f"vector<{self.lanes}x{'f64' if STATES[self.kind][1] else 'f32'}>"

    def turned(self, rows: list[str]) -> list[str]:
        """Eight vectors of eight, as their columns."""
        for width in (1, 2, 4):
            low, high = [], []
            for lane in range(ROWS):
                block, odd = lane & ~width, lane & width
                low.append(block + ROWS if odd else block)
                high.append((block | width) + ROWS if odd else block | width)
            turned = list(rows)
            for i in range(ROWS):
                if not i & width:
                    for place, mask in ((i, low), (i | width, high)):
                        turned[place] = self.add(f"vector.shuffle {rows[i]}, {rows[i | width]} {mask} : "
                                                 f"vector<8xf32>, vector<8xf32>")
            rows = turned
        return rows


def _rows(text: _Text, sources: int, n: int, backwards: bool) -> None:
    """Eight rows of n, from %s0 (and %s1) to a tensor that is stored."""
    kind, state = f"tensor<{ROWS}x{n}xf32>", text.state_type
    turns, rest = divmod(n, ROWS)
    result, end = "%empty", "%start"
    if turns:
        text.lines.append(f"%turned:2 = scf.for %t = %c0 to %c{turns} step %c1 iter_args(%o = %empty, %h = %start) "
                          f"-> ({kind}, {state}) {{")
        text.lines.append("%at = affine.apply affine_map<(d0) -> "
                          f"({f'{n - ROWS} - d0 * {ROWS}' if backwards else f'd0 * {ROWS}'})>(%t)")
        columns = [text.turned([text.add(f"vector.transfer_read %s{s}[%c{r}, %at], %pad {{in_bounds = [true]}} : "
                                         f"{kind}, vector<8xf32>") for r in range(ROWS)]) for s in range(sources)]
        h, made = "%h", [""] * ROWS
        for k in reversed(range(ROWS)) if backwards else range(ROWS):
            h, made[k] = text.step(h, [c[k] for c in columns])
        out = "%o"
        for r, row in enumerate(text.turned(made)):
            out = text.add(f"vector.transfer_write {row}, {out}[%c{r}, %at] {{in_bounds = [true]}} : vector<8xf32>, "
                           f"{kind}")
        text.lines.append(f"scf.yield {out}, {h} : {kind}, {state} }}")
        result, end = "%turned#0", "%turned#1"
    columns_left = range(rest - 1, -1, -1) if backwards else range(n - rest, n)
    down = "in_bounds = [true], permutation_map = affine_map<(d0, d1) -> (d0)>"
    for k in columns_left:
        given = [text.add(f"vector.transfer_read %s{s}[%c0, %c{k}], %pad {{{down}}} : {kind}, vector<8xf32>")
                 for s in range(sources)]
        end, made_here = text.step(end, given)
        result = text.add(f"vector.transfer_write {made_here}, {result}[%c0, %c{k}] {{{down}}} : vector<8xf32>, {kind}")
    text.lines.append(_store(result, kind))


def _beside(text: _Text, sources: int, n: int, backwards: bool) -> None:
    """n steps of the lanes, from %s0 (and %s1) to a tensor that is stored."""
    kind, state, vector = f"tensor<{n}x{text.lanes}xf32>", text.state_type, f"vector<{text.lanes}xf32>"
    text.lines.append(f"%walked:2 = scf.for %t = %c0 to %c{n} step %c1 iter_args(%o = %empty, %h = %start) -> "
                      f"({kind}, {state}) {{")
    text.lines.append(f"%at = affine.apply affine_map<(d0) -> ({f'{n - 1} - d0' if backwards else 'd0'})>(%t)")
    given = [text.add(f"vector.transfer_read %s{s}[%at, %c0], %pad {{in_bounds = [true]}} : {kind}, {vector}")
             for s in range(sources)]
    h, made = text.step("%h", given)
    out = text.add(f"vector.transfer_write {made}, %o[%at, %c0] {{in_bounds = [true]}} : {vector}, {kind}")
    text.lines.append(f"scf.yield {out}, {h} : {kind}, {state} }}")
    text.lines.append(_store("%walked#0", kind))


def _store(value: str, kind: str) -> str:
    return f"iree_tensor_ext.dispatch.tensor.store {value}, %out, @PLACE : {kind} -> @WRITE"


def _kernel(kind: str, shape: list[int], backwards: bool) -> str:
    """A function of one dispatch; `shape` is [lines, n], or [groups, n, lines that lie side by side]."""
    n, rows = shape[1], len(shape) == 2
    lanes = ROWS if rows else SIDE_BY_SIDE if shape[2] >= SIDE_BY_SIDE else ROWS
    beside = 1 if rows else -(-shape[2] // lanes)
    groups = -(-shape[0] // ROWS) if rows else shape[0] * beside
    many = max(1, PIECE // (lanes * n))
    pieces, sources = -(-groups // many), 2 if kind == "recurrence" else 1
    whole, element = "x".join(map(str, shape)) + "xf32", "f64" if STATES[kind][1] else "f32"
    part = f"tensor<{ROWS}x{n}xf32>" if rows else f"tensor<{n}x{lanes}xf32>"
    read, write = (f"!iree_tensor_ext.dispatch.tensor<{how}:tensor<{whole}>>" for how in ("readonly", "writeonly"))
    if rows:
        place = f"offsets = [%line, 0], sizes = [{ROWS}, {n}], strides = [1, 1]"
        # The last lines are computed twice, to the same bits, where there are not eight of them.
        find = [f"%line = affine.min affine_map<(d0) -> (d0 * {ROWS}, {shape[0] - ROWS})>(%group)"]
    else:
        place = f"offsets = [%outer, 0, %line], sizes = [1, {n}, {lanes}], strides = [1, 1, 1]"
        find = [f"%outer = affine.apply affine_map<(d0) -> (d0 floordiv {beside})>(%group)",
                f"%line = affine.min affine_map<(d0) -> ((d0 mod {beside}) * {lanes}, {shape[2] - lanes})>(%group)"]
    text = _Text(kind, lanes, [])
    (_rows if rows else _beside)(text, sources, n, backwards)
    numbers = sorted({0, 1, *range(ROWS), n, n // ROWS, *range(n % ROWS), *range(n - n % ROWS, n)})
    start = f"dense<{STATES[kind][0]}> : vector<{lanes}x{element}>"
    body = [
        *(f"%c{i} = arith.constant {i} : index" for i in numbers),
        "%pad = arith.constant 0.0 : f32", f"%start = arith.constant {start}",
        "%piece = flow.dispatch.workgroup.id[0] : index",
        f"%from = affine.apply affine_map<(d0) -> (d0 * {many})>(%piece)",
        f"%to = affine.min affine_map<(d0) -> (d0 * {many} + {many}, {groups})>(%piece)",
        "scf.for %group = %from to %to step %c1 {", *find,
        *(f"%s{s} = iree_tensor_ext.dispatch.tensor.load %in{s}, {place} : {read} -> {part}" for s in range(sources)),
        f"%empty = tensor.empty() : {part}", *text.lines, "}", "flow.return"]
    given = ", ".join(f"%x{s}: tensor<{whole}>" for s in range(sources))
    names, types = ", ".join(f"%x{s}" for s in range(sources)), ", ".join([f"tensor<{whole}>"] * sources)
    inside = ", ".join([*(f"%in{s}: {read}" for s in range(sources)), f"%out: {write}"])
    lines = "\n".join(body).replace("@PLACE", place).replace("@WRITE", write)
    return f"""func.func @kernel({given}) -> tensor<{whole}> {{
      %0 = flow.dispatch.workgroups({names}) : ({types}) -> tensor<{whole}> = ({inside}) {{
        {lines}
      }} count() -> (index, index, index) {{
        %n = arith.constant {pieces} : index
        %one = arith.constant 1 : index
        flow.return %n, %one, %one : index, index, index
      }}
      return %0 : tensor<{whole}> }}"""


def _form(op: ir.Operation, along: Running) -> ir.Value | None:
    values = list(op.operands)[:2 if along.kind == "recurrence" else 1]
    shape = list(hlo.shape_of(values[0]))
    before, n, after = prod(shape[:along.axis]), shape[along.axis], prod(shape[along.axis + 1:])
    flat = [before, n] if after == 1 else [before, n, after]
    if str(hlo.element_type(values[0])) != "f32" or (before if after == 1 else after) < ROWS:
        return None
    module = ir.Module.parse(_kernel(along.kind, flat, along.backwards))
    (func,) = module.body.operations
    values = [hlo.reshape(v, flat) for v in values]
    return hlo.reshape(fn.inline(func.operation, values)[0], shape)


def apply(module: ir.Module, options: NoOptions) -> None:
    running.rewrite(module, _form)


PASS = Pass("scans", "running sums, products, extremes and recurrences in one kernel, for processors", apply,
            optional=True)
