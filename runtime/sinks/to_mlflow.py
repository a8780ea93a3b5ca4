"""MLflow: one run in the experiment of that name, on `MLFLOW_TRACKING_URI` or in the run folder's `mlflow.db`.

On a resume MLflow is asked, metric by metric, which step it has last; steps up to there are not sent again, nor are
those that a run repeats after it went back to a checkpoint: what MLflow has is never taken back.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from mlflow import MlflowClient
from mlflow.entities import Metric, Param
from mlflow.exceptions import MlflowException
from sexpgpu.runtime.sinks.sink import Line, Opening

DATABASE = "mlflow.db"
MOST = 1000
"""Metrics in one call: MLflow's limit."""

STATES = {"finished": "FINISHED", "interrupted": "KILLED"}


class MLflow:
    def __init__(self, client: MlflowClient, run: str, resumed: bool) -> None:
        self._client, self._run = client, run
        self._resumed = resumed
        self._last: dict[str, int] = {}

    def write(self, lines: Sequence[Line]) -> None:
        metrics = []
        for line in lines:
            for name, value in line.values.items():
                if line.step > self._known(name):
                    self._last[name] = line.step
                    metrics.append(Metric(name, value, round(line.time * 1000), line.step))
        for start in range(0, len(metrics), MOST):
            self._client.log_batch(self._run, metrics=metrics[start:start + MOST])

    def _known(self, name: str) -> int:
        """The last step that was sent of a metric, by an earlier session or by this one; -1 for none."""
        if name not in self._last:
            history = self._client.get_metric_history(self._run, name) if self._resumed else []
            self._last[name] = max((metric.step for metric in history), default=-1)
        return self._last[name]

    def close(self, state: str) -> None:
        self._client.set_terminated(self._run, STATES.get(state, "FAILED"))


def open_sink(opening: Opening) -> MLflow:
    where = os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{(opening.folder / DATABASE).resolve()}"
    client = MlflowClient(where)
    known = opening.recall("mlflow")
    if known is not None:
        client.update_run(known, status="RUNNING")
        return MLflow(client, known, True)
    found = client.get_experiment_by_name(opening.name)
    experiment = found.experiment_id if found is not None else _make(client, opening)
    run = client.create_run(experiment, run_name=opening.folder.name).info.run_id
    params = [Param(name, str(value)[:6000]) for name, value in opening.settings.items()]
    client.log_batch(run, params=params)
    opening.remember("mlflow", run)
    return MLflow(client, run, False)


def _make(client: MlflowClient, opening: Opening) -> str:
    artifacts = None if os.environ.get("MLFLOW_TRACKING_URI") else f"file://{(opening.folder / 'mlruns').resolve()}"
    try:
        return client.create_experiment(opening.name, artifact_location=artifacts)
    except MlflowException:  # another run has made it in between
        found = client.get_experiment_by_name(opening.name)
        if found is None:
            raise
        return found.experiment_id
