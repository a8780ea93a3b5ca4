"""The manual's index of codes, and its pages, are the registry's."""

from pathlib import Path

from sexpgpu.cli.sexpc_explain import markdown_index, markdown_pages

DOCS = Path(__file__).parents[3] / "docs"


def test_the_index_is_current():
    _, found, index = (DOCS / "diagnostics.md").read_text(encoding="utf-8").partition("<!-- index -->\n")
    assert found and index.strip() == markdown_index().strip(), "`make bless` rewrites it"


def test_the_pages_are_current():
    assert (DOCS / "errors.md").read_text(encoding="utf-8").strip() == markdown_pages(), "`make bless` rewrites it"
