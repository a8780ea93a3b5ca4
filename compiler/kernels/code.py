"""The text of a kernel: loops, vectors of f32 and memory, in the dialects the code generator lowers to machine code.

A kernel is a function of buffers that runs once for each place of a grid. Its values are Python objects whose operators
write operations, so a kernel reads like the loop it is:

    k = Kernel("double", grid=(64,), buffers=[(64, 128), (64, 128)])
    x, y = k.buffers
    for j in k.range(0, 128, k.lanes):
        y[k.place[0], j] = x.load(k.place[0], j) * k.splat(2.0)
    text = k.text()
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import isfinite
from typing import TypeAlias, TypeVar

#: Numbers of f32 in a vector of AVX2. One of AVX-512 has twice as many.
LANES = 8
#: Of them in a line of memory, what caches hold.
LINE = 16
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Index:
    """A place in a buffer, known when the kernel runs."""

    kernel: Kernel
    name: str

    def _with(self, operation: str, other: Index | int) -> Index:
        return self.kernel.make(Index, f"arith.{operation} {self.name}, {self.kernel.at(other)} : index")

    def __add__(self, other: Index | int) -> Index:
        return self if other == 0 else self._with("addi", other)

    def __sub__(self, other: Index | int) -> Index:
        return self if other == 0 else self._with("subi", other)

    def __mul__(self, other: Index | int) -> Index:
        return self._with("muli", other)

    def __floordiv__(self, other: Index | int) -> Index:
        return self._with("divui", other)

    def __mod__(self, other: int) -> Index:
        return self._with("remui", other)


Place: TypeAlias = Index | int


@dataclass(frozen=True, slots=True)
class Vector:
    """As many f32 in a register as the kernel has lanes."""

    kernel: Kernel
    name: str

    def _with(self, operation: str, other: Vector) -> Vector:
        return self.kernel.make(Vector, f"arith.{operation} {self.name}, {other.name} : {self.kernel.vector}")

    def __add__(self, other: Vector) -> Vector:
        return self._with("addf", other)

    def __sub__(self, other: Vector) -> Vector:
        return self._with("subf", other)

    def __mul__(self, other: Vector) -> Vector:
        return self._with("mulf", other)

    def __truediv__(self, other: Vector) -> Vector:
        return self._with("divf", other)

    def most(self, other: Vector) -> Vector:
        """The greater of each two; `other` where one is NaN."""
        return self.kernel.select(self.kernel.name(f"arith.cmpf ogt, {self.name}, {other.name} : {self.kernel.vector}"),
                                  self, other)

    def least(self, other: Vector) -> Vector:
        """The smaller of each two; `other` where one is NaN."""
        return self.kernel.select(self.kernel.name(f"arith.cmpf olt, {self.name}, {other.name} : {self.kernel.vector}"),
                                  self, other)

    def mixed(self, other: Vector, lanes: Sequence[int]) -> Vector:
        """The numbers of these lanes, the lanes of `other` counted on from the last."""
        operands = f"{self.name}, {other.name} {list(lanes)}"
        return self.kernel.make(Vector, f"vector.shuffle {operands} : {self.kernel.vector}, {self.kernel.vector}")

    def function(self, name: str) -> Vector:
        """One of the functions of the dialect `math`."""
        return self.kernel.make(Vector, f"math.{name} {self.name} : {self.kernel.vector}")

    def plus_product(self, a: Vector, b: Vector) -> Vector:
        """self + a · b, rounded once."""
        return self.kernel.make(Vector, f"vector.fma {a.name}, {b.name}, {self.name} : {self.kernel.vector}")


@dataclass(frozen=True, slots=True)
class Buffer:
    """Memory: what the kernel was given, of f32, or its own on the stack."""

    kernel: Kernel
    name: str
    shape: tuple[int, ...]
    element: str = "f32"

    @property
    def type(self) -> str:
        return f"memref<{'x'.join(map(str, self.shape))}x{self.element}>"

    def at(self, places: Sequence[Place]) -> str:
        return f"{self.name}[{', '.join(self.kernel.at(p) for p in places)}]"

    def load(self, *places: Place) -> Vector:
        """The numbers from this place on, along the last axis."""
        return self.kernel.make(Vector, f"vector.load {self.at(places)} : {self.type}, {self.kernel.vector}")

    def one(self, *places: Place) -> Vector:
        """The number at this place in every lane."""
        scalar = self.kernel.name(f"memref.load {self.at(places)} : {self.type}")
        return self.kernel.make(Vector, f"vector.broadcast {scalar} : f32 to {self.kernel.vector}")

    def soon(self, *places: Place, write: bool = False) -> None:
        """This place is wanted soon: its line comes to the second cache to be read, to the first to be written."""
        how = "write, locality<3>" if write else "read, locality<2>"
        self.kernel.write(f"memref.prefetch {self.at(places)}, {how}, data : {self.type}")

    def __setitem__(self, places: tuple[Place, ...], value: Vector) -> None:
        self.kernel.write(f"vector.store {value.name}, {self.at(places)} : {self.type}, {self.kernel.vector}")


class Kernel:
    """One kernel on its way; `grid` counts its places, `buffers` are shapes, results last; a vector has `lanes`."""

    def __init__(self, name: str, grid: tuple[int, ...], buffers: Sequence[Sequence[int]], lanes: int = LANES) -> None:
        self.lanes, self.vector = lanes, f"vector<{lanes}xf32>"
        self.symbol, self.grid = name, (*grid, 1, 1)[:3]
        self._numbers = itertools.count()
        self._head: list[str] = []
        self._constants: dict[str, str] = {}
        self._lines: list[str] = []
        self._count = len(buffers)
        zero = self.at(0)
        self.place = [self.make(Index, f"stream.dispatch.workgroup.id[{i}] : index") for i in range(len(grid))]
        self.buffers = [self._bound(i, shape, zero) for i, shape in enumerate(buffers)]

    # -- writing ------------------------------------------------------------------------------------------------------

    def write(self, line: str) -> None:
        self._lines.append(line)

    def name(self, operation: str) -> str:
        """Writes an operation: the name of its result."""
        result = f"%v{next(self._numbers)}"
        self.write(f"{result} = {operation}")
        return result

    def make(self, kind: Callable[[Kernel, str], T], operation: str) -> T:
        return kind(self, self.name(operation))

    def constant(self, text: str) -> str:
        if text not in self._constants:
            self._constants[text] = f"%c{len(self._constants)}"
            self._head.append(f"{self._constants[text]} = arith.constant {text}")
        return self._constants[text]

    def at(self, place: Place) -> str:
        return self.constant(f"{place} : index") if isinstance(place, int) else place.name

    def index(self, place: int) -> Index:
        return Index(self, self.at(place))

    def least(self, a: Index, b: Index | int) -> Index:
        return self.make(Index, f"arith.minui {self.at(a)}, {self.at(b)} : index")

    def most(self, a: Index, b: Index | int) -> Index:
        return self.make(Index, f"arith.maxui {self.at(a)}, {self.at(b)} : index")

    def splat(self, number: float) -> Vector:
        text = f"{number:.9e}" if isfinite(number) else f"0x{struct.pack('>f', number).hex().upper()}"
        return Vector(self, self.constant(f"dense<{text}> : {self.vector}"))

    # -- memory -------------------------------------------------------------------------------------------------------

    def _bound(self, i: int, shape: Sequence[int], zero: str) -> Buffer:
        given = Buffer(self, f"%b{i}", tuple(shape))
        whole = self.name(f"stream.binding.subspan %b{i}[{zero}] : !stream.binding -> {given.type}")
        return replace(given, name=self.name(f"memref.assume_alignment {whole}, 64 : {given.type}"))

    def scratch(self, *shape: int, element: str = "f32") -> Buffer:
        """Memory on the stack, the kernel's own."""
        held = Buffer(self, "", shape, element)
        return replace(held, name=self.name(f"memref.alloca() alignment = 64 : {held.type}"))

    # -- control ------------------------------------------------------------------------------------------------------

    def range(self, start: Place, end: Place, step: int) -> Iterator[Index]:
        """`for i in kernel.range(…)` writes a loop: its body runs once here, and as often as it says there."""
        i = Index(self, f"%i{next(self._numbers)}")
        self.write(f"scf.for {i.name} = {self.at(start)} to {self.at(end)} step {self.at(step)} {{")
        yield i
        self.write("}")

    @contextmanager
    def when(self, how: str, a: Index, b: Place) -> Iterator[None]:
        """`with kernel.when("eq", a, b):` writes what runs if a is b; with "ne", if it is not."""
        self.write(f"scf.if {self.name(f'arith.cmpi {how}, {a.name}, {self.at(b)} : index')} {{")
        yield
        self.write("}")

    @contextmanager
    def where(self, x: Vector) -> Iterator[None]:
        """`with kernel.where(x):` writes what runs if the first lane of x is not 0."""
        first = self.name(f"vector.extract {x.name}[0] : f32 from {self.vector}")
        flag = self.name(f"arith.cmpf une, {first}, {self.constant('0.0 : f32')} : f32")
        self.write(f"scf.if {flag} {{")
        yield
        self.write("}")

    def carry(self, start: Place, end: Place, step: int, first: Sequence[Vector],
              body: Callable[[Index, list[Vector]], list[Vector]]) -> list[Vector]:
        """A loop that hands vectors from one round to the next."""
        i, result = Index(self, f"%i{next(self._numbers)}"), f"%r{next(self._numbers)}"
        carried = [Vector(self, f"%t{next(self._numbers)}") for _ in first]
        types = ", ".join([self.vector] * len(first))
        begin = ", ".join(f"{c.name} = {v.name}" for c, v in zip(carried, first, strict=True))
        self.write(f"{result}:{len(first)} = scf.for {i.name} = {self.at(start)} to {self.at(end)} "
                   f"step {self.at(step)} iter_args({begin}) -> ({types}) {{")
        self.write(f"scf.yield {', '.join(v.name for v in body(i, carried))} : {types}")
        self.write("}")
        return [Vector(self, f"{result}#{n}") for n in range(len(first))]

    def where_not_after(self, first: Index, offset: int, last: Index, value: Vector, other: Vector) -> Vector:
        """`value` in each lane with first + offset <= last + its number, `other` in the rest."""
        lanes = ", ".join(str(lane - offset) for lane in range(self.lanes))
        lanes = self.constant(f"dense<[{lanes}]> : vector<{self.lanes}xi32>")
        gap = self.name(f"arith.index_cast {(first - last).name} : index to i32")
        gap = self.name(f"vector.broadcast {gap} : i32 to vector<{self.lanes}xi32>")
        flags = self.name(f"arith.cmpi sle, {gap}, {lanes} : vector<{self.lanes}xi32>")
        return self.select(flags, value, other)

    def select(self, flags: str, a: Vector, b: Vector) -> Vector:
        """`a` in the lanes whose flag is set, `b` in the others."""
        kinds = f"vector<{self.lanes}xi1>, {self.vector}"
        return self.make(Vector, f"arith.select {flags}, {a.name}, {b.name} : {kinds}")

    def text(self) -> str:
        """An executable of this one kernel."""
        arguments = ", ".join(f"%b{i}: !stream.binding" for i in range(self._count))
        x, y, z = self.grid
        return "\n".join([
            f"stream.executable private @{self.symbol} {{",
            f"stream.executable.export public @{self.symbol} workgroups() -> (index, index, index) {{",
            f"%x = arith.constant {x} : index", f"%y = arith.constant {y} : index", f"%z = arith.constant {z} : index",
            "stream.return %x, %y, %z : index, index, index", "}",
            "builtin.module {", f"func.func @{self.symbol}({arguments}) {{", *self._head, *self._lines, "return",
            "}", "}", "}"])
