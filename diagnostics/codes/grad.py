"""Codes of the GRAD family."""

from sexpgpu.diagnostics.codes.code import Code

TABLE: tuple[Code, ...] = (
)
