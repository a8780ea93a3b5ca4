"""Writing manifests: which files, in which order, under which URIs; and holding one against its shards."""

from __future__ import annotations

import fnmatch
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from sexpgpu.diagnostics import Diagnostic, one_of
from sexpgpu.runtime.dataio.encodings import ENCODINGS, encoding_of
from sexpgpu.runtime.dataio.faults import error
from sexpgpu.runtime.dataio.located import SourceFile, located
from sexpgpu.runtime.dataio.manifest.model import Manifest, Shard, total
from sexpgpu.runtime.dataio.manifest.survey import Surveyor
from sexpgpu.runtime.dataio.remote.address import is_s3, parts, scheme_of
from sexpgpu.runtime.replace import replace_file

_PATTERN = frozenset("*?[")


def files_named(words: Sequence[str], encoding: str | None) -> list[SourceFile]:
    """The files that are meant, in order: each as given, a folder's or a prefix's (with `/` at its end) in the order of
    their names, those that match an `s3://` pattern likewise. In folders, files of no known encoding are passed over.
    """
    files: list[SourceFile] = []
    seen: set[str] = set()
    for word in words:
        for path in _paths(word):
            code = encoding or encoding_of(path)
            if code is None and path == word:
                raise error("E-DATA-011", f"the encoding of `{path}` cannot be told from its name",
                            fix=f"name it: `--encoding parquet`; there is {one_of(path, ENCODINGS)}")
            place = located(path, os.getcwd())
            if code is None or place in seen:
                continue
            seen.add(place)
            files.append(SourceFile(path, place, code))
    if not files:
        raise error("E-STORE-001", "there are no files of a known encoding in " + ", ".join(f"`{w}`" for w in words),
                    fix="files are told by the ends of their names: " + ", ".join(f"`.{e}`" for e in ENCODINGS))
    return files


def _paths(word: str) -> Iterator[str]:
    if is_s3(word):
        from sexpgpu.runtime.dataio.remote.persist import listing

        bucket, key = parts(word)
        if key == "" or key.endswith("/"):
            yield from listing(f"s3://{bucket}/{key}")
        elif _PATTERN & set(key):
            literal = key[:min(key.find(c) for c in _PATTERN if c in key)]
            yield from (uri for uri in listing(f"s3://{bucket}/{literal}")
                        if fnmatch.fnmatchcase(uri[len(f"s3://{bucket}/"):], key))
        else:
            yield word
    elif os.path.isdir(word):
        for folder, folders, names in os.walk(word):
            folders.sort()
            yield from (os.path.join(folder, name) for name in sorted(names))
    elif scheme_of(word) is None and not os.path.exists(word):
        raise error("E-STORE-001", f"there is no file `{word}`", notes=[f"looked for in `{os.getcwd()}`"])
    else:
        yield word


def beneath(shard: Shard, manifest: str) -> Shard:
    """The shard with a URI relative to where the manifest will lie, if it lies in that folder or below."""
    # Links are left alone: what they point to may have a name that says nothing, as in caches.
    path = shard.uri if is_s3(shard.uri) else os.path.abspath(shard.uri)
    folder = (manifest if is_s3(manifest) else os.path.abspath(manifest)).rpartition("/")[0] + "/"
    return replace(shard, uri=path.removeprefix(folder))


def write_manifest(manifest: Manifest, out: str) -> None:
    """Whole or not at all: beside its place and renamed, or as one object."""
    data = (render(manifest) + "\n").encode()
    if is_s3(out):
        from sexpgpu.runtime.dataio.remote.persist import put

        put(out, out, data)
        return
    try:
        replace_file(Path(out), data)
    except OSError as problem:
        raise error("E-STORE-008", f"`{out}` could not be written: {problem.strerror or problem}") from None


def render(manifest: Manifest) -> str:
    """JSON with a shard a line: for people to read, and for version control."""
    data = manifest.to_json()
    data.pop("splits")
    head = json.dumps(data, indent=1, ensure_ascii=False).removesuffix("\n}")
    splits = ",\n".join(_render_split(name, shards) for name, shards in manifest.splits.items())
    return f'{head},\n "splits": {{\n{splits}\n }}\n}}'


def _render_split(name: str, shards: Sequence[Shard]) -> str:
    sums = json.dumps({"records": total(s.records for s in shards), "bytes": total(s.bytes for s in shards)})
    lines = ",\n".join("   " + json.dumps(shard.to_json(), ensure_ascii=False) for shard in shards)
    return f'  {json.dumps(name, ensure_ascii=False)}: {sums[:-1]}, "shards": [\n{lines}\n  ]}}'


def differences(listed: Shard, found: Shard, name: str, manifest: str) -> list[Diagnostic]:
    """What a manifest says of a shard and is not so."""
    wrong: list[tuple[str, str, str]] = []
    if listed.bytes >= 0 and listed.bytes != found.bytes:
        wrong.append(("E-STORE-007", f"{listed.bytes:,} bytes", f"{found.bytes:,}"))
    if listed.etag and found.etag and listed.etag != found.etag:
        wrong.append(("E-STORE-007", f"the etag {listed.etag}", found.etag))
    if listed.sha256 and found.sha256 and listed.sha256 != found.sha256:
        wrong.append(("E-STORE-006", f"the SHA-256 {listed.sha256[:16]}…", f"{found.sha256[:16]}…"))
    if found.records < 0:
        pass  # its head does not tell
    elif listed.records >= 0 and listed.records != found.records:
        wrong.append(("E-DATA-032", f"{listed.records:,} records", f"{found.records:,}"))
    elif listed.blocks and listed.blocks != found.blocks:
        wrong.append(("E-DATA-032", "another table of blocks", f"{len(found.blocks)} blocks"))
    return [Diagnostic(code, f"`{manifest}` says that `{name}` has {said}, and it has {has}")
            for code, said, has in wrong]


def compare(surveyor: Surveyor, shards: Sequence[Shard], files: Sequence[SourceFile]) -> list[Diagnostic]:
    """All that is wrong with shards, each beside its file: those that cannot be read, and those that differ."""
    found, problems = surveyor.look(files)
    for i, there in sorted(found.items()):
        problems += differences(shards[i], there, files[i].name, files[i].listed_in)
    return problems


def hold_against_manifests(files: Sequence[SourceFile], most_bytes: int,
                           threads: int = 8) -> tuple[list[Diagnostic], int]:
    """What is wrong with the files that manifests list, and how many were not counted.

    Every head is looked at. Records that no head tells are counted in files that have `most_bytes` together.
    """
    listed = [file for file in files if file.listed_in]
    said = [Shard(file.name, file.encoding, file.bytes, file.records, file.version) for file in listed]
    found, problems = Surveyor(threads, heads=True).look(listed)
    count: list[int] = []
    uncounted = 0
    for i, there in sorted(found.items()):
        wrong = differences(said[i], there, listed[i].name, listed[i].listed_in)
        problems += wrong
        if wrong or there.records >= 0 or said[i].records < 0:
            continue
        most_bytes -= there.bytes
        if most_bytes >= 0:
            count.append(i)
        else:
            uncounted += 1
    problems += compare(Surveyor(threads), [said[i] for i in count], [listed[i] for i in count])
    return problems, uncounted
