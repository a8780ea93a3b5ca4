"""The kernels of `lookups`: rows copied from a table, and rows added to one or put into it.

A gather copies vectors. A scatter is cut by columns, so that every piece goes through all indices in their order and no
two write the same number: sums have one order whatever the threads.
"""

from __future__ import annotations

from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.passes.dispatch import Buffer, launch, reader

#: Numbers in one piece of work.
PIECE = 1 << 14


def _row(kind: ir.Type, rows: int) -> str:
    """From `%id` to `%row`, in range."""
    return f"""%first = arith.constant 0 : {kind}
            %last = arith.constant {rows - 1} : {kind}
            %above = arith.maxsi %id, %first : {kind}
            %inside = arith.minsi %above, %last : {kind}
            %row = arith.index_cast %inside : {kind} to index"""


def _zero(kind: ir.Type) -> str:
    return f"arith.constant {'0' if isinstance(kind, ir.IntegerType) else '0.0'} : {kind}"


def take(x: ir.Value, ids: ir.Value, vector: int) -> ir.Value:
    """[b n d] at [b i], clamped -> [b i d]."""
    (b, n, d), i, kind, index = hlo.shape_of(x), hlo.shape_of(ids)[1], hlo.element_type(x), hlo.element_type(ids)
    table, places = reader("table", x), reader("places", ids)
    out = Buffer("out", hlo.tensor_type([b, i, d], kind), "writeonly")
    rows, batches = min(i, max(1, PIECE // d)), max(1, min(b, PIECE // (i * d)))
    part, some, vec = f"tensor<?x?x{d}x{kind}>", f"tensor<?x?x{index}>", f"vector<{vector}x{kind}>"
    body = f"""
        %zero = {_zero(kind)}
        %at = arith.muli %x, %n{rows} : index
        %left = arith.subi %n{i}, %at : index
        %many = arith.minsi %left, %n{rows} : index
        %from = arith.muli %y, %n{batches} : index
        %more = arith.subi %n{b}, %from : index
        %batches = arith.minsi %more, %n{batches} : index
        %whole = {table.load(["%from", "0", "0"], ["%batches", n, d], f"tensor<?x{n}x{d}x{kind}>")}
        %ids = {places.load(["%from", "%at"], ["%batches", "%many"], some)}
        %empty = tensor.empty(%batches, %many) : {part}
        %done = scf.for %j = %n0 to %batches step %n1 iter_args(%t = %empty) -> {part} {{
          %rows = scf.for %i = %n0 to %many step %n1 iter_args(%u = %t) -> {part} {{
            %id = tensor.extract %ids[%j, %i] : {some}
            {_row(index, n)}
            %taken = scf.for %c = %n0 to %n{d} step %n{vector} iter_args(%v = %u) -> {part} {{
              %a = vector.transfer_read %whole[%j, %row, %c], %zero {{in_bounds = [true]}}
                : tensor<?x{n}x{d}x{kind}>, {vec}
              %w = vector.transfer_write %a, %v[%j, %i, %c] {{in_bounds = [true]}} : {vec}, {part}
              scf.yield %w : {part}
            }}
            scf.yield %taken : {part}
          }}
          scf.yield %rows : {part}
        }}
        {out.store("%done", part, ["%from", "%at", "0"], ["%batches", "%many", d])}"""
    return launch([-(-i // rows), -(-b // batches)], {table: x, places: ids}, out, body)


def put(x: ir.Value, ids: ir.Value, new: ir.Value, vector: int, adds: bool, clamped: bool) -> ir.Value:
    """[b n d] with [b i d] added, or put, at [b i], in the order of the indices; one out of range is clamped, or
    changes nothing."""
    (b, n, d), i, kind, index = hlo.shape_of(x), hlo.shape_of(ids)[1], hlo.element_type(x), hlo.element_type(ids)
    places, updates = reader("places", ids), reader("updates", new)
    out = Buffer("out", x.type, "readwrite")
    batches = max(1, min(b, PIECE // (max(n, i) * vector)))
    part, some = f"tensor<?x{n}x{vector}x{kind}>", f"tensor<?x{i}x{index}>"
    given, vec = f"tensor<?x{i}x{vector}x{kind}>", f"vector<{vector}x{kind}>"
    if adds:
        float_ = not isinstance(kind, ir.IntegerType)
        value = f"""%old = vector.transfer_read %u[%j, %row, %n0], %zero {{in_bounds = [true]}} : {part}, {vec}
            %sum = arith.{"addf" if float_ else "addi"} %old, %a : {vec}"""
    change = f"""{value if adds else ""}
            %w = vector.transfer_write {"%sum" if adds else "%a"}, %u[%j, %row, %n0] {{in_bounds = [true]}}
              : {vec}, {part}"""
    if clamped:
        step = f"""{_row(index, n)}
            {change}
            scf.yield %w : {part}"""
    else:
        step = f"""%row = arith.index_cast %id : {index} to index
            %inside = arith.cmpi ult, %row, %n{n} : index
            %new = scf.if %inside -> {part} {{
              {change}
              scf.yield %w : {part}
            }} else {{
              scf.yield %u : {part}
            }}
            scf.yield %new : {part}"""
    body = f"""
        %zero = {_zero(kind)}
        %at = arith.muli %x, %n{vector} : index
        %from = arith.muli %y, %n{batches} : index
        %more = arith.subi %n{b}, %from : index
        %batches = arith.minsi %more, %n{batches} : index
        %ids = {places.load(["%from", "0"], ["%batches", i], some)}
        %rows = {updates.load(["%from", "0", "%at"], ["%batches", i, vector], given)}
        %start = {out.load(["%from", "0", "%at"], ["%batches", n, vector], part)}
        %done = scf.for %j = %n0 to %batches step %n1 iter_args(%t = %start) -> {part} {{
          %all = scf.for %i = %n0 to %n{i} step %n1 iter_args(%u = %t) -> {part} {{
            %id = tensor.extract %ids[%j, %i] : {some}
            %a = vector.transfer_read %rows[%j, %i, %n0], %zero {{in_bounds = [true]}} : {given}, {vec}
            {step}
          }}
          scf.yield %all : {part}
        }}
        {out.store("%done", part, ["%from", "0", "%at"], ["%batches", n, vector])}"""
    return launch([d // vector, -(-b // batches)], {places: ids, updates: new}, out, body, onto=x)
