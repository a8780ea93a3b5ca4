"""Softmax(q kᵀ) v and its gradient with nothing of the size of the scores in memory (Dao and others 2022,
FlashAttention), for processors.

Some queries, `rows` of them, stay on the stack, turned: a score's place is [key, query], so that what softmax needs of
each query, its largest and its sum, are vectors of queries and no sum across lanes. With a causal mask, only keys up to
the last of those queries are computed, and compared only where the two meet.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sexpgpu.compiler.kernels.code import LANES, Buffer, Index, Kernel, Place, Vector
from sexpgpu.compiler.kernels.tile import ROWS, WIDTH, tile, turned
from sexpgpu.runtime.processor import STACK

#: What a key that is not seen scores, as the language has it.
UNSEEN = -1e30
#: Bytes of the scores of some queries, of which the way back keeps two: half of the threads' stacks that IREE gives by
#: default. Beyond it the fewest queries are still taken, up to `STACK`.
MOST_SCORES = 1 << 15


@dataclass(frozen=True, slots=True)
class Shape:
    """Queries [batch heads queries width], keys [batch heads keys width], all of f32. `inside` says that operands lie
    as [batch time heads width]. With `causal`, query i sees keys up to i + keys - queries. `scale` is what scores are
    multiplied by. Vectors have so many `lanes`."""

    batch: int
    heads: int
    queries: int
    keys: int
    width: int
    causal: bool
    scale: float
    inside: bool
    lanes: int = LANES

    @property
    def rows(self) -> int:
        """Queries that are computed together; 0 where they are no whole vectors."""
        whole = [r for r in (32, 16, 8) if self.queries % r == 0 and r % self.lanes == 0]
        return next((r for r in whole if self.keys * r * 4 <= MOST_SCORES), min(whole, default=0))

    @property
    def fits(self) -> bool:
        sizes = self.rows and self.keys % ROWS == 0 and self.width % self.lanes == 0
        seen = not self.causal or (self.keys >= self.queries and (self.keys - self.queries) % ROWS == 0)
        return bool(sizes) and seen and 2 * (self.keys + self.width) * self.rows * 4 <= STACK // 2

    def over(self, time: int) -> list[int]:
        """The shape of an operand with so much time."""
        return [self.batch, time, self.heads, self.width] if self.inside else \
            [self.batch, self.heads, time, self.width]

    @property
    def a_row(self) -> list[int]:
        return [self.batch, self.heads, self.queries]


@dataclass(frozen=True, slots=True)
class _Head:
    """One head of one batch, and some of its queries from `start` on."""

    k: Kernel
    s: Shape
    batch: Index
    head: Index
    start: Index

    def at(self, time: Place, width: Place) -> tuple[Place, ...]:
        return (self.batch, time, self.head, width) if self.s.inside else (self.batch, self.head, time, width)

    def wide(self) -> int:
        """Vectors of queries in a tile."""
        return min(2, self.s.rows // self.s.lanes)

    def groups(self) -> range:
        return range(0, self.s.rows, self.s.lanes * self.wide())

    @property
    def seen(self) -> Place:
        """Keys before this one are seen by all of these queries."""
        return self.start + (self.s.keys - self.s.queries) if self.s.causal else self.s.keys

    @property
    def end(self) -> Place:
        """No query here sees this key, or a later one."""
        return self.start + (self.s.keys - self.s.queries + self.s.rows) if self.s.causal else self.s.keys

    def turn(self, source: Buffer, scale: float) -> Buffer:
        """[width rows]: these queries' rows of `source`, times `scale`."""
        k, s = self.k, self.s
        result = k.scratch(s.width, s.rows)
        for r in k.range(0, s.rows, self.s.lanes):
            for d in k.range(0, s.width, self.s.lanes):
                block = [source.load(*self.at(self.start + (r + m), d)) for m in range(self.s.lanes)]
                for m, x in enumerate(turned(block)):
                    result[d + m, r] = x * k.splat(scale) if scale != 1 else x
        return result

    def products(self, x: Buffer, some: Buffer, key: Index, group: int) -> list[list[Vector]]:
        """Row of `x` times row of these queries, [keys][vectors of queries]."""
        return tile(self.k, 0, self.s.width, lambda d, m: x.one(*self.at(key + m, d)),
                    lambda d, n: some.load(d, group + n * self.s.lanes), width=self.wide())

    def masked(self, found: list[list[Vector]], key: Index, group: int) -> list[list[Vector]]:
        """What is not seen scores `UNSEEN`."""
        low, first = self.k.splat(UNSEEN), self.start + (self.s.keys - self.s.queries)
        return [[self.k.where_not_after(key, m - group - n * self.s.lanes, first, x, low) for n, x in enumerate(row)]
                for m, row in enumerate(found)]

    def some_keys(self) -> Iterator[tuple[Index, bool]]:
        """`ROWS` keys at a time, and whether some query may not see one of them."""
        for key in self.k.range(0, self.seen, ROWS):
            yield key, False
        if self.s.causal:
            for key in self.k.range(self.seen, self.end, ROWS):
                yield key, True


