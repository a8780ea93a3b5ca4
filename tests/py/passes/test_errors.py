"""What passes and the code generator say no to: codes, places, suggestions, the bundle of an internal error."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest
from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.passes.base import PassTextError, parse_pass
from sexpgpu.compiler.passes.build import build, run_pipeline
from sexpgpu.compiler.passes.iree.driver import CompileOptions, features_of, generate
from sexpgpu.compiler.passes.iree.errors import place_of
from sexpgpu.compiler.passes.iree.targets import parse_target
from sexpgpu.compiler.passes.pipeline import PASSES, Timing, run_pass
from sexpgpu.diagnostics import Diagnostic, SexpError, Span
from sexpgpu.runtime.processor import lacking
from staging import Stage


def diagnostics(call, *arguments: object) -> tuple[Diagnostic, ...]:
    with pytest.raises(SexpError) as raised:
        call(*arguments)
    return raised.value.diagnostics


def staged(loss) -> Stage:
    """An experiment of one parameter `w` [3] and one field; `loss(stage, w, x)` is its objective."""
    stage = Stage()
    with stage:
        with stage.function("train", "train", [hlo.tensor_type([3], "f32")]) as ((x,), results):
            w = stage.param("w", [3], lambda: hlo.splat(0, [3], "f32"))
            results.append(loss(stage, w, x))
        stage.finish_inits()
        stage.sgd([("w", [3])])
        stage.manifest(schedules=[{"name": "lr", "export": None, "constant": 0.1}])
    return stage


def total(x: ir.Value) -> ir.Value:
    return hlo.reduce(x, [0], "add")


# -- targets ----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize(("text", "kind", "driver"), [
    ("cpu", "cpu", "local-task"), ("cpu:x86-64-v3", "cpu", "local-task"), ("vulkan", "vulkan", "vulkan"),
    ("cuda", "cuda", "cuda"), ("cuda:sm_86", "cuda", "cuda"), ("cuda:sm_90", "cuda", "cuda")])
def test_targets(text: str, kind: str, driver: str) -> None:
    target = parse_target(text)
    assert (target.name, target.kind, target.driver) == (text, kind, driver)


def test_hopper_gets_older_code() -> None:
    target = parse_target("cuda:sm_90")
    assert "--iree-cuda-target=sm_89" in target.flags and target.detail == "sm_90 (PTX of sm_89)"


@pytest.mark.parametrize(("text", "code", "advice"), [
    ("vulcan", "E-TARGET-001", "did you mean `vulkan`"), ("cpu:zenver4", "E-TARGET-002", "did you mean `znver4`"),
    ("cuda:sm_81", "E-TARGET-003", "did you mean `sm_8"), ("", "E-TARGET-001", "`cpu`")])
def test_unknown_targets(text: str, code: str, advice: str) -> None:
    (found,) = diagnostics(parse_target, text)
    assert found.code == code and advice in found.fix.text


# -- derivatives ------------------------------------------------------------------------------------------------------

def test_no_rule() -> None:
    def loss(stage: Stage, w: ir.Value, x: ir.Value) -> ir.Value:
        with stage.at(7):
            w = hlo.make("stablehlo.custom_call", [w.type], [w], {
                "call_target_name": ir.StringAttr.get("mystery")}).result
        return total(hlo.multiply(w, x))

    (found,) = diagnostics(run_pipeline, staged(loss).module, None)
    assert found.code == "E-GRAD-001" and "custom_call @mystery" in found.message
    assert found.primary.span == Span("sample.sexp", 7, 3, 7, 20)


def test_every_missing_rule_is_told() -> None:
    def loss(stage: Stage, w: ir.Value, x: ir.Value) -> ir.Value:
        for line in (3, 4):
            with stage.at(line):
                w = hlo.make("stablehlo.custom_call", [w.type], [w], {
                    "call_target_name": ir.StringAttr.get("mystery")}).result
        return total(w)

    found = diagnostics(run_pipeline, staged(loss).module, None)
    assert [d.primary.span.line for d in found] == [3, 4]


def test_a_loss_that_reaches_nothing() -> None:
    def loss(stage: Stage, w: ir.Value, x: ir.Value) -> ir.Value:
        return total(hlo.add(hlo.marker("stop_gradient", [w], [w.type]).result, x))

    (found,) = diagnostics(run_pipeline, staged(loss).module, None)
    assert found.code == "E-GRAD-002"


def test_a_loop_without_a_known_length() -> None:
    def loss(stage: Stage, w: ir.Value, x: ir.Value) -> ir.Value:
        with stage.at(5):
            (w,) = hlo.while_([w], lambda c: hlo.compare("LT", total(c[0]), hlo.splat(9, [], "f32")),
                              lambda c: [hlo.add(c[0], x)])
        return total(w)

    (found,) = diagnostics(run_pipeline, staged(loss).module, None)
    assert found.code == "E-GRAD-003" and found.primary.span.line == 5


# -- what a target refuses --------------------------------------------------------------------------------------------

def half_dot(stage: Stage, w: ir.Value, x: ir.Value) -> ir.Value:
    with stage.at(9):
        half = [hlo.convert(v, "f16") for v in (w, x)]
        return hlo.convert(hlo.dot_general(*half, contract=([0], [0])), "f32")


def test_a_dtype_the_target_cannot_run() -> None:
    found = diagnostics(run_pipeline, staged(half_dot).module, parse_target("vulkan"))
    assert {d.code for d in found} == {"E-TARGET-004"}
    assert found[0].primary.span.line == 9 and "on f16" in found[0].message and "f32" in found[0].fix.text
    run_pipeline(staged(half_dot).module, parse_target("cpu"))


@pytest.mark.parametrize("op", ["tanh", "sine"])
def test_f64_functions_on_cpu(op: str, tmp_path: Path) -> None:
    """The table is true: the pass refuses what the code generator fails on."""
    text = f"""func.func @f(%x: tensor<16xf64>) -> tensor<16xf64> {{
      %0 = stablehlo.{op} %x : tensor<16xf64>
      return %0 : tensor<16xf64> }}"""
    (found,) = diagnostics(run_pass, "supported-cpu", text)
    assert found.code == "E-TARGET-004"
    with ir.Context():
        (failed,) = diagnostics(generate, ir.Module.parse(text), parse_target("cpu"), CompileOptions((), tmp_path))
    assert failed.code == "E-ICE-003"


# -- internal errors --------------------------------------------------------------------------------------------------

def test_a_bundle_reproduces_an_internal_error(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    text = """func.func @f(%x: tensor<16xf64>) -> tensor<16xf64> {
      %0 = stablehlo.tanh %x : tensor<16xf64> loc("a.sexp":3:4 to :9)
      return %0 : tensor<16xf64> }"""
    with ir.Context():
        (found,) = diagnostics(generate, ir.Module.parse(text), parse_target("cpu"), CompileOptions((), tmp_path))
    (bundle,) = tmp_path.iterdir()
    assert found.code == "E-ICE-003" and found.exit_code == 70 and str(bundle) in found.notes[-1]
    assert sorted(p.name for p in bundle.iterdir()) == ["flags.txt", "messages.txt", "module.mlir", "versions.txt"]
    assert "undefined symbol" in (bundle / "messages.txt").read_text()
    assert capfd.readouterr() == ("", "")


def test_a_failing_pass_is_ours() -> None:
    (found,) = diagnostics(run_pass, "optimizer", "module {}")
    assert found.code == "E-ICE-001"


def test_a_failed_build_leaves_nothing(tmp_path: Path) -> None:
    diagnostics(build, staged(half_dot).module, "vulkan", tmp_path / "model.vmfb")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("message", "span"), [
    ('"a b.sexp":3:4 to 5:6: error: no', Span("a b.sexp", 3, 4, 5, 6)),
    ('loc("a.sexp":3:4 to :9): error: no', Span("a.sexp", 3, 4, 3, 9)),
    ("a.sexp:3:4: error: no", Span("a.sexp", 3, 4, 3, 5)), ("-:1:61: failed", None), ("loc(unknown): no", None)])
def test_places_in_messages(message: str, span: Span | None) -> None:
    assert place_of(message) == span


# -- how passes are named and run -------------------------------------------------------------------------------------

@pytest.mark.parametrize(("text", "message"), [
    ("autodif", "did you mean `autodiff`"), ("autodiff{function=f rt=0}", "did you mean `wrt`"),
    ("autodiff{wrt=a}", "not of type"), ("autodiff{", "not of the form")])
def test_pass_texts(text: str, message: str) -> None:
    with pytest.raises(PassTextError, match=message):
        parse_pass(text, PASSES)


def test_printing_timing_and_stopping() -> None:
    printed: list[str] = []
    timings: list[Timing] = []
    module = staged(lambda stage, w, x: total(hlo.multiply(w, x))).module
    run_pipeline(module, None, print_after=["counters"], emit=lambda name, text: printed.append(name + text),
                 timings=timings, stop_after="autodiff")
    assert [t.name for t in timings] == ["parameters", "random", "counters", "autodiff"]
    assert printed[0].startswith("counters") and "func.func private @train" in printed[0]


def test_every_pass_has_a_summary() -> None:
    assert all(p.summary and p.name == name for name, p in PASSES.items())


# -- processors -------------------------------------------------------------------------------------------------------

# Processors are named for the architecture that builds (`targets.py`): elsewhere these are E-TARGET-002.
@pytest.mark.skipif(platform.machine() != "x86_64", reason="processors of another architecture are not offered")
def test_features_of_a_processor() -> None:
    """As LLVM documents the levels of x86-64; of this machine what the system says, so that it runs here."""
    level3 = set(features_of(parse_target("cpu:x86-64-v3")))
    assert {"avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"} <= level3 and "avx512f" not in level3
    level4 = set(features_of(parse_target("cpu:x86-64-v4")))
    assert level4 - level3 == {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}
    assert not features_of(parse_target("cpu:x86-64")) and not features_of(parse_target("vulkan"))
    here = features_of(parse_target("cpu"))
    assert here and lacking(here) == ()
