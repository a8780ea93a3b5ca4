"""What the operations share: tensors out of arguments, dtype agreement, broadcasting, axes, shapes, shape errors."""
