"""The settings of one run: the table's defaults, under the experiment's `(run …)`, the run file's, and the flags.

Leaves behind a frozen `Settings`, every value checked. What needs the loader or a counter to be decided (how many
steps a finite loader gives) is `runtime/train/plan.py`'s.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from sexpgpu.diagnostics import Diagnostic, Edit, Fix, Label, SexpError, Span, did_you_mean, one_of
from sexpgpu.diagnostics.record import record
from sexpgpu.diagnostics.suggest import is_sure
from sexpgpu.runtime.dataio.spec import Json
from sexpgpu.runtime.options import BY_NAME, LENGTHS, OPTIONS, BadValue, Option, Value

NOWHERE: Mapping[str, Span] = MappingProxyType({})


@record
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
    keep_best: str | None
    log_every: int
    sinks: str
    profile: str | None
    on_bad_data: str
    bad_budget: int
    on_nonfinite: str
    nonfinite_limit: int

    def to_json(self) -> dict[str, Json]:
        """By option name, for the run folder's manifest; options that were left open are absent."""
        values = {o.name: getattr(self, o.attribute) for o in OPTIONS}
        return {name: value for name, value in values.items() if value is not None}


assert list(Settings.__match_args__) == [o.attribute for o in OPTIONS], "one attribute an option, in its order"


@record
class Layer:
    """Settings that were given in one place, by option name, in their final types. `origin` tells people of it."""

    origin: str
    values: dict[str, Value]


def read_layer(origin: str, given: Mapping[str, object], sign: str, problems: list[Diagnostic],
               places: Mapping[str, Span] = NOWHERE) -> Layer:
    """Every value checked; what is wrong goes to `problems` (E-RUN-001, -002, -003). `sign` stands before a name as
    the user writes it, `--` or `:`; `places` are those of the names, where there is a text."""
    values: dict[str, Value] = {}
    for name, value in given.items():
        option = BY_NAME.get(name)
        if option is None:
            problems.append(unknown(f"{sign}{name}", places.get(name)))
            continue
        try:
            values[name] = option.read(value)
        except BadValue as error:
            problems.append(bad_value(option, f"{sign}{name}", value, error, places.get(name)))
    lengths = [name for name in LENGTHS if name in given]
    if len(lengths) > 1:
        problems.append(Diagnostic(
            "E-RUN-003", f"`{sign}{lengths[0]}` and `{sign}{lengths[1]}` both say how long the run is",
            _label(places.get(lengths[1])), fix=Fix("give one of them")))
    return Layer(origin, values)


def merge(layers: Sequence[Layer]) -> tuple[Settings, dict[str, str]]:
    """The settings, later layers over earlier ones, and by option name the origin of each that was given."""
    chosen: dict[str, Value] = {o.name: o.default for o in OPTIONS}
    origins: dict[str, str] = {}
    for layer in layers:
        if any(name in layer.values for name in LENGTHS):  # replaces the length given before, of whichever kind
            chosen.update(dict.fromkeys(LENGTHS))
            for name in LENGTHS:
                origins.pop(name, None)
        chosen.update(layer.values)
        origins.update(dict.fromkeys(layer.values, layer.origin))
    settings = Settings(**{BY_NAME[name].attribute: value for name, value in chosen.items()})  # type: ignore[arg-type]
    return settings, origins


def resolve(defaults: Mapping[str, Json], flags: Mapping[str, str]) -> Settings:
    """`defaults` is the manifest's `run`; `flags` are texts by option name. Raises `SexpError` with E-RUN codes."""
    problems: list[Diagnostic] = []
    layers = [read_layer("the experiment", defaults, ":", problems), read_layer("the command line", flags, "--",
                                                                                problems)]
    if problems:
        raise SexpError(*problems)
    return merge(layers)[0]


def _label(place: Span | None, text: str = "") -> Label | None:
    return Label(place, text) if place is not None else None


def unknown(shown: str, place: Span | None = None) -> Diagnostic:
    """`shown` is the flag or keyword as the user wrote it, `--stpes` or `:stpes`."""
    sign = "--" if shown.startswith("--") else ":"
    names = [f"{sign}{o.name}" for o in OPTIONS]
    near = did_you_mean(shown, names)
    edits = (Edit(place, near),) if near and place is not None else ()
    return Diagnostic("E-RUN-001", f"there is no option `{shown}`", _label(place, "unknown option"), fix=Fix(
        f"did you mean `{near}`?" if near else f"options: {one_of(shown, names)}", edits,
        bool(near) and is_sure(shown, near)))


def bad_value(option: Option, shown: str, value: object, error: BadValue, place: Span | None = None) -> Diagnostic:
    near = did_you_mean(str(value), option.choices) if option.choices else None
    example = option.example if shown.startswith("--") else option.literal(option.example)
    return Diagnostic("E-RUN-002", f"`{shown}` takes {error}, not `{_shown(value)}`", _label(place),
                      fix=Fix(f"did you mean `{near}`?" if near else f"for instance `{shown} {example}`"))


def _shown(value: object) -> str:
    match value:
        case None | bool():
            return {None: "nil", True: "true", False: "false"}[value]
        case list() | tuple():
            return f"[{' '.join(_shown(item) for item in value)}]"
    return str(value)
