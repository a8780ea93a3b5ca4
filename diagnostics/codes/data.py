"""Codes of the DATA family."""

from sexpgpu.diagnostics.codes.code import Code

TABLE: tuple[Code, ...] = (
)
