"""One evaluation pass: some batches of its loader, or the whole of it with every row counted once.

The pass starts at the beginning of its loader each time, so two passes see the same rows and a checkpoint need not
know where one stood. The last, partial batch goes through the export for one row, row by row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sexpgpu.runtime.artifact.manifest import Evaluation
from sexpgpu.runtime.session import Session
from sexpgpu.runtime.settings import Settings
from sexpgpu.runtime.signals import StopFlag, Stopped
from sexpgpu.runtime.train.feed import Batch, Loader, OpenLoader
from sexpgpu.runtime.train.reduce import Reduction


@dataclass(frozen=True, slots=True)
class Evaluator:
    """What every pass needs; `progress` hears (pass, batches done, batches in all or None), `left_out` may ask the
    loader what it has left out."""

    session: Session
    open_loader: OpenLoader
    settings: Settings
    stop: StopFlag
    progress: Callable[[str, int, int | None], None]
    left_out: Callable[[str, Loader], None] = lambda name, loader: None

    def run(self, index: int, step: int, hyper: Sequence[float]) -> dict[str, float] | None:
        """`eval/<pass>/<metric>` after `step` updates, or None where a signal came before the end.

        `hyper` are the schedules' values of the step to come.
        """
        try:
            return self._run(index, step, hyper)
        except Stopped:
            return None

    def _run(self, index: int, step: int, hyper: Sequence[float]) -> dict[str, float]:
        evaluation = self.session.manifest.evaluations[index]
        whole = evaluation.batches is None
        with self.stop.interruptible():
            loader = self.open_loader(
                evaluation.loader, stage=evaluation.loader.stages[0].name, seed=self.settings.seed,
                prefetch=self.settings.prefetch, partial=whole, cursor=None, data_root=self.settings.data_root)
        try:
            total = evaluation.batches if evaluation.batches is not None else len(loader)
            reduction = Reduction(evaluation.metrics, by_records=True)
            calls = done = 0
            while evaluation.batches is None or done < evaluation.batches:
                with self.stop.interruptible():
                    batch = loader.next()
                self.left_out(evaluation.name, loader)
                if batch is None:
                    break
                calls = self._batch(index, evaluation, batch, step, calls, hyper, reduction)
                batch.release()
                done += 1
                self.progress(evaluation.name, done, total)
        finally:
            loader.close()
        return {f"eval/{evaluation.name}/{m.name}": value
                for m, value in zip(evaluation.metrics, reduction.results(), strict=True)}

    def _batch(self, index: int, evaluation: Evaluation, batch: Batch, step: int, calls: int,
               hyper: Sequence[float], reduction: Reduction) -> int:
        """Adds a batch to `reduction`; gives the number of calls made so far, which is the key of the next one."""
        seed = self.settings.seed
        if batch.records == evaluation.loader.batch_size:
            reduction.add(self.session.evaluate(index, batch.arrays, (seed, step, calls, 0), hyper), batch.records)
            return calls + 1
        for row in range(batch.records):
            arrays = {name: array[row:row + 1] for name, array in batch.arrays.items()}
            reduction.add(self.session.evaluate(index, arrays, (seed, step, calls, 0), hyper, row=True))
            calls += 1
        return calls
