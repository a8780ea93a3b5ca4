"""The run folder: what a run writes besides checkpoints, and who may write into it."""

from sexpgpu.runtime.folder.lines import MetricLines
from sexpgpu.runtime.folder.runfolder import RunFolder, default_name
from sexpgpu.runtime.folder.status import Status

__all__ = ["MetricLines", "RunFolder", "Status", "default_name"]
