"""Known answers of the random bits, on every target that runs here, and that sites and steps never meet."""

from __future__ import annotations

import numpy as np
from iree.compiler import ir
from runner import Program
from sexpgpu.compiler import hlo
from sexpgpu.compiler.passes.build import compile_module
from sexpgpu.compiler.passes.iree.targets import parse_target
from staging import Stage
from threefry import initialiser_key, run_key, site_words, threefry, words

SITES = {0: (7,), 1: (), 5: (3, 3), 9: (2, 4, 1)}


def staged() -> Stage:
    """A training function that returns its bits through a buffer each, and an initialiser with a random site."""
    stage = Stage()
    with stage:
        with stage.function("train", "train", [hlo.tensor_type([1], "f32")]) as ((x,), results):
            w = stage.param("w", [1], lambda: hlo.convert(stage.bits(3, [1]), "f32"))
            for site, shape in SITES.items():
                for half, shift in (("low", 0), ("high", 16)):
                    stage.buffer(f"{site}.{half}", shape, lambda shape=shape: hlo.splat(0, shape, "f32"))
                    stage.update_buffer(f"{site}.{half}", _half(stage.bits(site, shape), shift))
            results.append(hlo.reduce(hlo.multiply(w, x), [0], "add"))
        stage.finish_inits()
        stage.sgd([("w", [1])])
        stage.manifest(schedules=[{"name": "lr", "export": None, "constant": 0.1}])
    return stage


def _half(bits: ir.Value, shift: int) -> ir.Value:
    """Sixteen bits, exact in an f32."""
    shape = hlo.shape_of(bits)
    part = hlo.and_(hlo.shift_right_logical(bits, hlo.splat(shift, shape, "ui32")), hlo.splat(0xFFFF, shape, "ui32"))
    return hlo.convert(hlo.convert(part, "i32"), "f32")


def test_the_reference_gives_the_authors_vectors() -> None:
    """Random123's kat_vectors, threefry2x32 with 20 rounds."""
    zeros = np.zeros((1, 2), np.uint32)
    assert [hex(v) for v in threefry((0, 0), zeros)[0]] == ["0x6b200159", "0x99ba4efe"]
    pi = np.array([[0x243F6A88, 0x85A308D3]], np.uint32)
    assert [hex(v) for v in threefry((0x13198A2E, 0x03707344), pi)[0]] == ["0xc4923a9c", "0x483df7a0"]


def test_bits_are_known() -> None:
    check_bits("cpu", "local-task")


def test_bits_are_known_on_vulkan(vulkan: str) -> None:
    check_bits("vulkan", vulkan)


def check_bits(target: str, driver: str) -> None:
    program = Program(compile_module(staged().module, parse_target(target)), driver)
    names = [r["name"] for r in program.manifest["state"]]
    program.call("init", np.array(42, np.int64))
    state = dict(zip(names, program.call("state_get"), strict=True))
    assert state["w"] == np.float32(words(initialiser_key(42, "w"), 3 << 32, 1))[0]
    for key in ([42, 0, 0, 0], [42, 7, 1, 3], [-1, 2 ** 40, 2, 1]):
        program.call("microbatch", np.zeros(1, np.float32), np.array(key, np.int64), np.array([0.1], np.float32))
        program.call("update", np.array([0.1], np.float32), np.array(1, np.float32))
        state = dict(zip(names, program.call("state_get"), strict=True))
        seed, *rest = key
        for site, shape in SITES.items():
            want = site_words(run_key(seed % 2 ** 64, *rest), 0, site, int(np.prod(shape))).reshape(shape)
            got = state[f"{site}.low"].astype(np.uint32) | state[f"{site}.high"].astype(np.uint32) << 16
            assert np.array_equal(got, want), (key, site)


def test_streams_do_not_meet() -> None:
    """Sites, steps, microbatches, ranks and passes: all words of small draws are different."""
    seen = [w for step in range(3) for microbatch in range(2) for rank in range(2) for domain in range(2)
            for site in range(3)
            for w in site_words(run_key(1, step, microbatch, rank), domain, site, 8).reshape(-1, 2).tolist()]
    assert len({tuple(pair) for pair in seen}) == len(seen)
