"""The page of operations is that of the table, and the table is complete in itself."""

from pathlib import Path

import pytest
from sexpgpu.compiler.frontend.ops import OPS
from sexpgpu.compiler.frontend.ops.manual import PRELUDE, definitions, manual, prelude_entries

PAGE = Path(__file__).parents[3] / "docs" / "operations.md"


def test_the_page_is_current():
    assert PAGE.read_text(encoding="utf-8") == manual(), "run `python -m sexpgpu.compiler.frontend.ops.manual`"


@pytest.mark.parametrize("name", list(OPS))
def test_every_entry_says_what_it_does(name):
    op = OPS[name]
    assert op.doc and op.doc.endswith(".") and op.group and op.grad


def test_every_function_of_the_prelude_has_a_docstring():
    for entries in prelude_entries().values():
        for entry in entries:
            assert entry.lines[0], entry.name


def test_no_name_stands_twice():
    names = [str(form.items[1].value) for path in PRELUDE.glob("*.sexp") for form in definitions(path)]
    assert len(names) == len(set(names))
    assert not set(names) & set(OPS)
