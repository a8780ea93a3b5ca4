"""Random sites become counter-based bits: Threefry-2x32 with 20 rounds, the same words on every target.

A block of the cipher is a function of a 64-bit key and a 64-bit counter. For a given key it is a bijection of the
counter, so different counters give different blocks, and the scheme below never uses one pair twice:

    training, evaluation:  k1 = block(key = seed, counter = step)              steps are below 2^63
                           k2 = block(key = k1, counter = rank · 2^32 + microbatch)
                           words of a site = blocks of key k2, counters (domain · 2^20 + site) · 2^32 + 0, 1, 2, …,
                           round after round where the site stands in a loop
    initialisers:          k1 = block(key = seed, counter = 2^63 + hash of the state's name)
                           words of a site = blocks of key k1, counters site · 2^32 + 0, 1, 2, …

The domain is 0 in training, 1 + i in the manifest's evaluation i, and behind those in its exports. An initialiser's
stream follows the parameter's name, so that adding a layer leaves the others as they were. A `random_site` becomes the
key and the first counter of its site, for those who ask for its words more than once. Word i of a site, in row-major
order of its tensor, is word i mod 2 of its block i div 2 (`tests/py/passes/threefry.py` is the reference).
"""

from __future__ import annotations

import hashlib
from math import prod

from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.passes import functions as fn
from sexpgpu.compiler.passes import manifest as mf
from sexpgpu.compiler.passes.base import NoOptions, Pass
from sexpgpu.compiler.passes.parameters import fact

SITE_BITS = 20
KEY_TYPE = "i64"


def stream_of(name: str) -> int:
    """The counter from which the key of the state called `name` is made; its top bit is set."""
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "little") | 1 << 63


def block_of(key: ir.Value, counter: ir.Value) -> ir.Value:
    """One block: `key`, `counter` and the result are `tensor<1xui64>`."""
    return hlo.rng_bits(hlo.concatenate([key, counter], 0), [1], "ui64")


def site_words(key: ir.Value, start: ir.Value, count: int) -> ir.Value:
    """`count` words in a row. On an axis of even length the generator gives block after block; on others and on more
    axes its order depends on the shape."""
    even = count + count % 2
    words = hlo.rng_bits(hlo.concatenate([key, start], 0), [even])
    return words if even == count else hlo.slice_(words, [0], [count])


def _part(key: ir.Value, index: int) -> ir.Value:
    return hlo.convert(hlo.slice_(key, [index], [index + 1]), "ui64")


def run_key(key: ir.Value) -> ir.Value:
    """k2 of (seed, step, microbatch, rank): `tensor<4xi64>` → `tensor<1xui64>`."""
    first = block_of(_part(key, 0), _part(key, 1))
    rank = hlo.shift_left(_part(key, 3), hlo.splat(32, [1], "ui64"))
    return block_of(first, hlo.or_(rank, _part(key, 2)))


def initialiser_key(seed: ir.Value, stream: ir.Value) -> ir.Value:
    """k1 of an initialiser: `tensor<i64>`, `tensor<1xui64>` → `tensor<1xui64>`."""
    return block_of(hlo.convert(hlo.reshape(seed, [1]), "ui64"), stream)


def _lower(func: ir.Operation, domain: int) -> None:
    """`rng_key`, 64 bits made once at the function's start, serves all its sites."""
    made: ir.Value | None = None
    for op in fn.walk(fn.body(func)):
        kind = hlo.marker_kind(op)
        if kind not in ("random", "random_site"):
            continue
        if made is None:
            made = _key(func)
        site = ir.IntegerAttr(fact(op, "site")).value
        assert 0 <= site < 1 << SITE_BITS
        type_ = ir.RankedTensorType(op.results[0].type)
        count = prod(type_.shape) if kind == "random" else ir.IntegerAttr(fact(op, "words")).value
        with ir.InsertionPoint(op), op.location:
            start = _start((domain << SITE_BITS | site) << 32, op, count)
            if kind == "random_site":
                found = hlo.concatenate([made, start], 0)
            else:
                found = hlo.reshape(site_words(made, start, count), type_.shape)
                found = hlo.convert(found, type_.element_type)
        fn.replace(op, found)


def _start(first: int, op: ir.Operation, count: int) -> ir.Value:
    """The counter that a site begins at. In a loop every round goes on where the one before it ended; that is computed
    in i64, for a loop's counter lives on the host, whose arithmetic knows no unsigned numbers."""
    if not len(op.operands):
        return hlo.splat(first, [1], "ui64")
    number = hlo.convert(hlo.reshape(op.operands[0], [1]), "i64")
    passed = hlo.multiply(number, hlo.splat(-(-count // 2), [1], "i64"))
    # The barrier keeps the conversion on the device.
    return hlo.convert(hlo.optimization_barrier(hlo.add(passed, hlo.splat(first, [1], "i64"))), "ui64")


def _key(func: ir.Operation) -> ir.Value:
    if fn.role(func) == "init":
        # An argument, not a constant: initialisers of one shape are then one function (see `state`).
        seed = fn.argument(func, "seed", hlo.tensor_type([], KEY_TYPE))
        stream = fn.argument(func, "stream", hlo.tensor_type([1], "ui64"))
        with ir.InsertionPoint.at_block_begin(fn.body(func)), func.location:
            return initialiser_key(seed, stream)
    key = fn.argument(func, "key", hlo.tensor_type([4], KEY_TYPE))
    with ir.InsertionPoint.at_block_begin(fn.body(func)), func.location:
        return run_key(key)


def apply(module: ir.Module, options: NoOptions) -> None:
    evaluations = mf.names(mf.read(module).get("evaluations"))
    for func in fn.by_role(module, "train", "init"):
        _lower(func, 0)
    for func in fn.by_role(module, "evaluate"):
        name = fn.symbol(func).removeprefix("evaluate.").removesuffix(".row")
        _lower(func, 1 + evaluations.index(name) if name in evaluations else 1)
    exports = mf.names(mf.read(module).get("exports"))
    for func in fn.by_role(module, "export"):
        name = fn.symbol(func).removeprefix("export.")
        _lower(func, 1 + len(evaluations) + (exports.index(name) if name in exports else 0))


PASS = Pass("random", "random sites become Threefry bits of (seed, step, microbatch, rank, site)", apply,
            lowers=("random", "random_site"))
