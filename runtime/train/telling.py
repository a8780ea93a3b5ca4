"""What is told of a run beside its folder's own files: sinks, a trace of some steps, and at the end the report."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sexpgpu.diagnostics import SexpError
from sexpgpu.runtime.dataio.spec import Json
from sexpgpu.runtime.folder import RunFolder
from sexpgpu.runtime.look.report import write_report
from sexpgpu.runtime.look.run import open_run
from sexpgpu.runtime.performance.trace import Trace, window
from sexpgpu.runtime.sinks.relay import Relay
from sexpgpu.runtime.sinks.sink import Kind, Opening
from sexpgpu.runtime.train.loop import Trainer


class Telling:
    """`kinds` are the sinks that were asked for, their packages imported."""

    def __init__(self, folder: RunFolder, kinds: Sequence[Kind], note: Callable[[str], None]) -> None:
        self._folder, self._kinds, self._note = folder, kinds, note
        self._relay: Relay | None = None
        self._trace: Trace | None = None

    def sinks(self, name: str, settings: Mapping[str, Json], before: int | None
              ) -> Callable[[Mapping[str, Json]], None]:
        """Opens them for the run `name` (E-RUN-031), and gives what hears every line. A resumed run writes lines from
        the step `before` on; `metrics.jsonl` is as it was left."""
        self._relay = Relay(self._kinds, Opening(name, self._folder.path, self._folder.metrics, settings, before),
                            self._note)
        return self._relay.write

    def trace(self, trainer: Trainer, steps: str | None) -> None:
        """`steps` is the option's value, `N:M`; None for no trace."""
        if steps is not None:
            self._trace = Trace(trainer, *window(steps), self._folder.path / "profile", self._note)

    def close(self, state: str) -> None:
        """`state` is how the run ended. A run is not lost for the want of a report; one that never began needs none."""
        if self._relay is not None:
            self._relay.close(state)
        if self._trace is not None:
            self._trace.close()
        if not self._folder.manifest.exists():
            return
        try:
            write_report(open_run(str(self._folder.path)))
        except (OSError, SexpError) as error:
            self._note(f"the report cannot be written: {str(error).splitlines()[0]}")
