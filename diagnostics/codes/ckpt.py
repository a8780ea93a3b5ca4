"""Codes of the CKPT family."""

from sexpgpu.diagnostics.codes.code import Code

TABLE: tuple[Code, ...] = (
)
