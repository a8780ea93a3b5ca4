"""Stacks of layers: one tensor of state for all layers of a `repeat`, with the name of each layer's.

A `*` in a name stands for a layer's number: `block.*.w` of shape [12 64 64] is `block.0.w` … `block.11.w`, each
[64 64]. Several `*` are several axes, the first axis the first of them.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence


def names_of(name: str, shape: Sequence[int]) -> tuple[list[str], tuple[int, ...]]:
    """The names of the layers in the order they lie in, and the shape of each; of no stack, the name and the shape."""
    parts = name.split("*")
    depth = len(parts) - 1
    names = ["".join(part + number for part, number in zip(parts, [*map(str, at), ""], strict=True))
             for at in itertools.product(*(range(n) for n in shape[:depth]))]
    return names, tuple(shape[depth:])
