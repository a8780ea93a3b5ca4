"""What this machine's processor multiplies and adds at most: the ceiling under which kernels of products lie.

    python bench/peak.py [--threads 2] [--rounds 7]

Twelve sums in registers, each waiting for nothing but its own last value, for f32 in vectors of 32 and of 64 bytes;
where the processor has AMX, for bf16 in its tiles (four sums). Nothing is read from memory. One kernel each, in as many
pieces as there are threads, in turns; the best of the rounds, for it is a ceiling that is looked for.
"""

from __future__ import annotations

import argparse
import time

import iree.runtime as rt
from iree.compiler import ir
from sexpgpu.compiler.kernels import amx
from sexpgpu.compiler.kernels.code import Kernel
from sexpgpu.compiler.passes import functions as fn
from sexpgpu.compiler.passes.iree.driver import CompileOptions, features_of, generate
from sexpgpu.compiler.passes.iree.targets import parse_target
from sexpgpu.compiler.passes.kernel_calls import KernelCalls
from sexpgpu.runtime.session import Device

TIMES, SUMS = 1 << 22, 12
TARGET = parse_target("cpu")


def vectors(name: str, shape: tuple[int, int]) -> str:
    """`shape` is the number of pieces and of f32 in a vector."""
    pieces, lanes = shape
    k, kind = Kernel(name, (pieces,), [(pieces, lanes)]), f"vector<{lanes}xf32>"
    x = k.constant(f"dense<0.5> : {kind}")
    rounds = [f"%n{i}" for i in range(SUMS)]
    # No two are alike: of equal ones only one would be computed.
    begin = ", ".join(f"{n} = {k.constant(f'dense<{i}.0> : {kind}')}" for i, n in enumerate(rounds))
    k.write(f"%sums:{SUMS} = scf.for %i = {k.at(0)} to {k.at(TIMES)} step {k.at(1)} iter_args({begin}) -> "
            f"({', '.join([kind] * SUMS)}) {{")
    new = [k.name(f"vector.fma {n}, {x}, {x} : {kind}") for n in rounds]
    k.write(f"scf.yield {', '.join(new)} : {', '.join([kind] * SUMS)}\n}}")
    total = "%sums#0"
    for i in range(1, SUMS):
        total = k.name(f"arith.addf {total}, %sums#{i} : {kind}")
    k.write(f"vector.store {total}, {k.buffers[0].at((k.place[0], 0))} : {k.buffers[0].type}, {kind}")
    return k.text()


def tiles(name: str, shape: tuple[int, int]) -> str:
    pieces, _ = shape
    k = Kernel(name, (pieces,), [(pieces, amx.SIDE)])
    amx.begin(k)
    for n in range(8):
        amx.call(k, "tilezero", n)
    for _ in k.range(0, TIMES, 1):
        for n in range(4):
            amx.call(k, "tdpbf16ps", n, 4 + n // 2, 6 + n % 2)
    amx.end(k)
    return k.text()


def built(kernel: object, shape: tuple[int, int]) -> bytes:
    kind = f"tensor<{shape[0]}x{shape[1]}xf32>"
    text = f"func.func @f() -> {kind} {{\n%x = stablehlo.constant dense<0.0> : {kind}\nreturn %x : {kind} }}"
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        end = fn.terminator(fn.functions(module)[0])
        with ir.InsertionPoint(end):
            end.operands[0], = KernelCalls(module).call(kernel, shape, [], [list(shape)])
        return generate(module, TARGET, CompileOptions())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=7)
    chosen = parser.parse_args()
    has, device = features_of(TARGET), Device("local-task", chosen.threads)
    kinds = {"f32, vectors of 32 bytes": (vectors, 8, 2 * 8 * SUMS, "avx2" in has),
             "f32, vectors of 64 bytes": (vectors, 16, 2 * 16 * SUMS, "avx512f" in has),
             "bf16, tiles of AMX": (tiles, amx.SIDE, 4 * 2 * 16 * 16 * 32, "amx-bf16" in has)}
    kinds = {name: found for name, found in kinds.items() if found[-1]}
    programs, best = {}, dict.fromkeys(kinds, float("inf"))
    instance = rt.VmInstance()
    for name, (kernel, lanes, _, _) in kinds.items():
        module = rt.VmModule.copy_buffer(instance, built(kernel, (chosen.threads, lanes)))
        context = rt.VmContext(instance, [rt.create_hal_module(instance, device.hal), module])
        programs[name] = (context, module.lookup_function("f"))
    for _ in range(chosen.rounds):
        for name, (context, function) in programs.items():
            start = time.perf_counter()
            context.invoke(function, rt.VmVariantList(0), rt.VmVariantList(1))
            best[name] = min(best[name], time.perf_counter() - start)
    print(f"| {chosen.threads} threads | GFLOP/s |\n|---|---|")
    for name, (_, _, each, _) in kinds.items():
        print(f"| {name} | {each * TIMES * chosen.threads / best[name] / 1e9:.0f} |")


if __name__ == "__main__":
    main()
