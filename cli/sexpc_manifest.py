"""`sexpc manifest`: lists data files with their sizes and records, or holds such a list against the files."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from sexpgpu.cli.sexpc_progress import Progress
from sexpgpu.cli.words import Arguments
from sexpgpu.diagnostics.diagnostic import Diagnostic, Fix, SexpError
from sexpgpu.diagnostics.span import SourceMap

if TYPE_CHECKING:
    from sexpgpu.runtime.dataio.located import SourceFile
    from sexpgpu.runtime.dataio.manifest.model import Manifest, Shard
    from sexpgpu.runtime.dataio.manifest.survey import Surveyor

_MOST_THREADS = 256


def run(arguments: Arguments, _: SourceMap) -> int:
    return _check(arguments) if arguments.given("check") else _write(arguments)


def _write(arguments: Arguments) -> int:
    from sexpgpu.runtime.dataio.manifest.build import beneath, files_named, write_manifest
    from sexpgpu.runtime.dataio.manifest.columns import columns_of
    from sexpgpu.runtime.dataio.manifest.model import Manifest

    out = arguments.last("o", "manifest.json") or ""
    if os.path.isdir(out) or out.endswith("/"):
        raise SexpError(Diagnostic("E-RUN-002", f"`-o {out}` is a folder",
                                   fix=Fix(f"for instance `-o {out.rstrip('/')}/manifest.json`")))
    split = arguments.last("split", "train") or ""
    kept = dict(_there(out).splits) if arguments.given("update") else {}
    files = files_named(arguments.operands, arguments.last("encoding"))
    with _surveyor(files, arguments, arguments.given("sha256")) as surveyor:
        found = [beneath(shard, out) for shard in surveyor.survey(files)]
    name = arguments.last("name") or PurePosixPath(os.path.abspath(out) if "://" not in out else out).parent.name
    manifest = Manifest(name, kept | {split: tuple(found)}, columns_of(files[0]))
    write_manifest(manifest, out)
    print(_closing(manifest, split, out))
    return 0


def _there(out: str) -> Manifest:
    """The manifest that is updated."""
    from sexpgpu.runtime.dataio.manifest.shards import read_manifest

    return read_manifest(out, os.getcwd())


@contextmanager
def _surveyor(files: Sequence[SourceFile], arguments: Arguments, digest: bool) -> Iterator[Surveyor]:
    """Shows how far it is, on a terminal."""
    from sexpgpu.runtime.dataio.manifest.survey import Surveyor

    surveyor = Surveyor(_threads(arguments), digest)

    def told() -> str:
        return f"{surveyor.done} of {len(files)} files, {surveyor.bytes / 2**20:,.0f} MiB"

    with Progress(sys.stderr).phase(told):
        yield surveyor


def _threads(arguments: Arguments) -> int:
    word = arguments.last("threads", "8") or ""
    if not word.isdecimal() or not 0 < int(word) <= _MOST_THREADS:
        raise SexpError(Diagnostic("E-RUN-002", f"`--threads` does not take `{word}`",
                                   fix=Fix(f"it takes a number from 1 to {_MOST_THREADS}")))
    return int(word)


def _check(arguments: Arguments) -> int:
    from sexpgpu.runtime.dataio.encodings import encoding_of
    from sexpgpu.runtime.dataio.located import SourceFile, located
    from sexpgpu.runtime.dataio.manifest.build import compare
    from sexpgpu.runtime.dataio.manifest.shards import beside, read_manifest

    shards: list[Shard] = []
    files: list[SourceFile] = []
    counts: dict[str, int] = {}
    for uri in arguments.operands:
        for split, listed in read_manifest(uri, os.getcwd()).splits.items():
            shards += listed
            counts[split] = counts.get(split, 0) + len(listed)
            for shard in listed:
                name = beside(uri, shard.uri)
                code = shard.encoding or encoding_of(shard.uri) or arguments.last("encoding") or "parquet"
                files.append(SourceFile(name, located(name, os.getcwd()), code, listed_in=uri))
    with _surveyor(files, arguments, any(shard.sha256 for shard in shards)) as surveyor:
        problems = compare(surveyor, shards, files)
    if problems:
        raise SexpError(*problems)
    print("as listed: " + ", ".join(f"{count:,} file{'s' if count != 1 else ''} in `{name}`"
                                    for name, count in counts.items()))
    return 0


def _closing(manifest: Manifest, split: str, out: str) -> str:
    shards = manifest.splits[split]
    size = sum(s.bytes for s in shards)
    rows = [f"{out}: {_totals({n: sum(s.records for s in t) for n, t in manifest.splits.items()})}; "
            f"{len(shards)} file{'s' if len(shards) != 1 else ''} of `{split}`, {size / 2**20:,.1f} MiB"]
    fields = " ".join(c.form() for c in manifest.columns)
    if fields:
        rows.append(f"  :sources [(manifest \"{out}\" :split \"{split}\")]")
        rows.append(f"  :fields [{fields}]")
    return "\n".join(rows)


def _totals(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} records in `{name}`" for name, count in counts.items())
