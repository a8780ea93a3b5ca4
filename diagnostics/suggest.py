"""Did-you-mean for closed sets of words."""

from __future__ import annotations

from collections.abc import Iterable


def did_you_mean(word: str, choices: Iterable[str]) -> str | None:
    """The choice nearest to `word`, if one is near enough to be worth naming."""
    import difflib  # only where something is wrong already: a clean check does not pay for it

    found = difflib.get_close_matches(word, list(choices), n=1, cutoff=0.6)
    return found[0] if found else None


def one_of(word: str, choices: Iterable[str]) -> str:
    """Advice that lists a closed set: `` `:a`, `:b`; did you mean `:a`? ``."""
    listed = list(choices)
    near = did_you_mean(word, listed)
    text = ", ".join(f"`{c}`" for c in listed) or "nothing"
    return f"{text}; did you mean `{near}`?" if near else text
