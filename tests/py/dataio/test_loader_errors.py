"""Errors have a code, name their place, and advise in the fix alone; those of files come before the first batch."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from dataio_helpers import diagnostic_of, id_spec, make_spec, read_ids, write, write_ids
from sexpgpu.diagnostics import CODES, Diagnostic, SexpError
from sexpgpu.runtime.dataio import FieldSpec, FilesSource, Loader, LoaderSpec, StageSpec

FIELD = FieldSpec("tokens", "input_ids", "i32", ())


def opening(folder: Path, *names: str, field: FieldSpec = FIELD, **options: object) -> Diagnostic:
    with pytest.raises(SexpError) as caught:
        Loader(make_spec(folder, names, field), **options)  # type: ignore[arg-type]
    diagnostic = diagnostic_of(caught)
    assert diagnostic.code in CODES and diagnostic.exit_code == 3
    return diagnostic


def test_missing_column_names_the_nearest(tmp_path: Path) -> None:
    write(tmp_path / "a.parquet", {"input_id": pa.array([1]), "s": pa.array([{"x": 1}])})
    d = opening(tmp_path, "a.parquet")
    assert d.code == "E-DATA-001" and "`a.parquet` has no column `input_ids`" in d.message
    assert d.fix is not None and d.fix.text == "there is `input_id`, `s.x`; did you mean `input_id`?"


def test_many_columns_are_not_all_listed(tmp_path: Path) -> None:
    write(tmp_path / "a.parquet", {f"column{i}": pa.array([1]) for i in range(40)} | {"inputids": pa.array([1])})
    d = opening(tmp_path, "a.parquet")
    assert d.fix is not None and d.fix.text.endswith("and 29 more; did you mean `inputids`?")


def test_two_columns_of_one_name(tmp_path: Path) -> None:
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], ["input_ids", "input_ids"])
    pq.write_table(table, tmp_path / "a.parquet")
    assert opening(tmp_path, "a.parquet").code == "E-DATA-006"


def test_the_first_bad_file_as_listed_is_reported(tmp_path: Path) -> None:
    write(tmp_path / "good.parquet", {"input_ids": pa.array([1])})
    write(tmp_path / "bad.parquet", {"x": pa.array([1])})
    for _ in range(5):
        d = opening(tmp_path, *["good.parquet"] * 20, "bad.parquet", "none.parquet", threads=4)
        assert d.code == "E-DATA-001"
        d = opening(tmp_path, *["good.parquet"] * 20, "none.parquet", "bad.parquet", threads=4)
        assert d.code == "E-STORE-001" and d.message == "there is no file `none.parquet`"


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "folder.parquet").mkdir()
    assert opening(tmp_path, "folder.parquet").code == "E-STORE-008"
    (tmp_path / "text.parquet").write_text("id,value\n1,2\n" * 10)
    assert opening(tmp_path, "text.parquet").code == "E-STORE-003"
    (tmp_path / "short.parquet").write_text("x")
    assert opening(tmp_path, "short.parquet").code == "E-STORE-003"
    (tmp_path / "empty.parquet").write_bytes(b"")
    assert opening(tmp_path, "empty.parquet").code == "E-STORE-004"
    assert opening(tmp_path, "gs://bucket/key.parquet").code == "E-STORE-009"
    whole = write(tmp_path / "a.parquet", {"input_ids": pa.array(range(1000))}).read_bytes()
    (tmp_path / "cut.parquet").write_bytes(whole[:len(whole) // 2])
    d = opening(tmp_path, "cut.parquet")
    assert d.code == "E-STORE-005" and f"byte {len(whole) // 2}" in d.message
    (tmp_path / "footer.parquet").write_bytes(whole[:-20] + b"\xff" * 12 + whole[-8:])
    assert opening(tmp_path, "footer.parquet").code == "E-STORE-004"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_permission(tmp_path: Path) -> None:
    write(tmp_path / "a.parquet", {"input_ids": pa.array([1])}).chmod(0)
    assert opening(tmp_path, "a.parquet").code == "E-STORE-002"


def test_page_checksums_are_verified(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet", {"input_ids": pa.array(range(1000), pa.int32())}, write_page_checksum=True,
                 compression="none", use_dictionary=False)
    data = bytearray(path.read_bytes())
    at = data.find((500).to_bytes(4, "little") + (501).to_bytes(4, "little"))
    data[at] ^= 1
    path.write_bytes(data)
    with Loader(make_spec(tmp_path, ["a.parquet"], FIELD)) as loader, pytest.raises(SexpError) as caught:
        loader.next()
    assert diagnostic_of(caught).code == "E-STORE-006" and "reading row group 0" in diagnostic_of(caught).message


def test_damaged_pages(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet", {"input_ids": pa.array(range(10_000))}, compression="zstd",
                 row_group_size=1000)
    data = bytearray(path.read_bytes())
    chunk = pq.ParquetFile(path).metadata.row_group(4).column(0)
    data[chunk.data_page_offset + 30:chunk.data_page_offset + 60] = bytes(30)
    path.write_bytes(data)
    with Loader(make_spec(tmp_path, ["a.parquet"], FIELD, batch=10)) as loader:
        with pytest.raises(SexpError) as caught:
            list(loader)
        assert diagnostic_of(caught).code == "E-STORE-004" and diagnostic_of(caught).notes
        with pytest.raises(SexpError):  # and again: the loader does not forget it
            loader.next()


def test_a_file_that_changes(tmp_path: Path) -> None:
    names = write_ids(tmp_path, [[100], [100], [100], [100], [100], [100]])
    with Loader(id_spec(tmp_path, names, batch=10), threads=1, lookahead=1) as loader:
        write(tmp_path / names[5], {"id": pa.array(range(7)), "ids": pa.array([[1, 2]] * 7)})
        with pytest.raises(SexpError) as caught:
            list(loader)
    assert diagnostic_of(caught).code == "E-STORE-007" and names[5] in diagnostic_of(caught).message


def test_a_row_s_place(tmp_path: Path) -> None:
    """Rows before it come out; the message counts from 0, in the file and in the row group."""
    write(tmp_path / "a.parquet", {"input_ids": pa.array(range(10))})
    column = list(range(50))
    column[37] = 1 << 40
    write(tmp_path / "b.parquet", {"input_ids": pa.array(column)}, row_group_size=15)
    for threads in (1, 4):
        with Loader(make_spec(tmp_path, ["a.parquet", "b.parquet"], FIELD), threads=threads) as loader:
            for _ in range(47):
                loader.next()
            with pytest.raises(SexpError) as caught:
                loader.next()
        d = diagnostic_of(caught)
        assert d.message == ("`b.parquet` row 37: the field `:tokens` wants i32, its value 1099511627776 (int64) "
                             "cannot be represented in i32")
        assert d.notes == ("row group 2, its row 7; rows and row groups count from 0",
                           "column `input_ids` of type int64")
        assert d.fix is not None


def test_the_first_bad_field_of_the_first_bad_row(tmp_path: Path) -> None:
    write(tmp_path / "a.parquet", {"a": pa.array([1, 2, 3, None]), "b": pa.array([1, 2, 1 << 40, 4])})
    spec = make_spec(tmp_path, ["a.parquet"], FieldSpec("a", "a", "i32", ()), FieldSpec("b", "b", "i32", ()))
    with Loader(spec) as loader:
        assert [loader.next(), loader.next()]
        with pytest.raises(SexpError, match=r"row 2: the field `:b`"):
            loader.next()


def test_rows_nobody_reads_are_not_judged(tmp_path: Path) -> None:
    """Dropped rows at the end of a pass, and files without rows whatever their columns are."""
    write(tmp_path / "none.parquet", {"other": pa.array([], pa.string())})
    write(tmp_path / "nulls.parquet", {"input_ids": pa.nulls(0)})
    write(tmp_path / "a.parquet", {"input_ids": pa.array([1, 2, 3])})
    with Loader(make_spec(tmp_path, ["none.parquet", "nulls.parquet", "a.parquet"], FIELD, batch=2)) as loader:
        assert [b.arrays["tokens"].tolist() for b in loader] == [[1, 2]]


def test_no_rows_and_too_few(tmp_path: Path) -> None:
    write(tmp_path / "none.parquet", {"input_ids": pa.array([], pa.int32())})
    write(tmp_path / "three.parquet", {"input_ids": pa.array([1, 2, 3])})
    for infinite in (False, True):
        with pytest.raises(SexpError) as caught:
            Loader(make_spec(tmp_path, ["none.parquet"], FIELD, infinite=infinite))
        assert diagnostic_of(caught).code == "E-DATA-008"
        with pytest.raises(SexpError) as caught:
            Loader(make_spec(tmp_path, ["three.parquet"], FIELD, batch=2, infinite=infinite), world=2)
        assert diagnostic_of(caught).code == "E-DATA-007"
        assert "a batch has 2 rows on each of 2 ranks" in diagnostic_of(caught).message
    with Loader(make_spec(tmp_path, ["three.parquet"], FIELD, batch=5), partial=True) as loader:
        assert [b.records for b in loader] == [3]


def test_specs_no_reader_takes(tmp_path: Path) -> None:
    names = write_ids(tmp_path, [[3]])
    odd = LoaderSpec((FIELD,), (StageSpec("main", (FilesSource(tuple(names), "csv"),)),), 1, str(tmp_path))
    with pytest.raises(SexpError) as caught:
        Loader(odd)
    assert diagnostic_of(caught).code == "E-DATA-011"
    with pytest.raises(SexpError) as caught:
        Loader(make_spec(tmp_path, names, FIELD), stage="mian")
    d = diagnostic_of(caught)
    assert d.code == "E-DATA-012" and d.fix is not None and "did you mean `main`?" in d.fix.text


def test_only_the_columns_asked_for_are_read(tmp_path: Path) -> None:
    """A damaged column beside them is never looked at."""
    path = write(tmp_path / "a.parquet", {"input_ids": pa.array(range(1000)), "big": pa.array([b"x" * 2000] * 1000)},
                 use_dictionary=False, compression="none", row_group_size=100)
    with Loader(make_spec(tmp_path, ["a.parquet"], FIELD, batch=10)) as loader:
        for _ in loader:
            pass
        assert loader.stats().bytes_read < 0.1 * path.stat().st_size
    data = bytearray(path.read_bytes())
    chunk = pq.ParquetFile(path).metadata.row_group(3).column(1)
    data[chunk.data_page_offset:chunk.data_page_offset + 100] = bytes(100)
    path.write_bytes(data)
    with Loader(make_spec(tmp_path, ["a.parquet"], FIELD, batch=10)) as loader:
        assert [i for b in loader for i in b.arrays["tokens"].tolist()] == list(range(1000))


def test_every_message_is_a_fact(tmp_path: Path) -> None:
    """Lower case (or a quoted name) at the start, no full stop at the end."""
    for code in (c for c in CODES.values() if c.family in ("DATA", "STORE")):
        assert code.title[0].islower() and not code.title.endswith(".") and code.meaning.endswith(".")
    assert read_ids(Loader(id_spec(tmp_path, write_ids(tmp_path, [[4]]), batch=4))) == [0, 1, 2, 3]
