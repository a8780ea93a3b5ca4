"""Every setting of a run, one table: the flags of `sexpgpu-run`, the keywords of `(run …)`, `--help` and the manual.

An option's value comes as text from a flag or as JSON from the manifest's `run`; `Option.read` takes both and gives
the value in its final type, or raises `BadValue`. Imports nothing heavy: the compiler reads this table too.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from sexpgpu.diagnostics.record import record
from sexpgpu.runtime.dataio.spec import ON_BAD_DATA

ON_NONFINITE = ("stop", "skip", "rewind")

Value = int | str | None
"""`None` is "not set"; durations are text such as `10m`."""


class BadValue(Exception):
    """What was wanted, in words that follow "`--steps` takes"."""


@record
class Option:
    """`name` as after `--` and after `:`; `default` is in the final type; `example` a value that makes sense."""

    name: str
    metavar: str
    group: str
    default: Value
    help: str
    parse: Callable[[str], Value]
    example: str
    choices: tuple[str, ...] = ()

    @property
    def flag(self) -> str:
        return f"--{self.name}"

    @property
    def attribute(self) -> str:
        return self.name.replace("-", "_")

    def literal(self, value: Value) -> str:
        """A value as it is written in `(run …)`: numbers bare, all else as text."""
        bare = isinstance(value, int) or (isinstance(value, str) and re.fullmatch(r"\d+(_\d+)*", value))
        return str(value) if bare else '"' + str(value).replace("\\", "\\\\").replace('"', '\\"') + '"'

    def read(self, value: object) -> Value:
        """The final value of a flag's text or of a keyword's JSON. Raises `BadValue`."""
        if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
            value = ",".join(value)
        if isinstance(value, bool) or not isinstance(value, int | str):
            return self.parse("")  # every parser refuses the empty text, in its own words
        return self.parse(str(value).strip())


# -- parsers ----------------------------------------------------------------------------------------------------------

def _integer(least: int, most: int | None = None) -> Callable[[str], int]:
    bounds = f"an integer from {least}" + (f" to {most}" if most is not None else "")

    def parse(text: str) -> int:
        if not re.fullmatch(r"[+-]?\d+(_\d+)*", text):
            raise BadValue(bounds)
        # Counts are 64-bit in the artifact; more digits than that are not converted at all.
        number = int(text) if len(text) <= 40 else 2**63
        if most is None and number >= 2**63:
            raise BadValue(f"{bounds} to {2**63 - 1}")
        if number < least or (most is not None and number > most):
            raise BadValue(bounds)
        return number
    return parse


def _choice(*choices: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in choices:
            raise BadValue("one of " + ", ".join(f"`{c}`" for c in choices))
        return text
    return parse


SINKS = ("tensorboard", "wandb", "mlflow")


def _sinks(text: str) -> str:
    """Names with commas between them, `jsonl` among them or not: those of the packages, in the table's order."""
    names = [name.strip() for name in text.split(",")]
    if not all(name in (*SINKS, "jsonl") for name in names):
        raise BadValue("names of " + ", ".join(f"`{c}`" for c in ("jsonl", *SINKS)) + ", with commas between them")
    return ",".join(name for name in SINKS if name in names) or "jsonl"


def _window(text: str) -> str:
    match = re.fullmatch(r"([1-9]\d{0,17}):([1-9]\d{0,17})", text)
    if match is None or int(match[1]) > int(match[2]):
        raise BadValue("the first and the last of some steps, with a colon between them")
    return text


def _text(what: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if not text or "\0" in text:
            raise BadValue(what)
        return text
    return parse


_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(s|m|h)")
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}


def _interval(text: str) -> Value:
    if text == "never" or (len(text) <= 18 and re.fullmatch(r"[1-9]\d*(_\d+)*", text)):
        return text if text == "never" else int(text)
    match = _DURATION.fullmatch(text)
    if match is None or float(match[1]) == 0.0:
        raise BadValue("a number of steps, a time such as `10m` (`s`, `m` or `h`), or `never`")
    return text


def seconds(duration: str) -> float:
    """Seconds of a duration that `_interval` let through."""
    match = _DURATION.fullmatch(duration)
    assert match is not None
    return float(match[1]) * _UNITS[match[2]]


def _metric(text: str) -> str:
    if not re.fullmatch(r"(?:(?:min|max):)?eval/[^/]+/.+", text):
        raise BadValue("`eval/<pass>/<metric>`, with `max:` before it where more is better")
    return text


