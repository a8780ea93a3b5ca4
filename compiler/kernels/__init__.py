"""Kernels for processors, written as loops over vectors: the code generator takes them as they are.

`code` writes them, `tile` is the product of small blocks that most of them are made of, `copied` a block of a matrix
that a tile reads, `steps` what is computed number by number; `amx` is the product in the processor's own tiles, for
which `split` makes bf16 of f32. Each other file is one kernel, or two. Passes (`attention`, `dense`, `weights` and
`updates` in `compiler/passes`) put them where their operations stand.
"""
