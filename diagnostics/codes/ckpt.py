"""Codes of the CKPT family."""

from sexpgpu.diagnostics.codes.code import Code

TABLE: tuple[Code, ...] = (
    Code("E-CKPT-001", "no checkpoint",
         "The path given with `--resume` holds no complete checkpoint."),
    Code("E-CKPT-002", "damaged checkpoint",
         "A file of the checkpoint is missing or its bytes changed since it was written. In a run folder the newest "
         "whole checkpoint before it is taken instead; this error means there was none, or that the path named it."),
    Code("E-CKPT-003", "checkpoint of another model",
         "The checkpoint's tensors are not those of the artifact: names, shapes or dtypes differ."),
    Code("E-CKPT-004", "weights that do not fit",
         "The file given with `--init-from` lacks parameters, has tensors the model does not know, or has them in "
         "another shape or dtype."),
    Code("E-CKPT-005", "not a safetensors file",
         "The file given with `--init-from` cannot be read as safetensors: it is missing, cut short, or something "
         "else."),
    Code("E-CKPT-006", "checkpoint of a later version",
         "The checkpoint was written by a newer version of sexpgpu than this one."),
)
