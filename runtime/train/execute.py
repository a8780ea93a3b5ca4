"""A whole run, from an artifact's path to an exit status: what the command line calls."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from sexpgpu.diagnostics import Diagnostic, Fix, SexpError
from sexpgpu.diagnostics.record import replace
from sexpgpu.runtime.artifact import Artifact, Manifest, read_artifact
from sexpgpu.runtime.checkpoint.cursor import Cursor
from sexpgpu.runtime.checkpoint.store import steps
from sexpgpu.runtime.checkpoint.weights import init_from
from sexpgpu.runtime.display.display import Display, open_display
from sexpgpu.runtime.flags import CommandLine
from sexpgpu.runtime.folder import MetricLines, RunFolder, Status, default_name
from sexpgpu.runtime.folder.skipped import SkippedLines
from sexpgpu.runtime.performance.facts import Performance
from sexpgpu.runtime.session import Device, Session, choose
from sexpgpu.runtime.settings import Layer, Settings
from sexpgpu.runtime.signals import INTERRUPTED, StopFlag, Stopped
from sexpgpu.runtime.sinks.sink import Kind, chosen
from sexpgpu.runtime.train.account import standing, summary
from sexpgpu.runtime.train.chosen import EXPERIMENT, chosen_settings
from sexpgpu.runtime.train.config import config_text
from sexpgpu.runtime.train.ending import cannot_write, command_to_go_on, tell
from sexpgpu.runtime.train.evaluate import Evaluator
from sexpgpu.runtime.train.feed import Feed, OpenLoader
from sexpgpu.runtime.train.loop import End, Trainer
from sexpgpu.runtime.train.plan import Plan, plan_of
from sexpgpu.runtime.train.preflight import preflight
from sexpgpu.runtime.train.provenance import provenance
from sexpgpu.runtime.train.resume import Resume, find
from sexpgpu.runtime.train.saver import Saver
from sexpgpu.runtime.train.speed import Speed
from sexpgpu.runtime.train.tally import Tally
from sexpgpu.runtime.train.telling import Telling
from sexpgpu.runtime.train.watch import LoaderWatch, omitted_in


def execute(line: CommandLine, layers: Sequence[Layer], words: Sequence[str], open_loader: OpenLoader,
            begun: float, *, ends: bool = False) -> int:
    """Runs an artifact. `layers` are the settings over the experiment's, `words` is the command as it was given,
    `begun` its start (`time.time()`); the process `ends` with the run, or belongs to another program.

    Gives 0 or `INTERRUPTED`; raises `SexpError` for everything that has a code.
    """
    assert line.artifact is not None
    artifact = read_artifact(line.artifact)
    manifest = artifact.manifest
    settings, origins = chosen_settings(manifest, layers)
    if line.print_config:
        print(config_text(manifest, settings, origins))
        return 0
    if line.preflight:
        return preflight(manifest, settings.data_root)
    kinds = chosen(settings.sinks)
    uri = choose(manifest.target, settings.device)
    path = Path(settings.out) if settings.out is not None else default_name(manifest.name, begun)
    with StopFlag(ends=ends) as stop:
        return _claimed(line, artifact, settings, origins, uri, path, words, open_loader, begun, stop, kinds)


def _claimed(line: CommandLine, artifact: Artifact, settings: Settings, origins: Mapping[str, str], uri: str,
             path: Path, words: Sequence[str], open_loader: OpenLoader, begun: float, stop: StopFlag,
             kinds: Sequence[Kind]) -> int:
    """The part for which the folder is this process's. From here on signals are heard."""
    assert line.artifact is not None
    manifest = artifact.manifest
    try:
        folder = RunFolder(path, manifest, fresh=settings.resume == "never")
    except OSError as error:
        raise cannot_write(path, error) from error
    try:
        display = open_display(manifest.name)
        try:
            run = Run(manifest, folder, display, begun)
            resume = find(settings.resume, folder.checkpoints, manifest,
                          settings.seed if origins.get("seed", EXPERIMENT) != EXPERIMENT else None, display.note)
            if resume is not None:
                settings = run.goes_on(settings, resume)
            session = Session(artifact, Device(uri, settings.threads))
            return run.train(session, settings, resume, open_loader, line.artifact, words, stop, kinds)
        except Stopped:
            display.close()
            print("stopped before a step was made; there was nothing to save", flush=True)
            return INTERRUPTED
        finally:
            display.close()
    except OSError as error:
        raise cannot_write(path, error) from error
    finally:
        folder.close()


