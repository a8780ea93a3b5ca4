"""Words to values: numbers, names, keywords and constants; and the text of a string to its value.

A wrong one raises `Bad` with what is to be said about it; where it stands is the reader's to know.
"""

from __future__ import annotations

import re
import unicodedata

from sexpgpu.compiler.frontend.data import Keyword, Literal, Symbol

#: More digits than any count or seed has; Python's own conversion is quadratic.
MAX_DIGITS = 1000

_DIGITS = r"\d++(?:_\d++)*+"
_INTEGER = re.compile(rf"[+-]?{_DIGITS}", re.A)
_NUMBER = re.compile(rf"[+-]?(?:{_DIGITS}(?:\.(?:{_DIGITS})?)?|\.{_DIGITS})(?:[eE][+-]?\d++)?", re.A)
_LIKE_A_NUMBER = re.compile(r"[+-]?\.?\d", re.A)
_ESCAPE = re.compile(r"\\(?:u\{([0-9a-fA-F_]*)\}|u\{?[0-9a-fA-F]*|.)", re.S)
_SIMPLE_ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\"}

_CONSTANTS: dict[str, Literal] = {
    "true": True, "false": False, "nil": None,
    "inf": float("inf"), "+inf": float("inf"), "-inf": float("-inf"), "nan": float("nan"),
}

#: Other Lisps' spellings of what this one has.
_ELSEWHERE = {"#t": "true", "#true": "true", "#f": "false", "#false": "false", "#nil": "nil", "{": "[", "}": "]"}

#: Pasted characters and what was meant.
_TYPOGRAPHIC = {"“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "‘": "'", "’": "'", "\u00a0": " ", "\u202f": " ",
                "\u3000": " ", "−": "-", "–": "-"}


class Bad(Exception):
    """A word that has no value: the code, the message, the label, advice, and the text that would be right (if known).

    `start` and `end` are the part of the word that is wrong."""

    def __init__(self, code: str, message: str, label: str, fix: str | None = None, instead: str | None = None,
                 start: int = 0, end: int | None = None) -> None:
        super().__init__(code, message)
        self.code, self.message, self.label, self.fix, self.instead = code, message, label, fix, instead
        self.start, self.end = start, end


def word_value(word: str) -> Literal:
    """The value of a word (anything but a string, a bracket or a prefix); raises `Bad`."""
    if word in _CONSTANTS:
        return _CONSTANTS[word]
    if _LIKE_A_NUMBER.match(word):
        return _number(word)
    _check_characters(word)
    if word[0] == ":":
        name = word[1:]
        if name and ":" not in name:
            return Keyword(name)
        raise Bad("E-READ-007", f"`{word}` is not a keyword",
                  "a keyword has one colon and then a name", "a keyword is written `:name`")
    if ":" in word:
        name = word.replace(":", "")
        raise Bad("E-READ-007", f"`{word}` has a colon inside", "names have no colons",
                  f"a keyword is written `:{name}`", f":{name}" if word == name + ":" else None)
    if word == ".":
        raise Bad("E-READ-007", "`.` is not a name", "a dot alone", "lists have no dotted tail: `(list a b)`")
    return Symbol(word)


def _number(word: str) -> int | float:
    if _INTEGER.fullmatch(word):
        if len(word) > MAX_DIGITS:
            raise Bad("E-READ-006", f"an integer of {len(word)} digits", f"more than {MAX_DIGITS} digits")
        return int(word)
    if _NUMBER.fullmatch(word):
        value = float(word)
        if value in (float("inf"), float("-inf")):
            raise Bad("E-READ-006", f"`{word}` is too large for a float", "the largest is 1.8e308",
                      "infinity is written `inf`")
        return value
    message = f"`{word}` is not a number"
    if match := re.fullmatch(r"([+-]?)0[xX]([0-9a-fA-F_]+)", word):
        value = f"{match[1]}{int(match[2].replace('_', '') or '0', 16)}"
        raise Bad("E-READ-006", message, "numbers are decimal", f"in decimal it is `{value}`", value)
    if re.fullmatch(r"[+-]?\d+(,\d+)+\.?\d*", word):
        value = word.replace(",", "_")
        raise Bad("E-READ-006", message, "a comma is no part of a number", f"digits are grouped with `_`: `{value}`",
                  value)
    if match := re.fullmatch(r"([+-]?\d+)/(\d+)", word):
        value = f"(/ {match[1]} {match[2]})"
        raise Bad("E-READ-006", message, "there are no ratios", f"write the division: `{value}`", value)
    if "_" in word and _NUMBER.fullmatch(word.replace("_", "")):
        value = word.replace("_", "")
        raise Bad("E-READ-006", message, "an underscore stands only between two digits", f"write `{value}`", value)
    raise Bad("E-READ-006", message, "begins like a number, and names do not begin with a digit",
              "numbers are written `42`, `1_000_000`, `1.5`, `1e-3`")


