"""Codes of the NAME family."""

from sexpgpu.diagnostics.codes.code import Code

TABLE: tuple[Code, ...] = (
)
