"""Sorts that give indices as kernels, for processors.

A key of 64 bits is a number above its index: one integer to compare, and no two are equal. Several rows of keys stand
side by side, one in each lane of a vector, and go through a network of comparisons together: what is compared does not
depend on what the keys are. The network is Batcher's odd-even merge, in the form of Knuth's
Algorithm M (The Art of Computer Programming 3, 5.2.2), for any length. Where only the first few keys are read, they
are kept in order in registers instead, and each key passes through them. Measured in docs/benchmarks.md.
"""

from __future__ import annotations

from math import prod

import numpy as np
from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.passes.base import NoOptions, Pass
from sexpgpu.compiler.passes.dispatch import Buffer, launch, reader
from sexpgpu.compiler.passes.key_sorts import KeySort, rewrite

#: Rows that are sorted side by side.
LANES = 8
#: Bits of an index in a key.
HALF = 32


def network(n: int) -> np.ndarray:
    """The rounds for `n` keys, each a distance, a start and a length of run: key i is compared with key i + distance
    for the i of every second run from the start on."""
    top = 1 << max(0, (n - 1).bit_length() - 1)
    found, run = [], top
    while run:
        reach, start, distance = top, 0, run
        while True:
            found.append((distance, start, run))
            if reach == run:
                break
            distance, reach, start = reach - run, reach // 2, run
        run //= 2
    return np.array(found, np.int32)


def sort_rows(x: ir.Value) -> ir.Value:
    """[groups n lanes], each lane put in order along n."""
    (groups, n, lanes), table = hlo.shape_of(x), hlo.constant(network(hlo.shape_of(x)[1]), "i32")
    kind = hlo.element_type(x)
    rounds, out = reader("rounds", table), Buffer("out", x.type, "readwrite")
    part, vec, steps = f"tensor<{n}x{lanes}x{kind}>", f"vector<{lanes}x{kind}>", str(table.type)
    count = hlo.shape_of(table)[0]
    body = f"""
        %zero = arith.constant 0 : {kind}
        %table = {rounds.load(["0", "0"], [count, 3], steps)}
        %start = {out.load(["%x", "0", "0"], [1, n, lanes], part)}
        %done = scf.for %r = %n0 to %n{count} step %n1 iter_args(%t = %start) -> {part} {{
          %r0 = tensor.extract %table[%r, %n0] : {steps}
          %r1 = tensor.extract %table[%r, %n1] : {steps}
          %r2 = tensor.extract %table[%r, %n2] : {steps}
          %distance = arith.index_cast %r0 : i32 to index
          %first = arith.index_cast %r1 : i32 to index
          %run = arith.index_cast %r2 : i32 to index
          %two = arith.addi %run, %run : index
          %end = arith.subi %n{n}, %distance : index
          %runs = scf.for %i = %first to %end step %two iter_args(%u = %t) -> {part} {{
            %after = arith.addi %i, %run : index
            %limit = arith.minsi %after, %end : index
            %pairs = scf.for %j = %i to %limit step %n1 iter_args(%v = %u) -> {part} {{
              %k = arith.addi %j, %distance : index
              %a = vector.transfer_read %v[%j, %n0], %zero {{in_bounds = [true]}} : {part}, {vec}
              %b = vector.transfer_read %v[%k, %n0], %zero {{in_bounds = [true]}} : {part}, {vec}
              %low = arith.minsi %a, %b : {vec}
              %high = arith.maxsi %a, %b : {vec}
              %w = vector.transfer_write %low, %v[%j, %n0] {{in_bounds = [true]}} : {vec}, {part}
              %q = vector.transfer_write %high, %w[%k, %n0] {{in_bounds = [true]}} : {vec}, {part}
              scf.yield %q : {part}
            }}
            scf.yield %pairs : {part}
          }}
          scf.yield %runs : {part}
        }}
        {out.store("%done", part, ["%x", "0", "0"], [1, n, lanes])}"""
    return launch([groups], {rounds: table}, out, body, onto=x)


