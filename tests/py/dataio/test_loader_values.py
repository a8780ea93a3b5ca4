"""Every Arrow number type to every dtype, against exact arithmetic: what fits arrives, what does not is refused."""

from __future__ import annotations

import math
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from dataio_helpers import DTYPES, make_spec, write
from exact_values import FLOATS, INTEGERS, Number, decoded, exact_value, same, wanted
from hypothesis import given, settings
from hypothesis import strategies as st
from sexpgpu.diagnostics import SexpError
from sexpgpu.runtime.dataio import FieldSpec, Loader


def near_powers(low: int, high: int) -> st.SearchStrategy[int]:
    near = st.builds(lambda e, d, s: s * ((1 << e) + d), st.integers(0, 64), st.integers(-2, 2),
                     st.sampled_from([1, -1]))
    return st.one_of(st.integers(low, high), near.filter(lambda v: low <= v <= high), st.integers(max(low, -3), 3))


def edges(width: int) -> st.SearchStrategy[float]:
    limits = [0.0, -0.0, 1.0, 0.5, 65504.0, 65519.0, 65520.0, 2.0**24 + 1, 2.0**63, 2.0**64, -(2.0**63), 3.4028235e38,
              3.4028236e38, 1e39, 1e-45, 7e-46, 2.0**-24, 2.0**-25, 2.0**-26 * 3, 3.3895314e38, 3.3961775e38, math.inf,
              math.nan, 1 + 2.0**-8, 1 + 2.0**-9, 1 + 3 * 2.0**-8, 2.0**53, 1.7976931348623157e308, 255.0,
              256.0, -129.0]
    cast = {16: np.float16, 32: np.float32, 64: np.float64}[width]
    with np.errstate(over="ignore"):
        return st.one_of(st.floats(width=width), st.sampled_from([float(cast(v)) for v in limits]),  # type: ignore[arg-type]
                         st.integers(-300, 300).map(float))


def decimals(precision: int, scale: int) -> st.SearchStrategy[Decimal]:
    limit = 10**precision - 1
    whole = st.integers(-(limit // 10**scale), limit // 10**scale).map(lambda v: v * 10**scale)
    return st.one_of(st.integers(-limit, limit), whole, st.integers(-300, 300).map(lambda v: v * 10**scale)).filter(
        lambda v: abs(v) <= limit).map(lambda v: Decimal((v < 0, tuple(map(int, str(abs(v)))), -scale)))


SOURCES: dict[str, tuple[pa.DataType, st.SearchStrategy, bool]] = {
    **{name: (getattr(pa, name)(), near_powers(*bounds), True) for name, bounds in INTEGERS.items()},
    "bool": (pa.bool_(), st.booleans(), True),
    "half": (pa.float16(), edges(16), False), "float": (pa.float32(), edges(32), False),
    "double": (pa.float64(), edges(64), False),
    "decimal32": (pa.decimal32(7, 2), decimals(7, 2), False),
    "decimal64": (pa.decimal64(16, 4), decimals(16, 4), False),
    "decimal128": (pa.decimal128(25, 3), decimals(25, 3), False),
    "decimal256": (pa.decimal256(60, 10), decimals(60, 10), False),
    "decimal0": (pa.decimal128(38, 0), decimals(38, 0), False),
    "tiny decimal": (pa.decimal128(38, 38), decimals(38, 38), False),
}


def check(folder: Path, source: str, values: list[object]) -> None:
    """The values as a column of the source's type, read as each dtype."""
    type_, _, exact = SOURCES[source]
    column = pa.array([np.float16(v) for v in values] if source == "half" else values, type_)
    write(folder / "c.parquet", {"c": column})
    for dtype in DTYPES:
        expected = [wanted(exact_value(v), exact, dtype) for v in values]
        got: list[Number] = []
        refused = None
        spec = make_spec(folder, ["c.parquet"], FieldSpec("f", "c", dtype, ()))
        with Loader(spec, threads=1) as loader:
            try:
                for batch in loader:
                    got += decoded(batch.arrays["f"], dtype)
            except SexpError as error:
                [refused] = error.diagnostics
        good = expected.index(None) if None in expected else len(expected)
        assert len(got) == good, (dtype, values, got, expected)
        for g, e in zip(got, expected, strict=False):
            assert e is not None and same(g, e), (dtype, values, got, expected)
        if good < len(expected):
            assert refused is not None and refused.code == "E-DATA-004"
            assert f"row {good}: the field `:f` wants {dtype}, its value" in refused.message
        else:
            assert refused is None


@pytest.mark.parametrize("source", SOURCES)
@settings(max_examples=4, deadline=None)
@given(data=st.data())
def test_numbers(tmp_path_factory: pytest.TempPathFactory, source: str, data: st.DataObject) -> None:
    check(tmp_path_factory.mktemp("values"), source, data.draw(st.lists(SOURCES[source][1], min_size=1, max_size=8)))


@pytest.mark.slow
@pytest.mark.parametrize("source", SOURCES)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_many_numbers(tmp_path_factory: pytest.TempPathFactory, source: str, data: st.DataObject) -> None:
    check(tmp_path_factory.mktemp("values"), source, data.draw(st.lists(SOURCES[source][1], min_size=1, max_size=8)))


@pytest.mark.parametrize("dtype", DTYPES)
def test_signed_zero_and_nan_survive(tmp_path_factory: pytest.TempPathFactory, dtype: str) -> None:
    if dtype not in FLOATS:
        return
    folder = tmp_path_factory.mktemp("zero")
    write(folder / "c.parquet", {"c": pa.array([-0.0, -math.inf, math.nan])})
    with Loader(make_spec(folder, ["c.parquet"], FieldSpec("f", "c", dtype, ()), batch=3)) as loader:
        array = loader.next().arrays["f"]  # type: ignore[union-attr]
    if dtype == "bf16":
        array = (array.astype(np.uint32) << 16).view(np.float32)
    assert array[0] == 0 and np.signbit(array[0]) and array[1] == -np.inf and np.isnan(array[2])


def test_long_runs_of_values(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The vectorised loops, and the place of the one bad value in a long row."""
    folder = tmp_path_factory.mktemp("long")
    values = np.arange(300 * 1000, dtype=np.int64).reshape(300, 1000)
    values[123, 456] = 1 << 40
    write(folder / "c.parquet", {"c": pa.FixedSizeListArray.from_arrays(pa.array(values.reshape(-1)), 1000)})
    spec = make_spec(folder, ["c.parquet"], FieldSpec("f", "c", "u32", (10, 100)))
    with Loader(spec) as loader:
        for row in range(123):
            batch = loader.next()
            assert batch is not None and (batch.arrays["f"].reshape(-1) == values[row]).all()
        with pytest.raises(SexpError, match=r"row 123: .* its value 1099511627776 at \[4, 56\] \(int64\)"):
            loader.next()
