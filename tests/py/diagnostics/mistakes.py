"""Mistakes as people make them: small changes of the examples, each with the code and the line that must come of it.

Names, keywords and brackets are changed by rule, wherever the text of an example has them; the others are written out.
Everything follows from the examples' texts, in their order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

EXAMPLES = Path(__file__).parents[3] / "examples"
LINEAR, SPIRALS, ADDING = "linear/experiment.sexp", "spirals/experiment.sexp", "adding/experiment.sexp"
CONV, MLP, BYTES = "digits/conv.sexp", "digits/mlp.sexp", "bytes-gpt/experiment.sexp"
#: The examples whose names, keywords and brackets are changed by rule.
SWEPT = (LINEAR, SPIRALS, ADDING, CONV)


#: Marks a row whose line is not found: what is said there is true, and the mistake lies further up.
ELSEWHERE = "elsewhere"


@dataclass(frozen=True)
class Mistake:
    """In `example`, the text from `start` on is `new` instead of `old`. `codes` are what may be reported, each as a
    prefix. `elsewhere`: the changed line itself is not found."""

    kind: str
    example: str
    start: int
    old: str
    new: str
    codes: tuple[str, ...]
    elsewhere: bool = False

    @property
    def path(self) -> Path:
        return EXAMPLES / self.example

    @property
    def original(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @property
    def text(self) -> str:
        return self.original[:self.start] + self.new + self.original[self.start + len(self.old):]

    @property
    def lines(self) -> range:
        first = self.original.count("\n", 0, self.start) + 1
        return range(first, first + max(self.old.count("\n"), self.new.count("\n")) + 1)

    def __str__(self) -> str:
        return f"{self.kind}: {self.example}:{self.lines[0]} `{self.old}` -> `{self.new}`"


def matches(example: str, pattern: str) -> Iterator[re.Match[str]]:
    """Where a pattern occurs in the code of an example, outside of comments and strings."""
    text = (EXAMPLES / example).read_text(encoding="utf-8")
    for match in re.finditer(pattern, text):
        before = text[text.rfind("\n", 0, match.start()) + 1:match.start()]
        if ";" not in before and before.count('"') % 2 == 0:
            yield match


def once_each(example: str, pattern: str) -> Iterator[re.Match[str]]:
    """The first match of each text."""
    seen = set()
    for match in matches(example, pattern):
        if match.group() not in seen:
            seen.add(match.group())
            yield match


#: Names whose two letters may be exchanged without a mistake: what an optional definition is called.
_HARMLESS = {"evaluations", "run", "true", "defvar", "defun", "defmacro"}


def misspelt_names() -> Iterator[Mistake]:
    for example in SWEPT:
        for match in once_each(example, r"(?<![\w:\-])[a-z][a-z\-]{3,}(?![\w\-])"):
            word = match.group()
            if word not in _HARMLESS and word[1] != word[2]:
                yield Mistake("misspelt name", example, match.start(), word, word[0] + word[2] + word[1] + word[3:],
                              ("E-NAME-001", "E-CONTRACT-001"))


def misspelt_keywords() -> Iterator[Mistake]:
    for example in SWEPT:
        for match in once_each(example, r":[a-z][a-z\-]{2,}"):
            word = match.group()
            if word not in (":accuracy",):   # a metric may have any name
                yield Mistake("misspelt keyword", example, match.start(), word, word + word[-1],
                              ("E-ARITY-003", "E-CONTRACT-003", "E-CONTRACT-004", "E-CONTRACT-005", "E-RUN-001",
                               "E-TYPE-001", "E-TYPE-013"))


def missing_brackets() -> Iterator[Mistake]:
    for example in SWEPT:
        for match in matches(example, r"[)\]]+(?=\n)"):
            yield Mistake("missing bracket", example, match.end() - 1, match.group()[-1], "", ("E-READ",))


def missing_openings() -> Iterator[Mistake]:
    for example in SWEPT:
        for match in list(matches(example, r"\((?=\w)"))[::4]:
            yield Mistake("missing opening bracket", example, match.start(), "(", "", ("E-READ",))


def stray_brackets() -> Iterator[Mistake]:
    for example in SWEPT:
        for match in list(matches(example, r"\)(?=\n)"))[::2]:
            yield Mistake("stray bracket", example, match.end(), "", ")", ("E-READ",))


def dimensions() -> Iterator[Mistake]:
    """Numbers that another one must agree with, off by one."""
    places = ((LINEAR, "(field :x :shape [3]", "3"), (LINEAR, '"w" [3]', "3"), (LINEAR, '"b" []', "[]"),
              (ADDING, "(* 4 width)] :init xavier", "4"), (ADDING, "(* 4 width)] :init zeros", "4"),
              (ADDING, "w) b) 4", "4"), (ADDING, "[width 1]", "1"), (ADDING, '"bias" [1]', "1"),
              (ADDING, "(nth gates 3)", "3"), (ADDING, "[1 0 2]", "2"))
    for example, context, number in places:
        start = _only(example, context) + context.rindex(number)
        new = "[2]" if number == "[]" else str(int(number) + 1)
        yield Mistake("dimension off by one", example, start, number, new,
                      ("E-SHAPE", "E-VALUE-001", "E-TYPE-018"))


def written_out() -> Iterator[Mistake]:
    for kind, rows in _ROWS.items():
        for example, old, new, *codes in rows:
            found = tuple(code for code in codes if code != ELSEWHERE)
            yield Mistake(kind, example, _only(example, old), old, new, found, ELSEWHERE in codes)


def _only(example: str, text: str) -> int:
    whole = (EXAMPLES / example).read_text(encoding="utf-8")
    assert text in whole, f"{example} has no {text!r}"
    return whole.index(text)


#: Kind → (example, what stands there first, what stands there then, codes…).
_ROWS: dict[str, list[tuple[str, ...]]] = {
    "transposed operand": [
        (SPIRALS, "[(dim x -1) out]", "[out (dim x -1)]", "E-SHAPE-002"),
        (BYTES, "[(dim x -1) out]", "[out (dim x -1)]", "E-SHAPE-002"),
        (BYTES, "(transpose table)", "table", "E-SHAPE-002"),
        (BYTES, "[vocab width]", "[width vocab]", "E-SHAPE-001"),
        (ADDING, "[width 1]", "[1 width]", "E-SHAPE-002"),
        (ADDING, "(transpose sequence [1 0 2])", "sequence", "E-SHAPE-013", ELSEWHERE),
        (CONV, "[3 3 (dim x -1) channels]", "[3 3 channels (dim x -1)]", "E-SHAPE-002"),
        (ADDING, "(matmul (concat [x h] :axis -1) w)", "(matmul w (concat [x h] :axis -1))", "E-SHAPE-002"),
    ],
    "wrong axis": [
        (SPIRALS, ":axis -1)", ":axis 0)", "E-SHAPE-001"),
        (SPIRALS, ":axis -1)", ":axis 2)", "E-SHAPE-003"),
        (SPIRALS, "(dim x -1)", "(dim x 2)", "E-SHAPE-003"),
        (SPIRALS, "(dim x -1)", "(dim x 0)", "E-SHAPE-002"),
        (BYTES, "(slice tokens 1 0 seq)", "(slice tokens 0 0 seq)", "E-SHAPE-006"),
        (BYTES, ":axis -1) targets", ":axis 1) targets", "E-SHAPE-001"),
        (BYTES, ":axis -1) targets", ":axis 3) targets", "E-SHAPE-003"),
        (ADDING, "(concat [x h] :axis -1)", "(concat [x h])", "E-SHAPE-008"),
        (ADDING, "(dim xs 1)", "(dim xs 0)", "E-SHAPE-008"),
        (ADDING, ":axis -1)))", ":axis 0)))", "E-SHAPE-005"),
        (ADDING, "[1 0 2]", "[1 0]", "E-SHAPE-007"),
        (ADDING, "[1 0 2]", "[1 0 0]", "E-SHAPE-007"),
        (BYTES, "[0 2 1 3]", "[0 2 1]", "E-SHAPE-007"),
    ],
    "wrong size": [
        (BYTES, "(defvar seq 128)", "(defvar seq 129)", "E-SHAPE-006"),
        (BYTES, ":shape [129]", ":shape [128]", "E-SHAPE-006"),
        (BYTES, "(slice tokens 1 0 seq)", "(slice tokens 1 0 (+ seq 1))", "E-SHAPE-001"),
        (BYTES, "(slice tokens 1 1 (+ seq 1))", "(slice tokens 1 1 (+ seq 2))", "E-SHAPE-006"),
        (BYTES, '"gain" [width]', '"gain" [heads]', "E-SHAPE-001"),
        (BYTES, '(project "down" width)', '(project "down" heads)', "E-SHAPE-001"),
        (BYTES, '(project "down" width)', '(project "down" (* 2 width))', "E-SHAPE-001"),
        (BYTES, "[seq width]", "[(+ seq 1) width]", "E-SHAPE-001"),
        (BYTES, '"b" [out]', '"b" [(dim x -1)]', "E-SHAPE-001"),
        (BYTES, "[(dim x 0) seq width]))", "[(dim x 0) seq heads]))", "E-SHAPE-005"),
        (BYTES, "[(dim x 0) seq width]))", "[seq width]))", "E-SHAPE-005"),
        (CONV, "[channels] :init ones", "[(dim x -1)] :init ones", "E-SHAPE-001"),
        (ADDING, "(+ (dim xs -1) width)", "(+ (dim xs -1) (* 2 width))", "E-SHAPE-002"),
        (LINEAR, '"w" [3]', '"w" [1 3]', "E-SHAPE-002"),
        (CONV, "(expand-dims x -1)", "(expand-dims x 1)", "E-SHAPE-006", ELSEWHERE),
    ],
    "swapped arguments": [
        (SPIRALS, "(cross-entropy outputs targets)", "(cross-entropy targets outputs)", "E-TYPE-007"),
        (SPIRALS, '(dense "second" width)', '(dense width "second")', "E-TYPE-006"),
        (BYTES, "(embedding table tokens)", "(embedding tokens table)", "E-TYPE-008"),
        (BYTES, '(project "down" width)', '(project width "down")', "E-TYPE-006"),
        (BYTES, "reduce block (range layers)", "reduce (range layers) block", "E-TYPE-013"),
        (BYTES, "(/ width heads)", "(/ heads width)", "E-TYPE-006"),
        (LINEAR, "(field batch :x)", "(field :x batch)", "E-ARITY-001"),
        (LINEAR, '(matmul x (param "w" [3] :init zeros))', '(matmul (param "w" [3] :init zeros) x)', "E-SHAPE-002"),
        (LINEAR, '(param "w" [3]', '(param [3] "w"', "E-CONTRACT-025"),
    ],
    "another kind of number": [
        (LINEAR, ":batch-size 32", ":batch-size 32.0", "E-CONTRACT-008"),
        (LINEAR, ":batch-size 32", ':batch-size "32"', "E-CONTRACT-008"),
        (LINEAR, ":shuffle 1_000", ":shuffle true", "E-CONTRACT-008"),
        (SPIRALS, "(defvar width 64)", "(defvar width 64.0)", "E-TYPE-006"),
        (BYTES, "(defvar heads 4)", "(defvar heads 4.0)", "E-TYPE-006"),
        (BYTES, "(defvar heads 4)", "(defvar heads 3)", "E-TYPE-006"),
        (BYTES, "(* 4 width)", "(* 4.0 width)", "E-TYPE-006"),
        (BYTES, ":every 100", ":every 0", "E-CONTRACT-021"),
        (BYTES, ":every 100", ":every 100.0", "E-CONTRACT-021"),
        (BYTES, ":clip-norm 1.0", ':clip-norm "1.0"', "E-CONTRACT-022"),
        (SPIRALS, ":shape [2]", ":shape 2", "E-CONTRACT-008"),
        (SPIRALS, ":shape [2]", ":shape [2.0]", "E-CONTRACT-008"),
        (SPIRALS, ":shape [2]", ":shape [-1]", "E-CONTRACT-008"),
        (BYTES, "(range layers)", "layers", "E-TYPE-013"),
    ],
    "another dtype": [
        (SPIRALS, ":dtype :i32", ":dtype :int32", "E-TYPE-001"),
        (SPIRALS, ":dtype :i32", ":dtype :long", "E-TYPE-001"),
        (SPIRALS, ":dtype :i32", ":dtype :f32", "E-TYPE-004", "E-SHAPE-013"),
        (SPIRALS, " :dtype :i32", "", "E-TYPE-004", "E-SHAPE-013"),
        (SPIRALS, ":f32)", ":float32)", "E-TYPE-001"),
    ],
    "name of another library": [
        (LINEAR, "(mse outputs", "(mse_loss outputs", "E-NAME-001"),
        (LINEAR, "(sgd :lr", "(SGD :lr", "E-NAME-001"),
        (SPIRALS, "(adamw :lr", "(adam :lr", "E-NAME-001"),
        (SPIRALS, "(cross-entropy outputs", "(CrossEntropyLoss outputs", "E-NAME-001"),
        (SPIRALS, "(he-normal)", "(kaiming-normal)", "E-NAME-001"),
        (BYTES, "gelu\n", "GELU\n", "E-NAME-001"),
        (CONV, "(max-pool 2)", "(max_pool2d 2)", "E-NAME-001"),
        (CONV, "(expand-dims x -1)", "(unsqueeze x -1)", "E-NAME-001"),
        (CONV, "(conv x w", "(conv2d x w", "E-NAME-001"),
        (BYTES, "(attention q k v", "(scaled_dot_product_attention q k v", "E-NAME-001"),
        (ADDING, "(concat [x h]", "(cat [x h]", "E-NAME-001"),
        (BYTES, "(reshape x [(dim x 0) seq heads", "(view x [(dim x 0) seq heads", "E-NAME-001"),
        (LINEAR, "(defun model", "(defun forward", "E-CONTRACT-001"),
        (LINEAR, "(defun objective", "(defun loss", "E-CONTRACT-001"),
        (LINEAR, "(defvar optimizer", "(defvar optimiser", "E-CONTRACT-001"),
        (LINEAR, "(defvar train-loader", "(defparameter train-loader", "E-NAME-001"),
        (LINEAR, "(defun objective", "(define objective", "E-NAME-001"),
        (MLP, '(include "data.sexp")', '(import "data.sexp")', "E-NAME-001"),
        (MLP, '"classes.sexp"', '"clases.sexp"', "E-READ-010"),
    ],
    "keyword of another library": [
        (LINEAR, ":batch-size", ":batch_size", "E-CONTRACT-003"),
        (LINEAR, ":batch-size", ":bs", "E-CONTRACT-003"),
        (LINEAR, ":infinite true", ":repeat true", "E-CONTRACT-003"),
        (LINEAR, ":infinite true", ":num-workers 4", "E-CONTRACT-003"),
        (LINEAR, ":shuffle 1_000", ":buffer-size 1_000", "E-CONTRACT-003"),
        (LINEAR, ":sources", ":data-files", "E-CONTRACT-003"),
        (LINEAR, ":fields", ":columns", "E-CONTRACT-003"),
        (LINEAR, ":lr 0.1", ":learning-rate 0.1", "E-ARITY-003"),
        (LINEAR, ":steps 200", ":epochs 200", "E-RUN-001"),
        (LINEAR, ":steps 200", ":max-steps 200", "E-RUN-001"),
        (LINEAR, ":log-every", ":log-interval", "E-RUN-001"),
        (SPIRALS, ":axis -1", ":dim -1", "E-ARITY-003"),
        (BYTES, ":causal true", ":is-causal true", "E-ARITY-003"),
        (BYTES, ":weight-decay", ":weight_decay", "E-ARITY-003"),
        (BYTES, ":clip-norm", ":max-grad-norm", "E-ARITY-003"),
        (BYTES, ":every 100", ":eval-steps 100", "E-ARITY-003"),
        (BYTES, ":from", ":column", "E-CONTRACT-003"),
        (BYTES, "(cosine-decay 3e-3", "(cosine-decay :lr 3e-3", "E-ARITY-003"),
        (CONV, ":padding :same", ":pad :same", "E-ARITY-003"),
        (CONV, ":start 1", ":start-dim 1", "E-ARITY-003"),
    ],
    "missing or extra argument": [
        (LINEAR, "(mse outputs targets)", "(mse outputs)", "E-ARITY-002"),
        (LINEAR, "(sgd :lr 0.1)", "(sgd 0.1)", "E-ARITY-001"),
        (MLP, "(adamw :lr", "(adamw lr", "E-ARITY-001"),
        (BYTES, "attention q k v", "attention q k", "E-ARITY-002"),
        (BYTES, "(slice tokens 1 0 seq)", "(slice tokens 0 seq)", "E-ARITY-002"),
        (BYTES, "(warmup 30 (", "(warmup (", "E-ARITY-002"),
        (CONV, "(max-pool 2)", "(max-pool)", "E-ARITY-002"),
        (CONV, "(flatten :start 1)", "(flatten 1)", "E-ARITY-001"),
        (ADDING, "(concat [x h]", "(concat x h", "E-ARITY-001"),
        (ADDING, "(zeros [(dim xs 1) width])", "(zeros (dim xs 1) width)", "E-ARITY-001"),
        (SPIRALS, "(dropout rate)", "(dropout rate x)", "E-ARITY-001"),
        (LINEAR, ":infinite true", ":infinite", "E-ARITY-004"),
        (LINEAR, ':sources [(files ["data/train.parquet"])]\n          ', "", "E-CONTRACT-006"),
        (LINEAR, "          :batch-size 32\n", "", "E-CONTRACT-008"),
        (BYTES, ":batches 20 ", "", "E-CONTRACT-012"),
    ],
    "wrong parts": [
        (LINEAR, "(field batch :y)", "(field batch :Y)", "E-CONTRACT-005"),
        (LINEAR, "(field batch :y)", "(field batch :target)", "E-CONTRACT-005"),
        (BYTES, ":inputs (slice", ":input (slice", "E-CONTRACT-004"),
        (BYTES, "(list :inputs", "(:inputs", "E-TYPE-015"),
        (BYTES, "(counter :tokens", "(counter tokens", "E-CONTRACT-011"),
        (BYTES, "(cross-entropy outputs targets))\n", "outputs)\n", "E-CONTRACT-014"),
        (BYTES, "(defun model (tokens)", "(defun model (tokens mask)", "E-CONTRACT-013"),
        (LINEAR, '(files ["data/train.parquet"])', '(files "data/train.parquet")', "E-TYPE-013"),
        (LINEAR, "data/train.parquet", "data/train.csv", "E-CONTRACT-009"),
        (LINEAR, ":fields [(field", ":fields [(feild", "E-NAME-001"),
        (BYTES, ":loader val-loader", ':loader "val"', "E-CONTRACT-021"),
        (SPIRALS, "relu\n      (dense", '"relu"\n      (dense', "E-ARITY-006"),
        (LINEAR, "(list :inputs (field batch :x)", "(list :inputs (field batch :x) :inputs", "E-CONTRACT-004"),
    ],
}


def all_mistakes() -> list[Mistake]:
    """In the order of their kinds."""
    found = [*misspelt_names(), *misspelt_keywords(), *missing_brackets(), *missing_openings(), *stray_brackets(),
             *dimensions(), *written_out()]
    return list({(m.example, m.text): m for m in reversed(found)}.values())[::-1]
