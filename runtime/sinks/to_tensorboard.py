"""TensorBoard: an event file in the run folder's `tensorboard/`, each number a scalar of its name.

A resumed run writes the file anew from `metrics.jsonl`, so it has no gaps and no doubles, whatever the cut session had
still in memory. A start marker at its head makes a TensorBoard that is looking drop what it had read before.
"""

# Protobuf makes the classes of its modules when they are imported.
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sexpgpu.runtime.sinks.sink import Line, Opening, lines_of
from tensorboard.compat.proto import event_pb2, summary_pb2
from tensorboard.summary.writer.event_file_writer import EventFileWriter

FOLDER = "tensorboard"


class TensorBoard:
    def __init__(self, folder: Path) -> None:
        self._writer = EventFileWriter(str(folder), flush_secs=5)
        self._last = -1

    def start(self, step: int) -> None:
        """What has this step or a later one and was read before is void."""
        self._writer.add_event(event_pb2.Event(
            wall_time=0.0, step=step, session_log=event_pb2.SessionLog(status=event_pb2.SessionLog.START)))

    def write(self, lines: Sequence[Line]) -> None:
        for line in lines:
            if line.step <= self._last:   # the run went back to a checkpoint
                self.start(line.step)
            self._last = line.step
            values = [summary_pb2.Summary.Value(tag=name, simple_value=value) for name, value in line.values.items()]
            self._writer.add_event(event_pb2.Event(wall_time=line.time, step=line.step,
                                                   summary=summary_pb2.Summary(value=values)))

    def close(self, state: str) -> None:
        self._writer.close()


def open_sink(opening: Opening) -> TensorBoard:
    folder = opening.folder / FOLDER
    folder.mkdir(exist_ok=True)
    for old in folder.glob("events.out.tfevents.*"):
        old.unlink()
    sink = TensorBoard(folder)
    if opening.before is not None:
        sink.start(0)
        sink.write([line for line in lines_of(opening.metrics) if line.step < opening.before])
    return sink
