"""Codes of the TYPE family: a value of the wrong kind or dtype."""

from sexpgpu.diagnostics.codes.code import Code

TABLE: tuple[Code, ...] = (
    Code("E-TYPE-001", "unknown dtype",
         "A word stands where a dtype must, in `cast`, `param`, `field` or `:dtype`, and it is not one of them."),
    Code("E-TYPE-002", "a tensor is needed",
         "An operation on tensors was given something else: a string, a list, a function, nothing."),
    Code("E-TYPE-003", "a number is needed",
         "Arithmetic was given something that is neither a number nor a tensor."),
    Code("E-TYPE-004", "two tensor dtypes meet",
         "Two tensors of different dtypes meet in one operation. Only bool becomes a number by itself, in arithmetic; "
         "everything else is a `cast` in the program."),
    Code("E-TYPE-005", "an integer tensor meets a float",
         "A number with a fraction meets a tensor of integers. The tensor is cast, or the number is written whole."),
    Code("E-TYPE-006", "an integer is needed",
         "Sizes, axes and counts are whole numbers known at compile time. `(/ a b)` gives a float where it does not "
         "divide; `(quotient a b)` always gives an integer."),
    Code("E-TYPE-007", "a float tensor is needed",
         "The operation is defined for real numbers (a logarithm, a softmax, a mean) and its tensor is of integers."),
    Code("E-TYPE-008", "an integer tensor is needed",
         "Indices, class numbers and bit operations take tensors of integers."),
    Code("E-TYPE-009", "booleans are needed",
         "Conditions and logic take booleans. Numbers become booleans by a comparison, `(/= x 0)`."),
    Code("E-TYPE-010", "a number does not fit the dtype",
         "A plain number takes the dtype of the tensor it meets and is outside of what that can hold."),
    Code("E-TYPE-011", "division of integers",
         "`/` of integer tensors would lose the fraction. `quotient` divides whole numbers; a `cast` keeps fractions."),
    Code("E-TYPE-012", "a ctx value meets a tensor",
         "The values of `ctx` are scalars of the host; they do not enter the graph. A `schedule` does."),
    Code("E-TYPE-013", "a value of another kind is needed",
         "A function was given a value of a kind it cannot use: a list where a string must stand, and the like."),
    Code("E-TYPE-014", "the branches of `if` have two types",
         "A condition that is known only at run time computes both branches, and both must have one dtype and shape."),
    Code("E-TYPE-015", "not a function",
         "The head of a call, or a value given where a function must stand, is not a function."),
    Code("E-TYPE-016", "a tensor outside of the graph",
         "Tensors exist inside `prepare`, `model`, `objective`, `evaluate`, initialisers and optimizer updates. At top "
         "level and in functions of `ctx` there are only numbers."),
    Code("E-TYPE-017", "the operation has no meaning for this dtype",
         "The operation exists for numbers of some kinds only: no logarithm of booleans, no shift of floats."),
    Code("E-TYPE-018", "what a loop carries changes its type",
         "The value that `scan`, `repeat` or `while-loop` carries has one dtype and shape before a round and another "
         "after it. A loop of the graph carries values of one type."),
    Code("E-TYPE-019", "the gradient of what is no scalar",
         "`gradient` differentiates a function whose value is a scalar of floats."),
)
