"""What a loader is told: fields, stages, sources. Plain values, the same in the artifact's manifest and in Python.

The compiler writes them (`to_json`), the runtime reads them (`from_json`); neither needs the native part for that.
"""

from __future__ import annotations

from typing import TypeAlias

from sexpgpu.diagnostics.record import record

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"


ON_BAD_DATA = ("error", "skip-record", "skip-file")


@record
class FieldSpec:
    """One column of a record: `shape` is the shape of one row, `()` for a scalar; `dtype` a name of `DTYPES`."""

    name: str
    column: str
    dtype: str
    shape: tuple[int, ...]


@record
class FilesSource:
    """Paths in reading order, as written; a relative one resolves against the loader's base folder. `weight` is the
    source's share of a stage whose sources are mixed; all sources of a stage have one, or none has."""

    paths: tuple[str, ...]
    encoding: str
    weight: float | None = None


@record
class ManifestSource:
    """A data manifest (`manifest` form)."""

    uri: str
    split: str | None
    weight: float | None
    encoding: str | None


@record
class StageSpec:
    """One stage; `shuffle` is the number of rows in the shuffle buffer, 0 for none."""

    name: str
    sources: tuple[FilesSource | ManifestSource, ...]
    shuffle: int = 0
    infinite: bool = False


@record
class LoaderSpec:
    """A whole loader; `base` is the folder of the experiment file, against which relative paths resolve."""

    fields: tuple[FieldSpec, ...]
    stages: tuple[StageSpec, ...]
    batch_size: int
    base: str = "."

    def to_json(self) -> dict[str, Json]:
        return {
            "batch_size": self.batch_size,
            "base": self.base,
            "fields": [{"name": f.name, "column": f.column, "dtype": f.dtype, "shape": list(f.shape)}
                       for f in self.fields],
            "stages": [{"name": s.name, "shuffle": s.shuffle, "infinite": s.infinite,
                        "sources": [_source_to_json(x) for x in s.sources]} for s in self.stages],
        }

    @staticmethod
    def from_json(data: dict) -> LoaderSpec:
        return LoaderSpec(
            fields=tuple(FieldSpec(f["name"], f["column"], f["dtype"], tuple(f["shape"])) for f in data["fields"]),
            stages=tuple(StageSpec(s["name"], tuple(_source_from_json(x) for x in s["sources"]), s["shuffle"],
                                   s["infinite"]) for s in data["stages"]),
            batch_size=data["batch_size"],
            base=data["base"],
        )


def _source_to_json(source: FilesSource | ManifestSource) -> dict[str, Json]:
    match source:
        case FilesSource(paths, encoding, weight):
            return {"kind": "files", "paths": list(paths), "encoding": encoding, "weight": weight}
        case ManifestSource(uri, split, weight, encoding):
            return {"kind": "manifest", "uri": uri, "split": split, "weight": weight, "encoding": encoding}


def _source_from_json(data: dict) -> FilesSource | ManifestSource:
    if data["kind"] == "files":
        return FilesSource(tuple(data["paths"]), data["encoding"], data.get("weight"))
    return ManifestSource(data["uri"], data["split"], data["weight"], data["encoding"])