class Run:
    """One process's part of a run: what is opened, in which order, and what is left at the end."""

    def __init__(self, manifest: Manifest, folder: RunFolder, display: Display, begun: float) -> None:
        self._manifest, self._folder, self._display = manifest, folder, display
        self._first_step: float | None = None
        self._before = 0.0
        # The system's clock may jump; what has passed is told by the other one.
        self._start = time.monotonic() - max(0.0, time.time() - begun)

    def goes_on(self, settings: Settings, resume: Resume) -> Settings:
        """The settings of a resumed run: the seed is the checkpoint's."""
        cursor = resume.cursor
        if resume.path.parent.resolve() == self._folder.checkpoints.resolve():
            later = [s for s in steps(self._folder.checkpoints) if s > cursor.step]
            if later and settings.resume != "auto":
                raise SexpError(Diagnostic(
                    "E-RUN-005", f"`{self._folder.path}` holds a later checkpoint, step-{later[0]}",
                    fix=Fix("give another `--out` to go on from the earlier one")))
        elif steps(self._folder.checkpoints):
            raise SexpError(Diagnostic("E-RUN-005", f"`{self._folder.path}` holds checkpoints of its own",
                                       fix=Fix("give another `--out` to go on from a run elsewhere")))
        self._before = cursor.seconds
        self._display.note(f"going on after step {cursor.step} (`{resume.path}`)")
        if settings.init_from is not None:
            self._display.note("`--init-from` is not looked at: the checkpoint has the weights")
        if settings.microbatches != cursor.microbatches:
            self._display.note(f"a step has {settings.microbatches} batches now, {cursor.microbatches} before")
        return replace(settings, seed=cursor.seed)

    def train(self, session: Session, settings: Settings, resume: Resume | None, open_loader: OpenLoader,
              artifact: str, words: Sequence[str], stop: StopFlag, kinds: Sequence[Kind] = ()) -> int:
        manifest, folder = self._manifest, self._folder
        command = command_to_go_on(words, folder.path, settings)
        status = Status(folder.status, {"name": manifest.name, "out": str(folder.path)}, folder.guard)
        cursor = resume.cursor if resume is not None else None
        if settings.on_bad_data != "error":
            open_loader = partial(open_loader, on_bad_data=settings.on_bad_data, bad_budget=settings.bad_budget)
        cursors = cursor.loaders if cursor is not None else {}
        watch = LoaderWatch(self._display.note, SkippedLines(folder.skipped, omitted_in(cursors)))
        feed = Feed(open_loader, manifest.loader, manifest.stages, seed=settings.seed, prefetch=settings.prefetch,
                    data_root=settings.data_root, cursors=cursors, stop=stop, listener=watch)
        lines = saver = None
        telling, state = Telling(folder, kinds, self._display.note), "failed"
        try:
            tally = cursor.tally if cursor is not None else Tally.start(
                manifest.integer_counters, [c.name for c in manifest.counters if c.dtype == "f64"])
            plan = self._plan(settings, feed)
            if cursor is not None and cursor.unfinished is None and plan.done(tally):
                self._display.note(f"nothing is left to do after step {tally.step}; a greater `--{plan.unit}` goes on")
            performance = Performance.of(session, settings.microbatches)
            session.init(settings.seed)
            if resume is not None:
                resume.restore(session)
            elif settings.init_from is not None:
                self._display.note(init_from(settings.init_from, session))
            told = {**settings.to_json(), "out": str(folder.path)}
            folder.write_manifest(manifest, artifact, told, command,
                                  provenance(artifact, manifest, session.device.uri, settings.data_root))
            before = None if cursor is None else cursor.step + (cursor.unfinished is None)
            lines = MetricLines(folder.metrics, before, telling.sinks(manifest.name, told, before))
            saver = Saver(folder, session, settings, feed, lines, status, self._seconds)
            trainer = Trainer(
                session, settings, plan, tally, feed,
                Evaluator(session, open_loader, settings, stop, self._display.evaluating, watch.left_out_of_pass),
                lines, status, saver, self._display, stop, Speed(), {}, {}, partial(self._restore, session),
                cursor.best if cursor is not None else None, self._note_first, performance)
            telling.trace(trainer, settings.profile)
            end = self._run(trainer, cursor.unfinished if cursor is not None else None, resume is not None, status)
            state = "interrupted" if end is End.INTERRUPTED else "finished"
        except BaseException as error:
            with suppress(OSError):   # what went wrong first is what is told
                status.update({"state": "interrupted" if isinstance(error, Stopped) else "failed"}, now=True)
            raise
        finally:
            feed.close()
            if saver is not None:
                saver.close()
            if lines is not None:
                lines.close()
            telling.close(state)
        self._display.close()
        tell(folder.path, end is End.INTERRUPTED, trainer.tally.step, self._seconds(), command)
        return INTERRUPTED if end is End.INTERRUPTED else 0

    def _plan(self, settings: Settings, feed: Feed) -> Plan:
        """With one stage that ends, its length is known before the first step, and bounds the plan."""
        spec = self._manifest.loader
        batches = None
        if len(spec.stages) == 1 and not spec.stages[0].infinite:
            batches = len(feed.loader(0))
        plan = plan_of(settings, self._manifest, batches)
        if batches is not None and plan.unit == "steps" and plan.amount > batches // settings.microbatches:
            most = batches // settings.microbatches
            if most == 0:
                return plan_of(replace(settings, steps=None), self._manifest, batches)
            self._display.note(f"the data ends after {most} steps, before the {plan.amount} asked for")
            plan = replace(plan, amount=most)
        return plan

    def _run(self, trainer: Trainer, unfinished, resumed: bool, status: Status) -> End:
        """The loop; whatever its end, the summary tells of it."""
        try:
            end = trainer.run(unfinished, resumed)
        except BaseException:
            with suppress(OSError):   # the folder may be what went wrong
                self._last_words("failed", trainer, status)
            raise
        self._last_words("interrupted" if end is End.INTERRUPTED else "finished", trainer, status)
        return end

    def _last_words(self, state: str, trainer: Trainer, status: Status) -> None:
        self._folder.write_summary(summary(state, trainer, self._seconds(), time.monotonic() - self._start,
                                           self._first_step))
        status.update({"state": state, **standing(trainer), "eta_s": None}, now=True)

    def _restore(self, session: Session) -> Cursor:
        """The newest checkpoint, back into the session."""
        found = find("auto", self._folder.checkpoints, self._manifest, None, self._display.note)
        assert found is not None, "a run that rewinds has saved its beginning"
        found.restore(session)
        return found.cursor

    def _seconds(self) -> float:
        """Of the whole run, the sessions before included."""
        return self._before + time.monotonic() - self._start

    def _note_first(self, tally: Tally) -> None:
        if self._first_step is None:
            self._first_step = round(time.monotonic() - self._start, 3)