def _check_characters(word: str) -> None:
    """Refuses what no name can hold: other Lisps' tokens, and characters that cannot be seen or told apart."""
    first = word[0]
    if first in "#{}|\\":
        instead = _ELSEWHERE.get(word)
        if instead is None and word.startswith("#'") and len(word) > 2:
            instead = word[2:]
        label = "brackets are `(` and `[`" if first in "{}" else "no token begins like this"
        raise Bad("E-READ-007", f"`{word}` is not a token of the language", label,
                  f"write `{instead}`" if instead else None, instead)
    if word.isascii() and word.isprintable():
        return
    for at, character in enumerate(word):
        if character in _TYPOGRAPHIC or (character != " " and not character.isprintable()) or character.isspace():
            name = unicodedata.name(character, "a control character").lower()
            instead = _TYPOGRAPHIC.get(character)
            raise Bad("E-READ-013", f"the character U+{ord(character):04X} ({name}) outside a string",
                      "has no place in a program", f"write {_shown(instead)}" if instead else "delete it",
                      instead or "", at, at + 1)


def _shown(character: str) -> str:
    return "a space" if character == " " else f"`{character}`"


def string_value(piece: str) -> tuple[str, list[Bad]]:
    """The value of a string with its quotes, and what is wrong inside it (each with its part of the piece)."""
    body = piece[1:-1]
    wrong: list[Bad] = []
    if "\0" in body:
        at = body.index("\0") + 1
        wrong.append(Bad("E-READ-013", "the character U+0000 in a string", "a NUL character", "write `\\u{0}`",
                         "\\u{0}", at, at + 1))
    if "\\" not in body:
        return body, wrong

    def replaced(match: re.Match[str]) -> str:
        text = match.group()
        if text[1] in _SIMPLE_ESCAPES:
            return _SIMPLE_ESCAPES[text[1]]
        try:
            if match[1] is None:
                raise _bad_escape(text)
            return _scalar(match[1], text)
        except Bad as bad:
            bad.start, bad.end = match.start() + 1, match.end() + 1
            wrong.append(bad)
            return ""

    return _ESCAPE.sub(replaced, body), wrong


def _scalar(digits: str, text: str) -> str:
    code = int(digits, 16) if digits and "_" not in digits and len(digits) <= 8 else -1
    if 0 <= code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF:
        return chr(code)
    raise Bad("E-READ-005", f"`{text}` is not a character", "not a Unicode scalar value",
              "from `\\u{0}` to `\\u{10FFFF}`, without the surrogates `\\u{D800}` to `\\u{DFFF}`")


def _bad_escape(text: str) -> Bad:
    shown = text if text[1].isprintable() else "\\"
    message = f"`{shown}` is not an escape"
    if text[1] == "u":
        return Bad("E-READ-005", message, "`\\u` without `{…}`", "write the code in braces: `\\u{1F600}`")
    if text[1] in "xr0abfv":
        code = {"r": "D", "0": "0", "a": "7", "b": "8", "f": "C", "v": "B"}.get(text[1])
        fix = f"write `\\u{{{code}}}`" if code else "write the code in braces: `\\u{1F600}`"
        return Bad("E-READ-005", message, "no such escape", fix, f"\\u{{{code}}}" if code else None)
    return Bad("E-READ-005", message, "no such escape",
               "the escapes are `\\n`, `\\t`, `\\\"`, `\\\\` and `\\u{…}`; a backslash itself is `\\\\`",
               "\\\\" + text[1:] if text[1].isprintable() else None)
