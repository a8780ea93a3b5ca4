"""`loader` and `stage`: where records come from, and in which stages."""

from __future__ import annotations

from sexpgpu.compiler.frontend.builtin_call import BuiltinCall
from sexpgpu.compiler.frontend.contract_values import Field, Loader, Source, Stage
from sexpgpu.compiler.frontend.ops.data_forms import DATA, NO_GRAD, UNKNOWN, boolean, integer_at_least, word_of
from sexpgpu.compiler.frontend.ops.registry import op
from sexpgpu.compiler.frontend.ops.support.staged import describe
from sexpgpu.compiler.frontend.values import POISON, Dim, Origin
from sexpgpu.diagnostics import Label


@op("loader", "&key sources stages fields batch-size shuffle infinite", group=DATA, grad=NO_GRAD, by_name=False,
    poison="any", keyword_code=UNKNOWN,
    doc="Where records come from: `:sources` (with `:shuffle`, `:infinite`) or `:stages`, the `:fields` of a record "
        "and the `:batch-size`.")
def loader(call: BuiltinCall, sources: object, stages: object, fields: object, batch_size: object, shuffle: object,
           infinite: object) -> Loader:
    found_fields, fields_known = _fields(call, fields)
    size = None
    if call.given("batch-size"):
        size = integer_at_least(call, "batch-size", batch_size, 1, "a positive integer")
    elif call.absent("batch-size"):
        call.report("E-CONTRACT-008", "the loader has no `:batch-size`", label="no `:batch-size`",
                    fix="give the number of rows of a batch: `:batch-size 32`")
    found_stages, stages_known = _stages(call, sources, stages, shuffle, infinite)
    if size is not None:
        size = Dim(size, Origin("the `:batch-size` of the loader", call.where("batch-size")))
    return Loader(found_fields, found_stages, size, fields_known and stages_known and size is not None, call.span)


def _fields(call: BuiltinCall, fields: object) -> tuple[tuple[Field, ...], bool]:
    if not call.given("fields") or fields is None or fields == ():
        if not call.given("fields") and not call.absent("fields"):
            return (), False
        what = "no" if not call.given("fields") else "empty"
        call.report("E-CONTRACT-007", f"the loader has {what} `:fields`",
                    at=call.where("fields") if call.given("fields") else None, label=f"{what} `:fields`",
                    fix="declare what a record holds: `:fields [(field :x :dtype :f32 :shape [8])]`")
        return (), False
    if not isinstance(fields, tuple):
        if fields is not POISON:
            call.report("E-CONTRACT-007", f"`:fields` is a vector of `(field …)`, not {describe(fields)}",
                        at=call.where("fields"), label=f"this is {describe(fields)}")
        return (), False
    found: dict[str, Field] = {}
    known = True
    for item in fields:
        if not isinstance(item, Field):
            known = False
            if item is not POISON:
                call.report("E-CONTRACT-007", f"`:fields` holds {describe(item)}", at=call.where("fields"),
                            label="not all of these are `(field …)`")
            continue
        known = known and item.dtype is not None and item.shape is not None
        if item.name in found:
            known = False
            call.report("E-CONTRACT-007", f"the field `:{item.name}` stands twice", at=item.span,
                        label="the second one", secondary=[Label(found[item.name].span, "the first one")])
        else:
            found[item.name] = item
    return tuple(found.values()), known


