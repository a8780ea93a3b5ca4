"""The pages of `sexpc explain`: each program raises its own code and nothing else, and its repaired one is clean."""

import pytest
from sexpgpu.cli.sexpc import main
from sexpgpu.compiler.frontend.experiment import check
from sexpgpu.diagnostics import CODES, SourceMap
from sexpgpu.diagnostics.codes import FAMILIES
from sexpgpu.diagnostics.pages import page_of, pages

PAGES = [page for family in FAMILIES for page in pages(family).values()]
#: What a program alone does not raise: it takes bytes that are no text, or a word of the command line.
WITHOUT = {"E-READ-011": "bytes", "E-TARGET-001": "flag", "E-TARGET-002": "flag", "E-TARGET-003": "flag",
           "E-TARGET-005": "the faults of a backend's version",
           "E-GRAD-001": "modules that other tools made"}
RAISED_BY_PROGRAMS = ("READ", "NAME", "ARITY", "TYPE", "SHAPE", "VALUE", "CONTRACT", "GRAD", "TARGET")


def codes(half, folder, capsys):
    path = folder / "experiment.sexp"
    path.write_text(half.program, encoding="utf-8")
    if half.target is None:
        _, found = check(path, overrides=half.defines, sources=SourceMap(), module=False)
        return [d.code for d in found]
    main(["check", str(path), "--target", half.target, "--format", "short"])
    return [line.split("[")[1].split("]")[0] for line in capsys.readouterr().err.splitlines() if "[" in line]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.code)
def test_a_page_is_true(page, tmp_path, capsys):
    assert set(codes(page.wrong, tmp_path, capsys)) == {page.code}
    assert codes(page.right, tmp_path, capsys) == []


def test_every_code_that_a_program_raises_has_a_page():
    missing = [name for name, code in CODES.items() if code.family in RAISED_BY_PROGRAMS and page_of(name) is None]
    assert set(missing) == set(WITHOUT)
    assert all(page.code in CODES for page in PAGES)
