"""`sexpgpu-run watch`: a run as it goes on, from another terminal."""

from __future__ import annotations

from sexpgpu.cli.words import Arguments


def run(arguments: Arguments) -> int:
    from sexpgpu.runtime.look.watch import watch

    return watch(arguments.operands[0], once=arguments.given("once"))