def _stages(call: BuiltinCall, sources: object, stages: object, shuffle: object, infinite: object
            ) -> tuple[tuple[Stage, ...], bool]:
    given = [name for name in ("sources", "stages") if call.given(name)]
    rows = 0
    if call.given("shuffle") and shuffle is not None:
        rows = integer_at_least(call, "shuffle", shuffle, 0, "a number of rows") or 0
    endless = boolean(call, "infinite", infinite)
    if not given and not (call.absent("sources") and call.absent("stages")):
        return (), False
    if not given:
        call.report("E-CONTRACT-006", "the loader has neither `:sources` nor `:stages`", label="nothing to read from",
                    fix="say where records come from: `:sources [(files [\"data/train.parquet\"])]`")
        return (), False
    if len(given) == 2:
        call.report("E-CONTRACT-006", "the loader has both `:sources` and `:stages`", at=call.keyword("stages"),
                    label="`:stages` as well", secondary=[Label(call.keyword("sources"), "`:sources`")],
                    fix="`:sources` describes one stage; with `:stages`, each stage has its own")
        return (), False
    if given == ["sources"]:
        found = _sources(call, sources)
        return (Stage("main", found, rows, endless, call.span, call.span),), bool(found) and POISON not in found
    for name in ("shuffle", "infinite"):
        if call.given(name):
            call.report("E-CONTRACT-006", f"the loader has `:stages` and `:{name}`", at=call.keyword(name),
                        label=f"`:{name}` describes a single stage", fix=f"give `:{name}` to each `(stage …)`")
    if not isinstance(stages, tuple) or not stages:
        if stages is not POISON:
            what = "empty" if stages in ((), None) else f"{describe(stages)}, not a vector of `(stage …)`"
            call.report("E-CONTRACT-006", f"`:stages` is {what}", at=call.where("stages"), label="no stages")
        return (), False
    names: dict[str, Stage] = {}
    known = True
    for item in stages:
        if not isinstance(item, Stage):
            known = False
            if item is not POISON:
                call.report("E-CONTRACT-006", f"`:stages` holds {describe(item)}", at=call.where("stages"),
                            label="not all of these are `(stage …)`")
        elif item.name in names:
            known = False
            call.report("E-CONTRACT-015", f"two stages are called `{item.name}`", at=item.name_span,
                        label="the second one", secondary=[Label(names[item.name].name_span, "the first one")])
        else:
            names[item.name] = item
            known = known and bool(item.sources)
    return tuple(names.values()), known


def _sources(call: BuiltinCall, sources: object) -> tuple[Source, ...]:
    """The sources of a stage; empty where they are wrong. All have weights, or none has."""
    if not isinstance(sources, tuple) or not sources:
        if sources is not POISON:
            single = isinstance(sources, Source)
            what = "empty" if sources in ((), None) else (
                f"{'one source' if single else describe(sources)}, not a vector of them")
            call.report("E-CONTRACT-006", f"`:sources` is {what}", at=call.where("sources"),
                        label="nothing to read from", fix="write `:sources [(files [\"data/train.parquet\"])]`")
        return ()
    wrong = [item for item in sources if not isinstance(item, Source)]
    for item in wrong:
        if item is not POISON:
            path = describe(item).removeprefix("the string ") if isinstance(item, str) else '"data/train.parquet"'
            call.report("E-CONTRACT-006", f"`:sources` holds {describe(item)}", at=call.where("sources"),
                        label="not all of these are `(files …)` or `(manifest …)`",
                        fix=f"write `:sources [(files [{path}])]`")
    if wrong:
        return ()
    weighted = [s for s in sources if s.weight is not None]
    if weighted and len(weighted) < len(sources):
        bare = next(s for s in sources if s.weight is None)
        call.report("E-CONTRACT-008", "some sources of the stage have a `:weight` and some have none", at=bare.span,
                    label="no `:weight`", secondary=[Label(weighted[0].span, "has a `:weight`")],
                    fix="weigh all sources of a stage, or none; only a `manifest` has a `:weight`")
        return ()
    if weighted and not any(s.weight for s in weighted):
        call.report("E-CONTRACT-008", "every source of the stage has the weight 0", at=call.where("sources"),
                    label="nothing would be read")
        return ()
    return sources


@op("stage", "&key (name main) sources shuffle infinite", group=DATA, grad=NO_GRAD, by_name=False, poison="any",
    keyword_code=UNKNOWN, doc="One stage of a loader, for a curriculum to move to.")
def stage(call: BuiltinCall, name: object, sources: object, shuffle: object, infinite: object) -> object:
    word = word_of(call, "name", name, "the name of a stage")
    rows = 0
    if call.given("shuffle") and shuffle is not None:
        rows = integer_at_least(call, "shuffle", shuffle, 0, "a number of rows") or 0
    endless = boolean(call, "infinite", infinite)
    found: tuple[Source, ...] = ()
    if call.given("sources"):
        found = _sources(call, sources)
    else:
        call.report("E-CONTRACT-006", "the stage has no `:sources`", label="nothing to read from",
                    fix="say where records come from: `:sources [(files [\"data/train.parquet\"])]`")
    return POISON if word is None else Stage(word, found, rows, endless, call.span, call.where("name"))
