"""Which columns hold a row of a declared shape, against pyarrow's own values; and which do not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from dataio_helpers import diagnostic_of, make_spec, read_column, refused, write
from sexpgpu.diagnostics import SexpError
from sexpgpu.runtime.dataio import FieldSpec, Loader

VALUES = np.arange(24, dtype=np.int64).reshape(4, 2, 3)


def lists(values: np.ndarray, *makers: object) -> pa.Array:
    """Nested lists of `values`, one maker a level from the outside."""
    type_ = pa.int64()
    for make in reversed(makers):
        type_ = make(type_)  # type: ignore[operator]
    return pa.array(values.tolist(), type_)


KINDS = {
    "list": lambda n: pa.list_,
    "large_list": lambda n: pa.large_list,
    "fixed_size_list": lambda n: (lambda item: pa.list_(item, n)),
    "list_view": lambda n: pa.list_view,
    "large_list_view": lambda n: pa.large_list_view,
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_list(tmp_path: Path, kind: str) -> None:
    flat = VALUES.reshape(4, 6)
    column = lists(flat, KINDS[kind](6))
    assert (read_column(tmp_path, column, "i64", (6,)) == flat).all()
    assert (read_column(tmp_path, column, "i32", (2, 3)) == VALUES).all()
    assert (read_column(tmp_path, column, "f32", (1, 6, 1)) == flat.reshape(4, 1, 6, 1)).all()


@pytest.mark.parametrize("outer", KINDS)
@pytest.mark.parametrize("inner", KINDS)
def test_nested_lists(tmp_path: Path, outer: str, inner: str) -> None:
    column = lists(VALUES, KINDS[outer](2), KINDS[inner](3))
    assert (read_column(tmp_path, column, "i64", (2, 3)) == VALUES).all()


def test_three_levels_in_many_row_groups(tmp_path: Path) -> None:
    values = np.arange(50 * 2 * 3 * 2).reshape(50, 2, 3, 2)
    column = pa.array(values.tolist(), pa.list_(pa.list_(pa.list_(pa.int16()))))
    assert (read_column(tmp_path, column, "u16", (2, 3, 2), row_group_size=7) == values).all()


def test_list_views_in_any_order(tmp_path: Path) -> None:
    """Views may share, skip and reorder items."""
    column = pa.ListViewArray.from_arrays(pa.array([4, 0, 2, 0], pa.int32()), pa.array([2, 2, 2, 2], pa.int32()),
                                          pa.array([0, 1, 2, 3, 4, 5]))
    assert read_column(tmp_path, column, "i8", (2,)).tolist() == [[4, 5], [0, 1], [2, 3], [0, 1]]


@pytest.mark.parametrize("type_", [pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(24)])
def test_binary_rows_are_little_endian(tmp_path: Path, type_: pa.DataType) -> None:
    values = VALUES.reshape(4, 6).astype("<f4") + 0.5
    column = pa.array([row.tobytes() for row in values], type_)
    assert (read_column(tmp_path, column, "f32", (6,)) == values).all()
    assert (read_column(tmp_path, column, "f32", (2, 3)) == values.reshape(4, 2, 3)).all()
    wrong = refused(tmp_path, column, "f32", (5,))
    assert wrong.code == "E-DATA-003" and "24 bytes, where 20 hold" in wrong.message


def test_binary_scalars_and_bools(tmp_path: Path) -> None:
    assert read_column(tmp_path, pa.array([b"\x01\x02"]), "u16").tolist() == [0x201]
    assert read_column(tmp_path, pa.array([b"\x01\x00"]), "bool", (2,)).tolist() == [[True, False]]
    bad = refused(tmp_path, pa.array([b"\x01\x00", b"\x00\x02"]), "bool", (2,))
    assert bad.code == "E-DATA-004" and "row 1" in bad.message and "its byte 1 is 2" in bad.message


def test_dictionaries(tmp_path: Path) -> None:
    numbers = pa.array([5, 7, 5, 5]).dictionary_encode()
    assert read_column(tmp_path, numbers, "i8").tolist() == [5, 7, 5, 5]
    rows = pa.array([b"ab", b"cd", b"ab"]).dictionary_encode()
    assert read_column(tmp_path, rows, "u8", (2,)).tolist() == [[97, 98], [99, 100], [97, 98]]
    nulls = pa.array([b"ab", None, b"ab"]).dictionary_encode()
    assert refused(tmp_path, nulls, "u8", (2,)).code == "E-DATA-005"


def test_struct_members(tmp_path: Path) -> None:
    inner = pa.StructArray.from_arrays([pa.array([1, 2, 3]), pa.array([[1, 2], [3, 4], [5, 6]])], ["n", "l"])
    outer = pa.StructArray.from_arrays([inner, pa.array(["x", "y", "z"])], ["in", "text"])
    write(tmp_path / "s.parquet", {"s": outer, "s.in.n": pa.array([7, 8, 9]), "a.b": pa.array([4, 5, 6])})
    spec = make_spec(tmp_path, ["s.parquet"], FieldSpec("l", "s.in.l", "i32", (2,)),
                     FieldSpec("n", "s.in.n", "i32", ()), FieldSpec("ab", "a.b", "i32", ()), batch=3)
    with Loader(spec) as loader:
        arrays = loader.next().arrays  # type: ignore[union-attr]
    assert arrays["l"].tolist() == [[1, 2], [3, 4], [5, 6]]
    assert arrays["n"].tolist() == [7, 8, 9]  # the whole name first
    assert arrays["ab"].tolist() == [4, 5, 6]


def test_null_structs_are_refused_before_later_rows(tmp_path: Path) -> None:
    column = pa.array([{"n": 1}, None, {"n": 2**40}], pa.struct([("n", pa.int64())]))
    write(tmp_path / "s.parquet", {"s": column})
    with Loader(make_spec(tmp_path, ["s.parquet"], FieldSpec("n", "s.n", "i32", ()))) as loader:
        assert loader.next() is not None
        with pytest.raises(SexpError) as caught:
            loader.next()
    assert diagnostic_of(caught).code == "E-DATA-005" and "row 1" in diagnostic_of(caught).message
    assert "its `s` is null" in diagnostic_of(caught).message


def test_one_column_as_two_fields(tmp_path: Path) -> None:
    write(tmp_path / "c.parquet", {"c": pa.array([[1, 2], [3, 4]])})
    spec = make_spec(tmp_path, ["c.parquet"], FieldSpec("a", "c", "f32", (2,)), FieldSpec("b", "c", "i8", (2, 1)),
                     batch=2)
    with Loader(spec) as loader:
        arrays = loader.next().arrays  # type: ignore[union-attr]
    assert arrays["a"].dtype == np.float32 and arrays["a"].tolist() == [[1, 2], [3, 4]]
    assert arrays["b"].dtype == np.int8 and arrays["b"].tolist() == [[[1], [2]], [[3], [4]]]


@pytest.mark.parametrize(("column", "shape", "found"), [
    (pa.array([[1, 2], [1, 2, 3]]), (2,), "row 1: the field `:f` wants i32 [2], it has [3]"),
    (pa.array([[1, 2], []]), (2,), "row 1: the field `:f` wants i32 [2], it has [0]"),
    (pa.array([[1, 2], [1, 2, 3]]), (2, 1), "it has [3], which is not the flat [2]"),
    (pa.array([[[1], [2]], [[1], [2, 3]]]), (2, 1), "it has [2, lists of different lengths]"),
    (pa.array([[[1], [2]], [[1]]]), (2, 1), "row 1: the field `:f` wants i32 [2, 1], it has [1, 1]"),
    (pa.array([[[1], [2]], [[1, 2], [2, 3]]]), (2, 1), "it has [2, 2]"),
    (pa.array([[1, 2]], pa.list_(pa.int64(), 2)), (3,), "row 0: the field `:f` wants i32 [3], it has [2]"),
])
def test_rows_of_another_shape(tmp_path: Path, column: pa.Array, shape: tuple[int, ...], found: str) -> None:
    diagnostic = refused(tmp_path, column, "i32", shape)
    assert diagnostic.code == "E-DATA-003" and found in diagnostic.message


@pytest.mark.parametrize(("column", "shape"), [
    (pa.array([1, 2]), (1,)), (pa.array([[1], [2]]), ()), (pa.array([[[1]]]), (1,)), (pa.array([[[1]]]), (1, 1, 1)),
])
def test_types_of_another_depth(tmp_path: Path, column: pa.Array, shape: tuple[int, ...]) -> None:
    diagnostic = refused(tmp_path, column, "i32", shape)
    assert diagnostic.code == "E-DATA-003" and "dimension" in diagnostic.message


@pytest.mark.parametrize(("column", "found"), [
    (pa.array([[1, 2], None]), "row 1: the field `:f` wants i32 [2], it is null"),
    (pa.array([[1, 2], [1, None]]), "row 1: the field `:f` wants i32 [2], value 1 is null"),
    (pa.array([[1, 2], None], pa.list_(pa.int64(), 2)), "row 1"),
])
def test_nulls(tmp_path: Path, column: pa.Array, found: str) -> None:
    diagnostic = refused(tmp_path, column, "i32", (2,))
    assert diagnostic.code == "E-DATA-005" and found in diagnostic.message


@pytest.mark.parametrize("column", [
    pa.array(["abcd"]), pa.array(["abcd"], pa.large_string()), pa.array(["a"]).dictionary_encode(),
    pa.array([1], pa.timestamp("us")), pa.array([1], pa.date32()), pa.array([1], pa.time64("us")),
    pa.array([{"a": 1}]), pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64())), pa.array([["abcd"]]),
    pa.array([[b"abcd"]]),
], ids=lambda a: str(a.type))
def test_types_that_hold_no_numbers(tmp_path: Path, column: pa.Array) -> None:
    assert refused(tmp_path, column, "i32").code == "E-DATA-002"
