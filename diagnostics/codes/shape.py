"""Codes of the SHAPE family: sizes, axes and ranks that do not fit."""

from sexpgpu.diagnostics.codes.code import Code

TABLE: tuple[Code, ...] = (
    Code("E-SHAPE-001", "shapes do not broadcast",
         "Two operands differ in an axis and neither has size 1 there. Axes are matched from the last one backwards."),
    Code("E-SHAPE-002", "contracted axes differ in size",
         "The axes that a product sums over must have one size: `matmul`'s `k`, a letter of `einsum`."),
    Code("E-SHAPE-003", "no such axis",
         "An axis is counted past the tensor's rank, or named twice."),
    Code("E-SHAPE-004", "wrong number of axes",
         "The operation needs a tensor with more axes, or with fewer."),
    Code("E-SHAPE-005", "reshape changes the number of elements",
         "The product of the new sizes is not the product of the old ones."),
    Code("E-SHAPE-006", "outside of the axis",
         "A slice or an index that is known at compile time reaches past the end of its axis, or takes nothing."),
    Code("E-SHAPE-007", "not a permutation",
         "The axes given to `transpose` or `permute` are not each axis of the tensor once."),
    Code("E-SHAPE-008", "joined shapes differ",
         "Tensors that are joined must agree in every axis but the joined one (`concat`), or in all (`stack`)."),
    Code("E-SHAPE-009", "a size that cannot be",
         "A size of a shape is zero or negative (no tensor is without elements), or larger than any tensor has."),
    Code("E-SHAPE-010", "one parameter, two shapes",
         "The same full name is declared twice with different shapes. One name is one parameter."),
    Code("E-SHAPE-011", "does not divide the axis",
         "An axis is to be split into equal parts and its size is no multiple of their number."),
    Code("E-SHAPE-012", "the batch size stands in a shape as a number",
         "The last rows of a pass are evaluated one by one, and a shape of the program holds the full batch size."),
    Code("E-SHAPE-013", "shapes must be equal",
         "Two tensors must have exactly one shape, without broadcasting."),
    Code("E-SHAPE-014", "a subscript of einsum does not fit",
         "The subscripts do not name each axis of each operand once, or the result names a letter no operand has."),
)
