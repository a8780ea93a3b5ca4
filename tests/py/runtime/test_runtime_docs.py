"""docs/running.md has the options of the table. `python tests/py/runtime/test_runtime_docs.py` rewrites it."""

from __future__ import annotations

from pathlib import Path

from sexpgpu.runtime.flags import options_table
from sexpgpu.runtime.folder.lines import VOLATILE

PAGE = Path(__file__).parents[3] / "docs" / "running.md"
BEGIN, END = "<!-- options: begin -->\n", "<!-- options: end -->"


def rewritten(text: str) -> str:
    before, rest = text.split(BEGIN)
    return f"{before}{BEGIN}\n{options_table()}\n\n{END}{rest.split(END)[1]}"


def test_the_page_has_the_options() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert rewritten(text) == text


def test_the_page_names_what_differs() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert all(f"`{name}`" in text or f"`{name}…`" in text for name in VOLATILE)


if __name__ == "__main__":
    PAGE.write_text(rewritten(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
