"""Artifacts to measure: an experiment built as it is, or without some passes."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from sexpgpu.compiler.frontend.experiment import check
from sexpgpu.compiler.passes.build import BuildOptions, build
from sexpgpu.compiler.passes.iree.driver import CompileOptions
from sexpgpu.diagnostics import SourceMap
from sexpgpu.diagnostics.emit import emit, exit_status


def built(source: Path, out: Path, *, without: Sequence[str] = (), overrides: Mapping[str, str] | None = None,
          flags: Sequence[str] = ()) -> Path:
    """`out`, for this machine's processor. `flags` go to the code generator after the project's own."""
    sources = SourceMap()
    staged, found = check(source, overrides=dict(overrides or {}), sources=sources)
    if staged is None:
        emit(found, sources)
        sys.exit(exit_status(found))
    with staged.module.context:
        build(staged.module, "cpu", out, BuildOptions(disabled=tuple(without), compile=CompileOptions(tuple(flags))))
    return out


def add_without(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--without", metavar="PASS[,PASS]", type=passes, action="append", default=[],
                        help="compare with what is built without these passes (`sexpc opt --list` has their names); "
                             "may be repeated")


def add_overrides(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-D", dest="overrides", metavar="NAME=VALUE", type=override, action="append", default=[],
                        help="replace the value of a `defvar`, as for `sexpc build`; may be repeated")


def passes(text: str) -> tuple[str, ...]:
    from sexpgpu.compiler.passes.pipeline import SWITCHES

    chosen = tuple(text.split(","))
    for name in chosen:
        if name not in SWITCHES:
            raise argparse.ArgumentTypeError(f"`{name}` cannot be left out; {', '.join(SWITCHES)} can")
    return chosen


def override(text: str) -> tuple[str, str]:
    name, found, value = text.partition("=")
    if not found:
        raise argparse.ArgumentTypeError(f"`{text}` is not NAME=VALUE")
    return name, value
