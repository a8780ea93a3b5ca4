"""The whole experiment, staged: definitions, contract, training, evaluations, optimizer, functions of ctx, manifest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from iree.compiler import ir
from sexpgpu.compiler.frontend.contract import Contract, Definition
from sexpgpu.compiler.frontend.contract_values import Evaluation, Loader, Optimizer, Run
from sexpgpu.compiler.frontend.data import Datum
from sexpgpu.compiler.frontend.evaluator import Evaluator
from sexpgpu.compiler.frontend.experiment import StagedModule
from sexpgpu.compiler.frontend.gradient_reach import check_reach
from sexpgpu.compiler.frontend.precision import precision_of, set_dtypes
from sexpgpu.compiler.frontend.report import Reporter
from sexpgpu.compiler.frontend.run_settings import check_run, plain
from sexpgpu.compiler.frontend.sources import Files
from sexpgpu.compiler.frontend.staging_ctx import CURRICULUM, CtxFunctions
from sexpgpu.compiler.frontend.staging_export import StagedExport
from sexpgpu.compiler.frontend.staging_optimizer import OptimizerStaging
from sexpgpu.compiler.frontend.staging_step import Steps
from sexpgpu.compiler.frontend.toplevel import load
from sexpgpu.compiler.frontend.trace import Schedule, Trace
from sexpgpu.compiler.frontend.values import POISON
from sexpgpu.compiler.frontend.warnings import warn
from sexpgpu.diagnostics import Label, SourceMap
from sexpgpu.diagnostics.record import replace


def stage(path: Path, files: Files, overrides: Mapping[str, Datum], sources: SourceMap, reporter: Reporter,
          *, finish: bool = True) -> StagedModule | None:
    """The staged module; None where `reporter` has errors, or where it is not to be finished."""
    evaluator = Evaluator(sources, reporter, overrides, finish)
    try:
        with evaluator.staging.context, ir.Location.unknown():
            with evaluator.staging.scratch():
                load(evaluator, files.forms)
                contract = Contract(evaluator, files.names[0])
            found = _Experiment(evaluator, contract, finish)
            found.stage()
            reporter.release()
            return found.finish(path, files.paths) if finish and not reporter.errors else None
    finally:
        reporter.work = evaluator.budget.steps


class _Experiment:
    def __init__(self, evaluator: Evaluator, contract: Contract, finish: bool) -> None:
        self._evaluator, self._contract, self._finish = evaluator, contract, finish
        self._steps = Steps(evaluator, contract, finish)
        self._evaluations: list[tuple[Evaluation, Trace]] = []
        self._exports: list[StagedExport] = []
        self._schedules: list[Schedule] = []
        self._optimizer: OptimizerStaging | None = None
        self._skips = False

    def stage(self) -> None:
        set_dtypes(self._evaluator, precision_of(self._contract))
        self._steps.train()
        for evaluation in self._contract.evaluations():
            self._evaluations.append((evaluation, self._steps.evaluate(evaluation)))
        for export in self._evaluator.exports:
            if (staged := self._steps.export(export)) is not None:
                self._exports.append(staged)
        objective = self._contract.get("objective")
        if self._evaluator.reporter.errors == 0 and self._steps.loss is not None and objective is not None:
            check_reach(self._evaluator, self._steps.loss, objective.span)
        self._stage_optimizer()
        self._stage_ctx()
        run = self._contract.get("run")
        if run is not None and isinstance(run.value, Run):
            check_run(self._evaluator.reporter, run.value, self._steps.training)
        if self._evaluator.reporter.errors == 0:
            warn(self._evaluator, self._contract, self._steps.training, self._schedules)

    def _stage_optimizer(self) -> None:
        definition = self._contract.get("optimizer")
        if definition is None or not isinstance(definition.value, Optimizer):
            return
        for name, value in definition.value.hypers():
            self._add(Schedule(name, value, definition.span))
        trainable = [p for p in self._steps.training.parameters.values() if p.trainable]
        precision, value = precision_of(self._contract), definition.value
        if (precision is not None and precision.loss_scale is not None) or self._run_skips():
            value = replace(value, skip_nonfinite=True)
        self._skips = value.skip_nonfinite
        self._optimizer = OptimizerStaging(self._evaluator, value, definition.span, trainable)
        if self._evaluator.reporter.errors == 0:
            self._optimizer.check_groups()
        if not self._finish:
            self._optimizer.keep_one_of_each()
        self._optimizer.stage_init()
        self._optimizer.stage_update()

    def _stage_ctx(self) -> None:
        for trace in (self._steps.training, *(trace for _, trace in self._evaluations)):
            for schedule in trace.schedules.values():
                self._add(schedule)
        loader = self._loader()
        stages = [stage.name for stage in loader.stages] if loader and loader.complete else []
        functions = CtxFunctions(self._evaluator, self._steps.training, stages)
        for schedule in self._schedules:
            functions.schedule(schedule)
        curriculum = self._contract.get("curriculum")
        if curriculum is not None and curriculum.value is not POISON:
            functions.curriculum(curriculum)
        elif loader is not None and len(loader.stages) > 1 and curriculum is None:
            self._evaluator.reporter.error(
                "E-CONTRACT-015", "the loader has several stages, and the experiment no `curriculum`", loader.span,
                f"{len(loader.stages)} stages",
                fix="define `(defun curriculum (ctx) …)`, which gives the name of a stage")

    def _run_skips(self) -> bool:
        """Whether `(run …)` asks for an update that can be skipped."""
        run = self._contract.get("run")
        settings = run.value.settings if run is not None and isinstance(run.value, Run) else {}
        return plain(settings.get("on-nonfinite")) == "skip"

    def _add(self, new: Schedule) -> None:
        """Every schedule has a name of its own; one that stands in training and in an evaluation is one."""
        reporter = self._evaluator.reporter
        if new.name == CURRICULUM:
            reporter.error("E-CONTRACT-017", f"a schedule is called `:{CURRICULUM}`", new.span, "the name is taken")
            return
        old = next((s for s in self._schedules if s.name == new.name), None)
        if old is None:
            self._schedules.append(new)
        elif old.span != new.span:
            reporter.error("E-CONTRACT-017", f"two schedules are called `:{new.name}`", new.span, "the second one",
                           secondary=[Label(old.span, "the first one")])

    def _loader(self) -> Loader | None:
        definition = self._contract.get("train-loader")
        return definition.value if isinstance(definition, Definition) and isinstance(definition.value, Loader) else None

    def finish(self, path: Path, files: Sequence[Path]) -> StagedModule:
        """The manifest, and the verified module."""
        import json  # like the draft: not for a check

        from sexpgpu.compiler.frontend.manifest_draft import draft  # hashes and package metadata: not for a check

        loader, module = self._loader(), self._evaluator.staging.module
        assert loader is not None and self._optimizer is not None
        run = self._contract.get("run")
        manifest = draft(path, files, loader, self._steps.training, self._schedules, self._optimizer.state_rows(),
                         self._evaluations, self._exports, run.value if run and isinstance(run.value, Run) else None,
                         self._skips)
        self._evaluator.staging.context.load_all_available_dialects()   # for the passes
        module.operation.attributes["sexp.manifest"] = ir.StringAttr.get(json.dumps(manifest, ensure_ascii=False))
        assert module.operation.verify()
        return StagedModule(module, manifest)
