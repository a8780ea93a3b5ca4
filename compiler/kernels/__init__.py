"""Kernels for processors, written as loops over vectors: the code generator takes them as they are.

`code` writes them, `tile` is the product of small blocks that all of them are made of, and each other file is one
kernel, or two. Passes (`attention`, `dense`, `weights` in `compiler/passes`) put them where their operations stand.
"""
