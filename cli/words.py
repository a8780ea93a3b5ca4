"""The words of a command, as a table: what it takes, its help, and how words become arguments.

The commands of `sexpc`, and those of `sexpgpu-run` beside the run itself. Written by hand because every mistake has to
be one of our diagnostics with a suggestion. Imports nothing heavy; `--help` costs what Python costs.
"""

from __future__ import annotations

from collections.abc import Sequence

from sexpgpu.diagnostics.diagnostic import Diagnostic, Fix, SexpError
from sexpgpu.diagnostics.record import fresh, record
from sexpgpu.diagnostics.suggest import did_you_mean


@record
class Flag:
    """`name` with its dashes; without a `metavar` it is a switch; `many` may be given more than once; the last of any
    other wins. `choices` closes the set of values."""

    name: str
    help: str
    metavar: str = ""
    many: bool = False
    choices: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        return self.name.lstrip("-")


@record
class Command:
    """`operand` names the one thing a command works on, or with `many` each of them; `optional` where it may be left
    out; `count` is of how many there are exactly. `module` is where `run(Arguments)` is, for those that look it up."""

    name: str
    summary: str
    operand: str
    flags: tuple[Flag, ...]
    optional: bool = False
    about: str = ""
    many: bool = False
    count: int = 1
    program: str = "sexpc"
    module: str = ""

    @property
    def title(self) -> str:
        return f"{self.program} {self.name}"

    @property
    def usage(self) -> str:
        operand = f"{self.operand} …" if self.many else " ".join([self.operand] * self.count)
        operand = f"[{operand}]" if self.optional else operand
        return f"{self.title} {operand}" + (" [options]" if self.flags else "")


@record
class Arguments:
    """What a command line came to."""

    operand: str | None = None
    operands: tuple[str, ...] = ()
    values: dict[str, list[str]] = fresh(factory=dict)
    help: bool = False

    def given(self, key: str) -> bool:
        return key in self.values

    def last(self, key: str, default: str | None = None) -> str | None:
        return self.values[key][-1] if key in self.values else default

    def all(self, key: str) -> tuple[str, ...]:
        return tuple(self.values.get(key, ()))

    def natural(self, key: str) -> int | None:
        """The flag as a whole number from 0; None where it is absent. Raises E-RUN-002."""
        text = self.last(key)
        if text is not None and (not text.isascii() or not text.isdigit() or int(text) >= 2**63):
            raise SexpError(Diagnostic("E-RUN-002", f"`--{key}` takes an integer from 0, not `{text}`"))
        return None if text is None else int(text)


def parse(command: Command, words: Sequence[str]) -> Arguments:
    """Raises `SexpError` with every E-RUN-001, -002 and -011 at once."""
    flags = {flag.name: flag for flag in command.flags}
    found, problems, operands = Arguments(), [], []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word in ("-h", "--help"):
            return Arguments(help=True)
        if word == "--":
            operands += rest
            break
        if not word.startswith("-") or word == "-":
            operands.append(word)
            continue
        name, value = _split(word)
        flag = flags.get(name)
        if flag is None:
            problems.append(_unknown_flag(command, name))
            if value is None and rest and not rest[0].startswith("-") and (operands or len(rest) > 1) \
                    and not rest[0].endswith((".vmfb", ".sexp")):
                rest.pop(0)   # most likely its value, not the operand
        elif not flag.metavar:
            if value is not None:
                problems.append(Diagnostic("E-RUN-002", f"`{name}` takes no value"))
            found.values[flag.key] = [""]
        else:
            if value is None:
                if not rest or (rest[0].startswith("--") and len(rest[0]) > 2):
                    problems.append(Diagnostic("E-RUN-002", f"`{name}` lacks its value",
                                               fix=Fix(f"it is written `{name} {flag.metavar}`")))
                    continue
                value = rest.pop(0)
            if flag.choices and value not in flag.choices:
                problems.append(bad_value(name, value, flag.choices))
            found.values.setdefault(flag.key, []).append(value)
    problems += _operand(command, operands, found)
    if problems:
        raise SexpError(*problems)
    return found


def _split(word: str) -> tuple[str, str | None]:
    """`--flag=value` and `-Dvalue` in their two parts."""
    if word.startswith("--"):
        name, equals, value = word.partition("=")
        return name, value if equals else None
    return word[:2], word[2:] or None


def _operand(command: Command, operands: Sequence[str], found: Arguments) -> list[Diagnostic]:
    found.operands = tuple(operands)
    if len(operands) == command.count or (operands and command.many):
        found.operand = operands[0]
    elif operands or not command.optional:
        what = {0: "none was given", 1: "one was given"}.get(len(operands), f"{len(operands)} were given")
        count = "a" if command.many else {1: "one", 2: "two"}[command.count]
        return [Diagnostic("E-RUN-011", f"`{command.title}` takes {count} {command.operand}, and {what}",
                           fix=Fix(f"`{command.usage}`; `{command.title} --help` shows more"))]
    return []


def bad_value(flag: str, value: str, choices: Sequence[str]) -> Diagnostic:
    near = did_you_mean(value, choices)
    listed = ", ".join(f"`{choice}`" for choice in choices)
    return Diagnostic("E-RUN-002", f"`{flag}` does not take `{value}`",
                      fix=Fix(f"it takes {listed}" + (f"; did you mean `{near}`?" if near else "")))


def _unknown_flag(command: Command, name: str) -> Diagnostic:
    near = did_you_mean(name, [flag.name for flag in command.flags])
    advice = f"did you mean `{near}`? " if near else ""
    return Diagnostic("E-RUN-001", f"`{command.title}` has no option `{name}`",
                      fix=Fix(f"{advice}`{command.title} --help` lists what there is"))


def help_text(command: Command, width: int) -> str:
    """What `sexpc COMMAND --help` prints."""
    import textwrap

    rows = [f"usage: {command.usage}", "", *textwrap.wrap(command.about or command.summary, width)]
    heads = {flag: f"  {flag.name} {flag.metavar}".rstrip() for flag in command.flags}
    left = max((len(head) for head in heads.values()), default=0) + 3
    rows += ["", "options:"] if heads else []
    for flag, head in heads.items():
        text = flag.help + (f" ({', '.join(flag.choices)})" if flag.choices else "") + (
            "; may be repeated" if flag.many else "")
        first, *more = textwrap.wrap(text, max(width - left, 24))
        rows += [f"{head:<{left}}{first}", *(" " * left + line for line in more)]
    return "\n".join(rows)
