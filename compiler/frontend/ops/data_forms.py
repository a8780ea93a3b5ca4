"""The forms inside a loader: `files`, `manifest`, `field`. Nothing is opened here.

Each form of a loader reports every mistake it has and gives its value as far as it is known.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from sexpgpu.compiler.frontend.builtin_call import BuiltinCall
from sexpgpu.compiler.frontend.contract_values import Batch, Field, Source
from sexpgpu.compiler.frontend.data import Keyword
from sexpgpu.compiler.frontend.ops.registry import Failed, op
from sexpgpu.compiler.frontend.ops.support.dtype import dtype_word
from sexpgpu.compiler.frontend.ops.support.staged import describe
from sexpgpu.compiler.frontend.values import POISON, Dim, Origin, origin_of
from sexpgpu.diagnostics import Edit, Fix, Label, did_you_mean, one_of
from sexpgpu.diagnostics.suggest import is_sure
from sexpgpu.runtime.dataio.encodings import ENCODINGS, encoding_of
from sexpgpu.runtime.dataio.spec import FilesSource, ManifestSource
from sexpgpu.runtime.dtypes import DTYPES

DATA = "data"
NO_GRAD = "none: it describes data"
UNKNOWN = "E-CONTRACT-003"


def integer_at_least(call: BuiltinCall, parameter: str, value: object, least: int, what: str) -> int | None:
    """The argument, or None after E-CONTRACT-008."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= least:
        return value
    if value is not POISON:
        call.report("E-CONTRACT-008", f"`:{parameter}` is {what}, not {describe(value)}", at=call.where(parameter),
                    label=f"this is {describe(value)}")
    return None


def boolean(call: BuiltinCall, parameter: str, value: object) -> bool:
    if not isinstance(value, bool) and value is not POISON and value is not None:
        call.report("E-TYPE-009", f"`:{parameter}` is `true` or `false`, not {describe(value)}",
                    at=call.where(parameter), label=f"this is {describe(value)}")
    return value is True


def word_of(call: BuiltinCall, parameter: str, value: object, what: str) -> str | None:
    """A string, or a keyword as its name."""
    if isinstance(value, Keyword):
        return value.name
    if isinstance(value, str) and value:
        return value
    if value is not POISON:
        call.report("E-TYPE-013", f"{what} is a string, not {describe(value)}", at=call.where(parameter),
                    label=f"this is {describe(value)}")
    return None


def _encoding(call: BuiltinCall, value: object) -> str | None:
    word = word_of(call, "encoding", value, "an encoding")
    if word is None or word in ENCODINGS:
        return word
    near = did_you_mean(word, ENCODINGS)
    call.report("E-CONTRACT-009", f"`{word}` is not an encoding that is read", at=call.where("encoding"),
                label="unknown encoding", fix=Fix(f"the encodings are {one_of(word, ENCODINGS)}",
                                                  (Edit(call.where("encoding"), f'"{near}"'),) if near else ()))
    return None


@op("files", "paths &key encoding", group=DATA, grad=NO_GRAD, by_name=False, poison="any", keyword_code=UNKNOWN,
    doc="Files in reading order, one path or URI a string; the encoding follows from the name unless it is given.")
def files(call: BuiltinCall, paths: object, encoding: object) -> object:
    given = _encoding(call, encoding) if call.given("encoding") and encoding is not None else None
    if call.given("encoding") and encoding is not None and given is None:
        return POISON
    if paths is POISON or (isinstance(paths, tuple) and POISON in paths):
        return POISON
    if not isinstance(paths, tuple):
        fix = "write `(files [\"…\"])`" if isinstance(paths, str) else None
        call.fail("E-TYPE-013", f"`files` takes a vector of paths, not {describe(paths)}", at=call.where("paths"),
                  label=f"this is {describe(paths)}", fix=fix)
    if not paths:
        call.fail("E-CONTRACT-006", "`files` names no file", at=call.where("paths"), label="an empty vector")
    groups: list[tuple[str, list[str]]] = []
    for path in paths:
        if not isinstance(path, str) or not path:
            call.fail("E-TYPE-013", f"a path is a string, not {describe(path)}", at=call.where("paths"),
                      label=f"holds {describe(path)}")
        code = given or encoding_of(path)
        if code is None:
            call.fail("E-CONTRACT-009", f"the encoding of `{path}` cannot be told from its name",
                      at=call.where("paths"), label="unknown encoding",
                      fix=f"name it: `:encoding \"parquet\"`; the encodings are {one_of(path, ENCODINGS)}")
        if groups and groups[-1][0] == code:
            groups[-1][1].append(path)
        else:
            groups.append((code, [path]))
    return Source(tuple([FilesSource(tuple(names), code) for code, names in groups]), None, call.span)


@op("manifest", "uri &key split weight encoding", group=DATA, grad=NO_GRAD, by_name=False, poison="any",
    keyword_code=UNKNOWN, doc="A data manifest: a list of files with their records, in a file or on S3.")
