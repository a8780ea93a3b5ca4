"""Plists at compile time: lists of keywords and values in turn. Each function gives a new list."""

from __future__ import annotations

from collections.abc import Sequence

from sexpgpu.compiler.frontend.builtin_call import BuiltinCall
from sexpgpu.compiler.frontend.data import Keyword
from sexpgpu.compiler.frontend.ops.lists import COMPILE_TIME, LISTS, a_list
from sexpgpu.compiler.frontend.ops.registry import Call, op
from sexpgpu.compiler.frontend.ops.support.staged import describe
from sexpgpu.compiler.frontend.values import POISON, Ctx, is_plist, plist_items
from sexpgpu.diagnostics import Edit, Fix, did_you_mean, one_of


def a_plist(call: Call, parameter: str, value: object, index: int | None = None) -> tuple:
    found = a_list(call, parameter, value, index)
    if is_plist(found):
        return found
    call.fail("E-TYPE-013", f"`{call.op.name}` takes a plist, and this list is none", at=call.where(parameter, index),
              label="not keywords and values in turn", fix="a plist is written `(list :name value …)`")


@op("get", "plist key &optional default", group=LISTS, grad=COMPILE_TIME, by_name=False, poison="inside",
    doc="The value of a key in a plist, or of `ctx`; the default, where one is given, when there is no such key.")
def get(call: BuiltinCall, plist: object, key: object, default: object) -> object:
    if not isinstance(key, Keyword):
        call.fail("E-TYPE-013", f"`get` takes a keyword, not {describe(key)}", at=call.where("key"),
                  label=f"this is {describe(key)}",
                  fix="`nth` reads a list by index" if isinstance(key, int) else None)
    if isinstance(plist, Ctx):
        return _of_ctx(call, plist, key)
    found = a_plist(call, "plist", plist)
    for name, value in plist_items(found):
        if name == key.name:
            return value
    if call.given("default"):
        return default
    keys = [f":{name}" for name, _ in plist_items(found)]
    if any(value is POISON for _, value in plist_items(found)):
        return POISON
    near = did_you_mean(str(key), keys)
    call.fail("E-VALUE-006", f"the plist has no key `{key}`", at=call.where("key"), label="no such key",
              fix=Fix(f"it has {one_of(str(key), keys)}" if keys else "the plist is empty; give a default",
                      (Edit(call.where("key"), near),) if near else ()))


def _of_ctx(call: Call, ctx: Ctx, key: Keyword) -> object:
    value = ctx.values.get(key.name)
    if value is not None:
        return value
    if not ctx.complete:
        return POISON  # a counter that is wrong, and reported, may be what is asked for
    keys = [f":{name}" for name in ctx.values]
    near = did_you_mean(str(key), keys)
    call.fail("E-CONTRACT-016", f"`ctx` has no key `{key}`", at=call.where("key"), label="no such key",
              fix=Fix(f"it has {one_of(str(key), keys)}", (Edit(call.where("key"), near),) if near else ()))


@op("assoc", "plist key value", group=LISTS, grad=COMPILE_TIME, by_name=False, poison="inside",
    doc="The plist with one key set to a value.")
def assoc(call: Call, plist: object, key: object, value: object) -> tuple:
    if not isinstance(key, Keyword):
        call.fail("E-TYPE-013", f"`assoc` takes a keyword, not {describe(key)}", at=call.where("key"),
                  label=f"this is {describe(key)}")
    return _merged([a_plist(call, "plist", plist), (key, value)])


@op("merge", "&rest plists", group=LISTS, doc="One plist of the keys of all; of two equal keys the later one counts.",
    grad=COMPILE_TIME, poison="inside")
def merge(call: Call, plists: tuple) -> tuple:
    return _merged([a_plist(call, "plists", part, i) for i, part in enumerate(plists)])


def _merged(plists: Sequence[tuple]) -> tuple:
    found: dict[str, object] = {}
    for part in plists:
        found.update(plist_items(part))
    return tuple([x for name, value in found.items() for x in (Keyword(name), value)])


@op("keys", "plist", group=LISTS, doc="The keys of a plist.", grad=COMPILE_TIME, poison="inside")
def keys(call: Call, plist: object) -> tuple:
    return tuple(a_plist(call, "plist", plist)[::2])


@op("vals", "plist", group=LISTS, doc="The values of a plist.", grad=COMPILE_TIME, poison="inside")
def vals(call: Call, plist: object) -> tuple:
    return tuple(a_plist(call, "plist", plist)[1::2])