# -- the table --------------------------------------------------------------------------------------------------------

LENGTH, PLACE, MACHINE, SAFETY = "how long", "where", "on what", "safe and seen"
GROUPS = (LENGTH, PLACE, MACHINE, SAFETY)

OPTIONS: tuple[Option, ...] = (
    Option("steps", "N", LENGTH, None,
           "stop after N updates; without a length, one pass over a finite loader", _integer(1), "1000"),
    Option("tokens", "N", LENGTH, None,
           "stop once the counter `tokens` has reached N, instead of --steps", _integer(1), "1_000_000_000"),
    Option("records", "N", LENGTH, None,
           "stop once N records have been read, instead of --steps", _integer(1), "500_000"),
    Option("microbatches", "K", LENGTH, 1,
           "batches that make one update; their gradients are averaged", _integer(1, 1_000_000), "4"),
    Option("seed", "N", LENGTH, 0,
           "of the initial weights, the random numbers and the order of the data", _integer(0, 2**63 - 1), "7"),
    Option("init-from", "FILE", LENGTH, None,
           "start from the weights of a .safetensors file instead of the initialisers", _text("a file"),
           "weights.safetensors"),
    Option("out", "DIR", PLACE, None,
           "the run folder; default runs/<name>-<date>-<time>", _text("a folder"), "runs/first"),
    Option("resume", "WHAT", PLACE, "auto",
           "`auto` goes on from the newest whole checkpoint in --out, `never` refuses a folder that has one, a path "
           "names a checkpoint or another run's folder", _text("`auto`, `never`, or a path"), "auto"),
    Option("data-root", "DIR", PLACE, None,
           "where the loaders' relative paths start, instead of the experiment's folder", _text("a folder"),
           "/data"),
    Option("device", "NAME", MACHINE, "auto",
           "`auto`, `cpu` or `local-task`, `local-sync`, `vulkan`, `cuda`, or `driver://which`; the artifact's target "
           "decides what fits", _text("a device"), "cuda://0"),
    Option("threads", "N", MACHINE, None,
           "threads of the device `cpu`; default one a core. Results do not depend on it", _integer(1, 1024), "8"),
    Option("prefetch", "N", MACHINE, 4,
           "batches the loader keeps ready", _integer(1, 4096), "8"),
    Option("checkpoint-every", "WHEN", SAFETY, "10m",
           "steps, or a time such as `10m`, or `never`; the end of a run and Ctrl-C always save", _interval, "500"),
    Option("keep", "N", SAFETY, 3,
           "checkpoints to keep, the newest ones", _integer(1), "5"),
    Option("keep-best", "METRIC", SAFETY, None,
           "keep the checkpoint with the least `eval/<pass>/<metric>` too, or the greatest: `max:eval/<pass>/<metric>`",
           _metric, "eval/val/loss"),
    Option("log-every", "N", SAFETY, 1,
           "write every N-th step to metrics.jsonl; steps with an evaluation and the last are always written",
           _integer(1), "10"),
    Option("sinks", "NAMES", SAFETY, "jsonl",
           "where metrics go besides metrics.jsonl: `tensorboard`, `wandb`, `mlflow`, with commas between them",
           _sinks, "tensorboard,wandb"),
    Option("profile", "N:M", SAFETY, None,
           "write a trace of the steps N to M into profile/, for Perfetto", _window, "100:110"),
    Option("on-bad-data", "WHAT", SAFETY, "error",
           "a record that does not fit its fields: `error`, `skip-record`, or `skip-file` for the rest of its file; "
           "what is left out is listed in skipped.jsonl", _choice(*ON_BAD_DATA), "skip-record", ON_BAD_DATA),
    Option("bad-budget", "N", SAFETY, 100,
           "how many records (or files) each stage may leave out", _integer(0, 1_000_000), "1000"),
    Option("on-nonfinite", "WHAT", SAFETY, "stop",
           "where the loss or the gradient is not finite: `stop` (exit 4), `skip` the update, which the experiment was "
           "built for, or `rewind` to the newest checkpoint and go on with the data behind it",
           _choice(*ON_NONFINITE), "rewind", ON_NONFINITE),
    Option("nonfinite-limit", "N", SAFETY, 50,
           "how many updates in a row may be skipped, and how often a run may rewind, before it stops (exit 4)",
           _integer(1, 1_000_000), "10"),
)

BY_NAME = {option.name: option for option in OPTIONS}
LENGTHS = ("steps", "tokens", "records")
