"""The manual's index of codes is the registry's."""

from pathlib import Path

from sexpgpu.cli.sexpc_explain import markdown_index

PAGE = Path(__file__).parents[3] / "docs" / "diagnostics.md"


def test_the_index_is_current():
    _, found, index = PAGE.read_text(encoding="utf-8").partition("<!-- index -->\n")
    assert found and index.strip() == markdown_index().strip(), "`make bless` rewrites it"
