"""`einsum`: products written with a letter for each axis, `(einsum "bqd,bkd->bqk" q k)`.

Two operands become one `dot_general`: letters of both and of the result are batch axes, letters of both alone are
contracted; a letter of one operand alone that the result lacks is summed first. More operands are taken from the left.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.frontend.ops.registry import Call, op
from sexpgpu.compiler.frontend.ops.support.broadcast import Argument, agree_dtype
from sexpgpu.compiler.frontend.ops.support.dtype import BOOL
from sexpgpu.compiler.frontend.ops.support.explain import Operand, mismatch
from sexpgpu.compiler.frontend.ops.support.staged import cast_fix, describe, give, show_shape, tensor
from sexpgpu.compiler.frontend.values import Tensor
from sexpgpu.diagnostics import Label
from sexpgpu.diagnostics.record import record

GROUP = "linear algebra"


@record
class Factor:
    """A value and the letters of its axes."""

    value: ir.Value
    letters: str


def parse(call: Call, subscripts: object, count: int) -> tuple[list[str], str]:
    """The letters of each operand and of the result; E-SHAPE-014 for what is not well formed."""
    span = call.where("subscripts")
    if not isinstance(subscripts, str):
        call.fail("E-TYPE-013", f"the subscripts of `einsum` are a string, not {describe(subscripts)}", at=span,
                  label=f"this is {describe(subscripts)}", fix='for a matrix product, `"ik,kj->ij"`')
    text = subscripts.replace(" ", "")
    if not re.fullmatch(r"[A-Za-z,]*(->[A-Za-z]*)?", text):
        call.fail("E-SHAPE-014", f'`einsum` cannot read "{subscripts}"', at=span, label="not subscripts",
                  notes=["subscripts are letters, one for each axis, a comma between operands and `->` before the "
                         "result"])
    inputs, arrow, result = text.partition("->")
    terms = inputs.split(",")
    if not arrow:
        every = inputs.replace(",", "")
        result = "".join(sorted(c for c in set(every) if every.count(c) == 1))
    if len(terms) != count:
        call.fail("E-SHAPE-014", f'"{subscripts}" is for {len(terms)} operands, and {count} are given', at=span,
                  label=f"{len(terms)} operands")
    for letter in result:
        if letter not in inputs:
            call.fail("E-SHAPE-014", f"the result of `einsum` names `{letter}`, which no operand has", at=span,
                      label=f"no `{letter}` before the arrow")
        if result.count(letter) > 1:
            call.fail("E-SHAPE-014", f"the result of `einsum` names `{letter}` twice", at=span,
                      label=f"`{letter}` twice")
    return terms, result


def sizes_of(call: Call, terms: Sequence[str], tensors: Sequence[Tensor]) -> dict[str, int]:
    """The size of each letter, one in all operands; E-SHAPE-014 and E-SHAPE-002 otherwise."""
    sizes: dict[str, tuple[int, int, int]] = {}
    for i, (term, x) in enumerate(zip(terms, tensors, strict=True)):
        span = call.where("xs", i)
        if len(term) != x.rank:
            call.fail("E-SHAPE-014", f'"{term}" names {len(term)} axes of {describe(x)}', at=span,
                      label=f"shape {show_shape(x.shape)}",
                      secondary=(Label(call.where("subscripts"), f'"{term}" for operand {i + 1}'),))
        for axis, letter in enumerate(term):
            size = x.shape[axis]
            j, other, before = sizes.setdefault(letter, (i, axis, size))
            if before != size:
                operands = [Operand(f'operand {j + 1} "{terms[j]}"', call.where("xs", j), tensors[j].shape, (other,)),
                            Operand(f'operand {i + 1} "{term}"', span, x.shape, (axis,))]
                call.fail("E-SHAPE-002", f"`einsum`: the letter `{letter}` is {int(before)} in operand {j + 1} and "
                          f"{int(size)} in operand {i + 1}", **mismatch(operands, [], right=False))
    return {letter: size for letter, (_, _, size) in sizes.items()}


def without_repeats(factor: Factor) -> Factor:
    """A letter twice in one operand takes the diagonal of its axes."""
    value, letters = factor.value, factor.letters
    while repeated := next((c for c in letters if letters.count(c) > 1), None):
        i, j = [n for n, c in enumerate(letters) if c == repeated][:2]
        shape = hlo.shape_of(value)
        same = hlo.compare("EQ", hlo.iota(shape, i, "i32"), hlo.iota(shape, j, "i32"))
        value = hlo.reduce(hlo.select(same, value, hlo.zeros_like(value)), [j], "add")
        letters = letters[:j] + letters[j + 1:]
    return Factor(value, letters)


def summed(factor: Factor, keep: str) -> Factor:
    """Letters that nobody else asks for are summed away."""
    gone = [i for i, c in enumerate(factor.letters) if c not in keep]
    if not gone:
        return factor
    return Factor(hlo.reduce(factor.value, gone, "add"), "".join(c for c in factor.letters if c in keep))


def product(a: Factor, b: Factor, keep: str) -> Factor:
    """One dot of two factors; letters outside of `keep` are contracted."""
    a, b = summed(a, b.letters + keep), summed(b, a.letters + keep)
    shared = [c for c in a.letters if c in b.letters]
    batch = [c for c in shared if c in keep]
    contract = [c for c in shared if c not in keep]
    value = hlo.dot_general(a.value, b.value,
                            contract=([a.letters.index(c) for c in contract], [b.letters.index(c) for c in contract]),
                            batch=([a.letters.index(c) for c in batch], [b.letters.index(c) for c in batch]))
    letters = batch + [c for c in a.letters if c not in shared] + [c for c in b.letters if c not in shared]
    return Factor(value, "".join(letters))


@op("einsum", "subscripts &rest xs", group=GROUP, rule='"ik,kj->ij" [i k] [k j] -> [i j]',
    doc="Sum of products, a letter for each axis; letters that the result does not name are summed over.")
def einsum(call: Call, subscripts: object, xs: tuple) -> Tensor:
    tensors = [tensor(call, "xs", x, i) for i, x in enumerate(xs)]
    terms, result = parse(call, subscripts, len(tensors))
    if not tensors:
        call.fail("E-SHAPE-014", "`einsum` of no operand", label="no operand")
    for i, x in enumerate(tensors):
        if x.dtype is BOOL:
            call.fail("E-TYPE-017", "`einsum` of booleans", at=call.where("xs", i), label="this is bool",
                      fix=cast_fix(call.where("xs", i), "f32"))
    dtype = agree_dtype(call, [Argument(x, call.where("xs", i)) for i, x in enumerate(tensors)])
    sizes = sizes_of(call, terms, tensors)
    factors = [without_repeats(Factor(x.value, term)) for x, term in zip(tensors, terms, strict=True)]
    total = factors[0]
    for i, factor in enumerate(factors[1:], 1):
        total = product(total, factor, result + "".join(f.letters for f in factors[i + 1:]))
    total = summed(total, result)
    value = hlo.transpose(total.value, [total.letters.index(c) for c in result])
    return give(call, value, dtype, [sizes[c] for c in result])
