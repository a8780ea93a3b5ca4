"""Did-you-mean for closed sets of words."""

from __future__ import annotations

from collections.abc import Iterable

#: The least similarity, from 0 to 1, of a word that is worth naming.
_CUTOFF = 0.6


def did_you_mean(word: str, choices: Iterable[str]) -> str | None:
    """The choice that `word` most likely means, if one is near enough to be worth naming: the same word written
    another way (`SGD`, `batch_size`), the name another library has for it (`:keepdims`), or a misspelling."""
    listed = list(choices)
    if not listed:
        return None
    same = _plain(word)
    for choice in listed:
        if _plain(choice) == same and choice != word:
            return choice
    typos = [choice for choice in listed if len(word) > 3 and abs(len(word) - len(choice)) < 2
             and _shares_enough(word, choice) and distance(word, choice) == 1]
    if typos:
        return min(typos, key=lambda choice: (sorted(choice) != sorted(word), -_common_start(word, choice)))
    other = of_another_library(word, listed)
    if other is not None:
        return other
    possible = [choice for choice in listed if _shares_enough(word, choice)]
    if not possible:
        return None
    import difflib  # a clean check does not pay for it

    found = difflib.get_close_matches(word, possible, n=3, cutoff=_CUTOFF)
    near = [choice for choice in found if distance(word, choice) <= max(1, max(len(word), len(choice)) // 2)]
    return min(near, key=lambda choice: distance(word, choice), default=None)


def is_sure(word: str, choice: str) -> bool:
    """Whether `word` is `choice` written another way, or one slip of the fingers away from it."""
    return _plain(word) == _plain(choice) or (len(word) > 4 and distance(word, choice) == 1)


def distance(a: str, b: str) -> int:
    """The number of letters to insert, delete or replace, or pairs of neighbours to exchange."""
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        older, before, row = before, row, [i]
        for j, y in enumerate(b, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and y == a[i - 2]:
                cost = min(cost, older[j - 2] + 1)
            row.append(cost)
    return row[-1]


def _common_start(a: str, b: str) -> int:
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def _plain(word: str) -> str:
    return word.replace("_", "").replace("-", "").lower()


def of_another_library(word: str, choices: Iterable[str]) -> str | None:
    """The name that the language has for what `word` is called elsewhere."""
    from sexpgpu.diagnostics.aliases import ALIASES

    listed = list(choices)
    colon = ":" if word.startswith(":") else ""
    plain = _plain(word.lstrip(":"))
    return next((colon + name for name in ALIASES.get(plain, ()) if colon + name in listed), None)


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
