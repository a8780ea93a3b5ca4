"""Codes of the TARGET family."""

from sexpgpu.diagnostics.codes.code import Code

TABLE: tuple[Code, ...] = (
)
