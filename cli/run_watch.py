"""`sexpgpu-run watch`: a run as it goes on, from another terminal."""

from __future__ import annotations

from sexpgpu.cli.run_words import Words


def run(words: Words) -> int:
    from sexpgpu.runtime.look.watch import watch

    return watch(words.operands[0], once="once" in words.flags)
