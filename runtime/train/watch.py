"""What a run tells about its loaders: how much memory each takes, and every record that one leaves out."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sexpgpu.runtime.dataio.spec import Json
from sexpgpu.runtime.folder.skipped import SkippedLines
from sexpgpu.runtime.train.feed import Loader


def omitted_in(cursors: Mapping[str, Json]) -> dict[str, int]:
    """How many records each stage's cursor has left out."""
    counts: dict[str, int] = {}
    for stage, cursor in cursors.items():
        match cursor:
            case {"omitted": [int(count), *_]}:
                counts[stage] = count
    return counts


class LoaderWatch:
    """Listens to loaders. `note` shows a line. Loaders that tell nothing about themselves (a test's) are left alone."""

    def __init__(self, note: Callable[[str], None], lines: SkippedLines) -> None:
        self._note, self._lines = note, lines
        self._told: set[str] = set()

    def opened(self, stage: str, loader: Loader) -> None:
        bound = getattr(loader, "memory_bound", None)
        if bound is not None:
            self._note(f"the loader of the stage `{stage}` holds at most {bound() / (1 << 20):,.0f} MiB")

    def left_out(self, where: str, loader: Loader) -> None:
        for omission in _omissions(loader):
            self._first(where, omission.reason)
            self._lines.training(where, omission)

    def left_out_of_pass(self, name: str, loader: Loader) -> None:
        for omission in _omissions(loader):
            self._first(f"pass {name}", omission.reason)
            self._lines.evaluation(name, omission)

    def _first(self, where: str, reason: str) -> None:
        """The first one is shown; all are listed."""
        if where not in self._told:
            self._told.add(where)
            self._note(f"left out: {reason} (all are listed in skipped.jsonl)")


def _omissions(loader: Loader):
    take = getattr(loader, "take_omissions", None)
    return take() if take is not None else []
