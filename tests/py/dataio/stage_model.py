"""Stages as plain Python: files in every encoding, mixes by weight, records left out, and the order of all of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import count, islice
from pathlib import Path

import pyarrow as pa
from dataio_helpers import model_epoch, write
from record_files import encode
from sexpgpu.runtime.dataio import FieldSpec, FilesSource, Loader, LoaderSpec, StageSpec

ID = FieldSpec("id", "id", "i32", ())


@dataclass(frozen=True)
class ModelSource:
    """The ids of each file; a bad record is a negative id."""

    files: tuple[tuple[int, ...], ...]
    encoding: str
    weight: float | None = None

    def rows(self, policy: str = "error") -> list[int]:
        """One epoch."""
        if policy == "skip-file":
            return [i for ids in self.files for i in ids[:next((n for n, i in enumerate(ids) if i < 0), len(ids))]]
        return [i for ids in self.files for i in ids if i >= 0]


#: Two files, and one of another encoding, and one of a third.
MIXED = [ModelSource((tuple(range(30)), tuple(range(30, 41))), "jsonl.gz"),
         ModelSource((tuple(range(41, 77)),), "parquet"), ModelSource((tuple(range(77, 100)),), "msgpack.zstf")]


def make_stage(folder: Path, sources: Sequence[ModelSource], *, batch: int, shuffle: int = 0, infinite: bool = False,
               cuts: Sequence[int] = ()) -> LoaderSpec:
    """Writes the files; compressed text is cut into members and frames at `cuts`."""
    made = []
    for s, source in enumerate(sources):
        names = []
        for f, ids in enumerate(source.files):
            name = f"{s}-{f}.{source.encoding}"
            if source.encoding == "parquet":
                # A bad id is one that the field's dtype does not hold.
                column = pa.array([i if i >= 0 else 2**40 - i for i in ids], pa.int64())
                write(folder / name, {"id": column}, row_group_size=5)
            else:
                records = [{"id": i if i >= 0 else "bad", "padding": "x" * (i % 50)} for i in ids]
                (folder / name).write_bytes(encode(records, source.encoding, cuts))
            names.append(name)
        made.append(FilesSource(tuple(names), source.encoding, source.weight))
    return LoaderSpec((ID,), (StageSpec("main", tuple(made), shuffle, infinite),), batch, str(folder))


def mix(sources: Sequence[ModelSource], infinite: bool, policy: str = "error") -> Iterator[int]:
    """Tijdeman's schedule in exact arithmetic; sources that end drop out."""
    rows = [source.rows(policy) for source in sources]
    alive = [s for s, source in enumerate(sources) if source.weight]
    taken = [0] * len(sources)
    base = list(taken)
    since = 0
    for t in count():
        while True:
            if not alive:
                return
            total = sum(Fraction(sources[s].weight) for s in alive)  # type: ignore[arg-type]
            least = Fraction(1, 2 * len(alive) - 2) if len(alive) > 1 else Fraction(0)
            due = {}
            for s in alive:
                share = Fraction(sources[s].weight) / total  # type: ignore[arg-type]
                behind = share * (t - since) - (taken[s] - base[s])
                if behind + share >= least:
                    due[s] = (1 - least - behind) / share
            chosen = min(due, key=lambda s: (due[s], s))
            if infinite or taken[chosen] < len(rows[chosen]):
                break
            alive.remove(chosen)
            since, base = t, list(taken)
        yield rows[chosen][taken[chosen] % len(rows[chosen])]
        taken[chosen] += 1


def model_stage(sources: Sequence[ModelSource], *, shuffle: int, infinite: bool, seed: int,
                policy: str = "error") -> Iterator[int]:
    """All ids of the stage in order, epoch after epoch."""
    weighted = any(source.weight is not None for source in sources)
    if weighted and infinite:
        stream = mix(sources, True, policy)
        if shuffle <= 1:
            yield from stream
        # An epoch that never ends: the order of its beginning is that of any epoch long enough.
        far = 6000
        rows = list(islice(stream, far + shuffle))
        yield from (rows[i] for i in islice(iter(model_epoch(len(rows), shuffle, seed, 0)), far))
        return
    one = list(mix(sources, False, policy)) if weighted else [i for s in sources for i in s.rows(policy)]
    for epoch in count() if infinite else range(1):
        yield from (one[i] for i in model_epoch(len(one), shuffle, seed, epoch))


def take(loader: Loader, batches: int | None = None) -> list[int]:
    """The ids of the next batches, all of a finite stage by default."""
    ids: list[int] = []
    while batches is None or batches > 0:
        batch = loader.next()
        if batch is None:
            break
        ids += batch.arrays["id"][:batch.records].tolist()
        batches = None if batches is None else batches - 1
    return ids