def manifest(call: BuiltinCall, uri: object, split: object, weight: object, encoding: object) -> object:
    where = word_of(call, "uri", uri, "the address of a manifest")
    part = word_of(call, "split", split, "the name of a split") if split is not None else None
    code = _encoding(call, encoding) if encoding is not None else None
    share: float | None = None
    if weight is not None and weight is not POISON:
        if isinstance(weight, bool) or not isinstance(weight, (int, float)) or not 0 <= weight < math.inf:
            call.report("E-CONTRACT-008", f"`:weight` is a number from 0 upwards, not {describe(weight)}",
                        at=call.where("weight"), label=f"this is {describe(weight)}")
            return POISON
        share = float(weight)
    if where is None or (encoding is not None and code is None) or (split is not None and part is None):
        return POISON
    return Source((ManifestSource(where, part, share, code),), share, call.span)


@op("field", "subject &optional name &key from dtype shape", group=DATA, grad=NO_GRAD, by_name=False, poison="any",
    keyword_code=UNKNOWN,
    doc="With a keyword, declares a field of a record: `(field :x :from \"column\" :dtype :f32 :shape [8])`. With a "
        "batch, reads one: `(field batch :x)`, shaped `[batch-size] ++ shape`.")
def field(call: BuiltinCall, subject: object, name: object, column: object, dtype: object, shape: object) -> object:
    if subject is POISON:
        return POISON
    if isinstance(subject, Batch):
        return _read(call, subject, name)
    if not isinstance(subject, (Keyword, str)):
        call.fail("E-TYPE-013", f"`field` takes a batch or a name, not {describe(subject)}", at=call.where("subject"),
                  label=f"this is {describe(subject)}",
                  fix="`(field batch :name)` reads a field, `(field :name …)` declares one")
    if call.given("name"):
        if isinstance(name, Keyword):
            call.fail("E-ARITY-004", f"`{name}` has no value after it", at=call.where("name"),
                      label="a value is missing")
        call.fail("E-ARITY-001", "`field` takes one name, and keywords with their values", at=call.where("name"),
                  label="one too many")
    word = subject.name if isinstance(subject, Keyword) else subject
    source = word_of(call, "from", column, "the name of a column") if call.given("from") else word
    element = DTYPES["f32"]
    if call.given("dtype") and dtype is not POISON:
        try:
            element = dtype_word(call, "dtype", dtype)
        except Failed:
            element = None
    if not call.absent("dtype") and not call.given("dtype"):
        element = None
    known = call.given("shape") or call.absent("shape")
    return Field(word, source or word, None if dtype is POISON else element,
                 _shape(call, word, shape) if known else None, call.span)


def _shape(call: BuiltinCall, name: str, shape: object) -> tuple[Dim, ...] | None:
    if shape is None or shape is POISON:
        return None if shape is POISON else ()
    if not isinstance(shape, tuple):
        fix = f"write `:shape [{int(shape)}]`" if isinstance(shape, int) and not isinstance(shape, bool) else None
        call.report("E-CONTRACT-008", f"`:shape` is a vector of sizes, not {describe(shape)}", at=call.where("shape"),
                    label=f"this is {describe(shape)}", fix=fix)
        return None
    if POISON in shape:
        return None
    dims = []
    for size in shape:
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            origin = origin_of(size)
            call.report("E-CONTRACT-008", f"a size in `:shape` is a positive integer, not {describe(size)}",
                        at=origin.span if origin and origin.span and origin.text.startswith("the number")
                        else call.where("shape"), label=f"holds {describe(size)}",
                        fix="shapes are static: every size is a number known at compile time")
            return None
        origin = origin_of(size)
        place = origin.span if origin else call.where("shape")
        dims.append(Dim(size, Origin(f"the field `:{name}`'s `:shape`", place)))
    return tuple(dims)


def _read(call: BuiltinCall, batch: Batch, name: object) -> object:
    if name is POISON:
        return POISON
    if not call.given("name"):
        call.fail("E-ARITY-002", "`field` of a batch is called without a name", label="a name is missing",
                  fix="write `(field batch :name)`")
    extra = next((p for p in ("from", "dtype", "shape") if call.given(p)), None)
    if extra:
        call.fail("E-ARITY-003", f"reading a field takes no `:{extra}`", at=call.keyword(extra),
                  label="unknown keyword", fix="the loader declares the field's dtype and shape")
    if not isinstance(name, (Keyword, str)):
        call.fail("E-TYPE-013", f"the name of a field is a keyword, not {describe(name)}", at=call.where("name"),
                  label=f"this is {describe(name)}")
    word = name.name if isinstance(name, Keyword) else name
    if word in batch.tensors:
        call.evaluator.fields_read.update(f.span for f in batch.loader.fields if f.name == word)
        return batch.tensors[word]
    if not batch.loader.complete:
        return POISON
    return _no_field(call, word, batch.loader.fields)


def _no_field(call: BuiltinCall, word: str, fields: Sequence[Field]) -> object:
    declared = [f":{f.name}" for f in fields]
    near = did_you_mean(f":{word}", declared)
    place = call.where("name")
    call.fail("E-CONTRACT-005", f"the batch has no field `:{word}`", label="no such field",
              secondary=[Label(fields[0].span.to(fields[-1].span), "the loader declares its fields here")]
              if fields else (),
              fix=Fix(f"the loader declares {one_of(f':{word}', declared)}", (Edit(place, near),) if near else (),
                      bool(near) and is_sure(f":{word}", near)))
