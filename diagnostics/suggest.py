"""Did-you-mean for closed sets of words."""

from __future__ import annotations

from collections.abc import Iterable

#: The least similarity, from 0 to 1, of a word that is worth naming.
_CUTOFF = 0.6


def did_you_mean(word: str, choices: Iterable[str]) -> str | None:
    """The choice nearest to `word`, if one is near enough to be worth naming."""
    possible = [choice for choice in choices if _shares_enough(word, choice)]
    if not possible:
        return None
    import difflib  # a clean check does not pay for it

    found = difflib.get_close_matches(word, possible, n=1, cutoff=_CUTOFF)
    return found[0] if found else None


def _shares_enough(word: str, choice: str) -> bool:
    """An upper bound of difflib's ratio: the characters that both have, wherever they stand."""
    shared = sum(min(word.count(c), choice.count(c)) for c in set(word))
    return 2 * shared >= _CUTOFF * (len(word) + len(choice))


def one_of(word: str, choices: Iterable[str]) -> str:
    """Advice that lists a closed set: `` `:a`, `:b`; did you mean `:a`? ``."""
    listed = list(choices)
    near = did_you_mean(word, listed)
    text = ", ".join(f"`{c}`" for c in listed) or "nothing"
    return f"{text}; did you mean `{near}`?" if near else text