def _head(k: Kernel, s: Shape, head: Index, start: Index) -> _Head:
    return _Head(k, s, head // s.heads, head % s.heads, start)


def forward(name: str, s: Shape) -> str:
    """Kernel of (q, k, v) -> (value, largest score of each query, reciprocal of the sum of its exponentials)."""
    k = Kernel(name, (s.queries // s.rows, s.batch * s.heads),
               [s.over(s.queries), s.over(s.keys), s.over(s.keys), s.over(s.queries), s.a_row, s.a_row], s.lanes)
    q, keys, values, out, top, share = k.buffers
    h = _head(k, s, k.place[1], k.place[0] * s.rows)
    vectors = s.rows // s.lanes
    scores, best, shares = k.scratch(s.keys, s.rows), k.scratch(1, s.rows), k.scratch(1, s.rows)
    some = h.turn(q, s.scale)
    for r in range(0, s.rows, s.lanes):
        best[0, r] = k.splat(float("-inf"))
    for group in h.groups():
        for key, partly in h.some_keys():
            found = h.products(keys, some, key, group)
            found = h.masked(found, key, group) if partly else found
            for n in range(h.wide()):
                at = group + n * s.lanes
                most = best.load(0, at)
                for m, row in enumerate(found):
                    scores[key + m, at] = row[n]
                    most = most.most(row[n])
                best[0, at] = most
    largest = [best.load(0, r) for r in range(0, s.rows, s.lanes)]

    def exponentials(key: Index, sums: list[Vector]) -> list[Vector]:
        found = [(scores.load(key, n * s.lanes) - largest[n]).function("exp") for n in range(vectors)]
        for n, e in enumerate(found):
            scores[key, n * s.lanes] = e
        return [total + e for total, e in zip(sums, found, strict=True)]

    sums = k.carry(0, h.end, 1, [k.splat(0.0)] * vectors, exponentials)
    for n, total in enumerate(sums):
        found = k.splat(1.0) / total
        shares[0, n * s.lanes] = found
        top[h.batch, h.head, h.start + n * s.lanes] = largest[n]
        share[h.batch, h.head, h.start + n * s.lanes] = found
    for r in k.range(0, s.rows, ROWS):
        for d, wide in _columns(s):
            found = tile(k, 0, h.end, lambda j, m, r=r: scores.one(j, r + m),
                         lambda j, n, d=d: values.load(*h.at(j, d + n * s.lanes)), width=wide)
            for m, row in enumerate(found):
                part = shares.one(0, r + m)
                for n, x in enumerate(row):
                    out[h.at(h.start + (r + m), d + n * s.lanes)] = x * part
    return k.text()


def backward(name: str, s: Shape) -> str:
    """Kernel of (q, k, v, g, largest, share, level) -> the gradients of q, k and v, given the gradient g of the value
    and `level`, [batch heads queries], the sum of each query's probabilities times their gradients."""
    query, key_ = s.over(s.queries), s.over(s.keys)
    k = Kernel(name, (s.batch * s.heads,), [query, key_, key_, query, s.a_row, s.a_row, s.a_row, query, key_, key_],
               s.lanes)
    q, keys, values, g, top, share, level, dq, dk, dv = k.buffers
    probs, slopes = k.scratch(s.keys, s.rows), k.scratch(s.keys, s.rows)
    whole = _head(k, s, k.place[0], k.place[0])
    for j in k.range(0, s.keys, 1):
        for d in k.range(0, s.width, s.lanes):
            dk[whole.at(j, d)] = k.splat(0.0)
            dv[whole.at(j, d)] = k.splat(0.0)
    for start in k.range(0, s.queries, s.rows):
        h = _Head(k, s, whole.batch, whole.head, start)
        some, some_g = h.turn(q, s.scale), h.turn(g, 1.0)
        for group in h.groups():
            places = [(h.batch, h.head, start + (group + n * s.lanes)) for n in range(h.wide())]
            for key, partly in h.some_keys():
                found = h.products(keys, some, key, group)
                found = h.masked(found, key, group) if partly else found
                for m, row in enumerate(found):   # to memory before the next tile: both do not fit the registers
                    for n, x in enumerate(row):
                        probs[key + m, group + n * s.lanes] = (x - top.load(*places[n])).function("exp") * \
                            share.load(*places[n])
                for m, row in enumerate(h.products(values, some_g, key, group)):
                    for n, wanted in enumerate(row):
                        slope = probs.load(key + m, group + n * s.lanes) * (wanted - level.load(*places[n]))
                        slopes[key + m, group + n * s.lanes] = slope * k.splat(s.scale) if s.scale != 1 else slope
        for r in k.range(0, s.rows, ROWS):
            for d, wide in _columns(s):
                found = tile(k, 0, h.end, lambda j, m, r=r: slopes.one(j, r + m),
                             lambda j, n, d=d, h=h: keys.load(*h.at(j, d + n * s.lanes)), width=wide)
                for m, row in enumerate(found):
                    for n, x in enumerate(row):
                        dq[h.at(start + (r + m), d + n * s.lanes)] = x
        for key in k.range(0, h.end, ROWS):
            for d, wide in _columns(s):
                for weights, other, sums in ((slopes, q, dk), (probs, g, dv)):
                    first = [sums.load(*h.at(key + m, d + n * s.lanes)) for m in range(ROWS) for n in range(wide)]
                    found = tile(k, 0, s.rows, lambda r, m, w=weights, key=key: w.one(key + m, r),
                                 lambda r, n, o=other, d=d, h=h: o.load(*h.at(h.start + r, d + n * s.lanes)), first,
                                 width=wide)
                    for m, row in enumerate(found):
                        for n, x in enumerate(row):
                            sums[h.at(key + m, d + n * s.lanes)] = x
    return k.text()


def _columns(s: Shape) -> list[tuple[int, int]]:
    """Where tiles begin along the width, and their vectors."""
    return [(d, min(WIDTH, (s.width - d) // s.lanes)) for d in range(0, s.width, s.lanes * WIDTH)]