def least(x: ir.Value, count: int) -> ir.Value:
    """[groups n lanes] -> [groups count lanes], the least of each lane in order."""
    (groups, n, lanes), kind = hlo.shape_of(x), hlo.element_type(x)
    keys = reader("keys", x)
    out = Buffer("out", hlo.tensor_type([groups, count, lanes], kind), "writeonly")
    part, vec, kept = f"tensor<{n}x{lanes}x{kind}>", f"vector<{lanes}x{kind}>", f"tensor<{count}x{lanes}x{kind}>"
    places, vecs = range(count), ", ".join([vec] * count)
    passing, lines = "%key", []
    for p in places:
        lines += [f"%low{p} = arith.minsi %best{p}, {passing} : {vec}",
                  f"%high{p} = arith.maxsi %best{p}, {passing} : {vec}"]
        passing = f"%high{p}"
    last, stores = "%empty", []
    for p in places:
        stores.append(f"%kept{p} = vector.transfer_write %done#{p}, {last}[%n{p}, %n0] {{in_bounds = [true]}} : "
                      f"{vec}, {kept}")
        last = f"%kept{p}"
    body = f"""
        %zero = arith.constant 0 : {kind}
        %most = arith.constant dense<{hlo.identity("minimum", kind)}> : {vec}
        %all = {keys.load(["%x", "0", "0"], [1, n, lanes], part)}
        %done:{count} = scf.for %i = %n0 to %n{n} step %n1
            iter_args({", ".join(f"%best{p} = %most" for p in places)}) -> ({vecs}) {{
          %key = vector.transfer_read %all[%i, %n0], %zero {{in_bounds = [true]}} : {part}, {vec}
          {chr(10).join(lines)}
          scf.yield {", ".join(f"%low{p}" for p in places)} : {vecs}
        }}
        %empty = tensor.empty() : {kept}
        {chr(10).join(stores)}
        {out.store(last, kept, ["%x", "0", "0"], [1, count, lanes])}"""
    return launch([groups], {keys: x}, out, body)


def _side_by_side(order: ir.Value, groups: int, lanes: int) -> ir.Value:
    """[rows n] of i32 -> keys [groups n lanes], filled up with rows that nobody reads."""
    rows, n = hlo.shape_of(order)
    keys = hlo.convert(order, "i64")
    keys = hlo.shift_left(keys, hlo.splat(HALF, [rows, n], "i64"))
    keys = hlo.or_(keys, hlo.iota([rows, n], 1, "i64"))
    if groups * lanes > rows:
        keys = hlo.pad(keys, hlo.splat(0, [], "i64"), [0, 0], [groups * lanes - rows, 0])
    return hlo.transpose(hlo.reshape(keys, [groups, lanes, n]), [0, 2, 1])


def _rows(keys: ir.Value, rows: int) -> ir.Value:
    """The indices in keys [groups n lanes] -> i32 [rows n]."""
    groups, n, lanes = hlo.shape_of(keys)
    found = hlo.convert(hlo.and_(keys, hlo.splat((1 << HALF) - 1, [groups, n, lanes], "i64")), "i32")
    found = hlo.reshape(hlo.transpose(found, [0, 2, 1]), [groups * lanes, n])
    return hlo.slice_(found, [0, 0], [rows, n]) if groups * lanes > rows else found


def _sort(s: KeySort) -> ir.Value:
    shape = list(hlo.shape_of(s.order))
    turned = [*(d for d in range(len(shape)) if d != s.axis), s.axis]
    others = [shape[d] for d in turned[:-1]]
    rows = prod(others)
    lanes = min(LANES, 1 << (rows - 1).bit_length())
    groups = -(-rows // lanes)
    keys = _side_by_side(hlo.reshape(hlo.transpose(s.order, turned), [rows, s.n]), groups, lanes)
    if s.few:
        keys = least(keys, s.first)
    else:
        keys = sort_rows(keys)
        keys = hlo.slice_(keys, [0, 0, 0], [groups, s.first, lanes]) if s.first < s.n else keys
    found = hlo.reshape(_rows(keys, rows), [*others, s.first])
    return hlo.transpose(found, [turned.index(d) for d in range(len(shape))])


def apply(module: ir.Module, options: NoOptions) -> None:
    rewrite(module, _sort)


PASS = Pass("sort-kernels", "sorts that give indices as networks of vectors, for processors", apply,
            optional=True)
