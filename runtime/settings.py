"""The settings of one run: the table's defaults, under the experiment's `(run …)`, under the flags.

Leaves behind a frozen `Settings`, every value checked. What needs the loader or a counter to be decided (how many
steps a finite loader gives) is `runtime/train/plan.py`'s.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from sexpgpu.diagnostics import Diagnostic, Fix, SexpError, did_you_mean, one_of
from sexpgpu.runtime.dataio.spec import Json
from sexpgpu.runtime.options import BY_NAME, LENGTHS, OPTIONS, BadValue, Option, Value


@dataclass(frozen=True, slots=True)
class Settings:
    """One attribute an option; see the table for what each means."""

    steps: int | None
    tokens: int | None
    records: int | None
    microbatches: int
    seed: int
    init_from: str | None
    out: str | None
    resume: str
    data_root: str | None
    device: str
    threads: int | None
    prefetch: int
    checkpoint_every: int | str
    keep: int
    log_every: int
    on_bad_data: str
    bad_budget: int
    on_nonfinite: str

    def to_json(self) -> dict[str, Json]:
        """By option name, for the run folder's manifest; options that were left open are absent."""
        values = {o.name: getattr(self, o.attribute) for o in OPTIONS}
        return {name: value for name, value in values.items() if value is not None}


assert [f.name for f in fields(Settings)] == [o.attribute for o in OPTIONS], "one attribute an option, in its order"


def resolve(defaults: Mapping[str, Json], flags: Mapping[str, str]) -> Settings:
    """`defaults` is the manifest's `run`; `flags` are texts by option name. Raises `SexpError` with E-RUN codes."""
    problems: list[Diagnostic] = []
    chosen: dict[str, Value] = {o.name: o.default for o in OPTIONS}
    given = {name: _read(name, value, f":{name}", problems) for name, value in defaults.items()}
    flagged = {name: _read(name, value, f"--{name}", problems) for name, value in flags.items()}
    for group, sign in ((given, ":"), (flagged, "--")):
        lengths = [name for name in LENGTHS if group.get(name) is not None]
        if len(lengths) > 1:
            problems.append(Diagnostic("E-RUN-003", f"`{sign}{lengths[0]}` and `{sign}{lengths[1]}` both say how long "
                                       "the run is", fix=Fix("give one of them")))
        if lengths:  # a length of the command line replaces the experiment's, of whichever kind that is
            chosen.update(dict.fromkeys(LENGTHS))
        chosen.update(group)
    if problems:
        raise SexpError(*problems)
    return Settings(**{BY_NAME[name].attribute: value for name, value in chosen.items()})  # type: ignore[arg-type]


def _read(name: str, value: object, shown: str, problems: list[Diagnostic]) -> Value:
    option = BY_NAME.get(name)
    if option is None:
        problems.append(unknown(shown))
        return None
    try:
        return option.read(value)
    except BadValue as error:
        problems.append(bad_value(option, shown, value, error))
        return None


def unknown(shown: str) -> Diagnostic:
    """`shown` is the flag or keyword as the user wrote it, `--stpes` or `:stpes`."""
    sign = "--" if shown.startswith("--") else ":"
    names = [f"{sign}{o.name}" for o in OPTIONS]
    near = did_you_mean(shown, names)
    return Diagnostic("E-RUN-001", f"there is no option `{shown}`",
                      fix=Fix(f"did you mean `{near}`?" if near else f"options: {one_of(shown, names)}"))


def bad_value(option: Option, shown: str, value: object, error: BadValue) -> Diagnostic:
    return Diagnostic("E-RUN-002", f"`{shown}` takes {error}, not `{value}`",
                      fix=Fix(f"for instance `{shown} {option.example}`"))
