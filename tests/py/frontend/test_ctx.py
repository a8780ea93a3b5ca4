"""Schedules and the curriculum: functions of `ctx` as scalar code, run here against Python."""

import pytest
from frontend_support import check_text, experiment
from iree.compiler import ir

LOADER = """(defvar train-loader
  (loader :stages [(stage :name "easy" :sources [(files ["a.parquet"])])
                   (stage :name "hard" :sources [(files ["a.parquet"])])]
          :fields [(field :x :shape [3]) (field :y)] :batch-size 4))"""
PREPARE = '(defun prepare (batch) (counter :n 4) (list :inputs (field batch :x) :targets (field batch :y)))'


def text(rate: str = "0.1", curriculum: str = '"easy"') -> str:
    return experiment(
        train_loader=LOADER, prepare=PREPARE,
        optimizer=f"""(defvar optimizer (optimizer :hyper (list :lr (fn (ctx) {rate}))
          :update (fn (p g s hyper) (list :param (- p (* (get hyper :lr) g)) :state s))))""",
        extra=f"(defun curriculum (ctx) {curriculum})")


def run(function: ir.Operation, arguments: dict[int, float]) -> float:
    """A direct interpreter of the scalar dialects, for the operations that the tests use."""
    block = function.regions[0].blocks[0]
    values = {a: arguments.get(i, 0) for i, a in enumerate(block.arguments)}
    return _block(block, values)[0]


_BINARY = {"addi": lambda a, b: a + b, "addf": lambda a, b: a + b, "muli": lambda a, b: a * b,
           "mulf": lambda a, b: a * b, "subf": lambda a, b: a - b, "subi": lambda a, b: a - b,
           "divf": lambda a, b: a / b, "andi": lambda a, b: a and b, "ori": lambda a, b: a or b,
           "xori": lambda a, b: a != b}
_COMPARE = [lambda a, b: a == b, lambda a, b: a != b, lambda a, b: a < b, lambda a, b: a <= b, lambda a, b: a > b,
            lambda a, b: a >= b]
_FLOATS = {1: 0, 2: 4, 3: 5, 4: 2, 5: 3, 13: 1}


def _block(block, values):
    for op in block.operations:
        name, operands = op.operation.name.split(".")[1], [values[v] for v in op.operation.operands]
        if name in ("return", "yield"):
            return operands
        if name == "constant":
            attribute = op.operation.attributes["value"]
            results = [float(ir.FloatAttr(attribute).value) if isinstance(attribute, ir.FloatAttr)
                       else bool(ir.BoolAttr(attribute).value) if isinstance(attribute, ir.BoolAttr)
                       else int(ir.IntegerAttr(attribute).value)]
        elif name == "if":
            results = _block(op.operation.regions[0 if operands[0] else 1].blocks[0], values)
        elif name == "select":
            results = [operands[1] if operands[0] else operands[2]]
        elif name in ("cmpi", "cmpf"):
            predicate = ir.IntegerAttr(op.operation.attributes["predicate"]).value
            results = [_COMPARE[predicate if name == "cmpi" else _FLOATS[predicate]](*operands)]
        elif name == "sitofp":
            results = [float(operands[0])]
        elif name in ("extui", "optimization_barrier"):
            results = [int(operands[0])]
        else:
            results = [_BINARY[name](*operands)]
        values.update(zip(op.operation.results, results, strict=True))
    raise AssertionError("no terminator")


#: The places of the keys among the arguments.
STEP, STEPS, PROGRESS, STAGE, LOSS, N, STAGE_N = 0, 1, 2, 3, 7, 8, 9


@pytest.mark.parametrize(("rate", "ctx", "expected"), [
    ("(* 0.5 (get ctx :step))", {STEP: 4}, 2.0),
    ("(get ctx :n)", {N: 2**40}, float(2**40)),
    ("(/ (get ctx :step) (get ctx :steps))", {STEP: 1, STEPS: 4}, 0.25),
    ("(if (< (get ctx :step) 10) (get ctx :step) 0.5)", {STEP: 3}, 3.0),
    ("(if (< (get ctx :step) 10) (get ctx :step) 0.5)", {STEP: 12}, 0.5),
    ("(cond ((< (get ctx :step) 2) 1) ((< (get ctx :step) 4) 2) (else 3.5))", {STEP: 3}, 2.0),
    ("(if (and (> (get ctx :step) 1) (< (get ctx :progress) 0.5)) 1 2)", {STEP: 2, PROGRESS: 0.25}, 1.0),
    ("(if (or (> (get ctx :step) 1) (< (get ctx :progress) 0.5)) 1 2)", {STEP: 0, PROGRESS: 0.75}, 2.0),
    ("(if (not (= (get ctx :step) 1)) 1 2)", {STEP: 1}, 2.0),
    ("(case (get ctx :step) ((0 1) 10) (2 20) (else 30))", {STEP: 2}, 20.0),
    ("(first (if (> (get ctx :loss) 1.0) (list 1 2) (list 3 4)))", {LOSS: 0.5}, 3.0),
    ("(let ((warm (if (< (get ctx :step) 4) 0.25 1.0))) (* warm 8))", {STEP: 0}, 2.0),
    ("0.125", {}, 0.125),
])
def test_schedules(tmp_path, rate, ctx, expected):
    staged, diagnostics = check_text(text(rate=rate), tmp_path)
    assert diagnostics == []
    function = next(op.operation for op in staged.module.body.operations
                    if ir.StringAttr(op.attributes["sym_name"]).value == "ctx.lr")
    assert run(function, ctx) == expected


@pytest.mark.parametrize(("curriculum", "ctx", "expected"), [
    ('"hard"', {}, 1),
    ('(if (< (get ctx :stage-n) 10) "easy" "hard")', {STAGE_N: 3}, 0),
    ('(if (< (get ctx :stage-n) 10) "easy" "hard")', {STAGE_N: 10}, 1),
    ('(if (< (get ctx :step) 10) "hard" (if (< (get ctx :step) 20) "easy" "hard"))', {STEP: 5}, 1),
    ('(if (< (get ctx :step) 10) "hard" (if (< (get ctx :step) 20) "easy" "hard"))', {STEP: 15}, 0),
    ("(get ctx :stage)", {STAGE: 1}, 1),
    ('(if (> (get ctx :loss) 1.0) (get ctx :stage) "hard")', {STAGE: 0, LOSS: 0.5}, 1),
])
def test_curriculum(tmp_path, curriculum, ctx, expected):
    staged, diagnostics = check_text(text(curriculum=curriculum), tmp_path)
    assert diagnostics == []
    function = next(op.operation for op in staged.module.body.operations
                    if ir.StringAttr(op.attributes["sym_name"]).value == "ctx.curriculum")
    assert run(function, ctx) == expected


@pytest.mark.parametrize(("parts", "code"), [
    ({"rate": "(get ctx :stpe)"}, "E-CONTRACT-016"), ({"rate": "(get ctx :tokens)"}, "E-CONTRACT-016"),
    ({"rate": '"high"'}, "E-CONTRACT-023"), ({"rate": "nil"}, "E-CONTRACT-023"),
    ({"rate": "(> (get ctx :step) 1)"}, "E-CONTRACT-023"),
    ({"rate": '(if (> (get ctx :step) 1) 1.0 "a")'}, "E-TYPE-014"),
    ({"rate": "(if (get ctx :step) 1 2)"}, "E-TYPE-009"),
    ({"rate": "(first [])"}, "E-VALUE-001"),
    ({"curriculum": '"medium"'}, "E-CONTRACT-015"), ({"curriculum": "3"}, "E-CONTRACT-023"),
    ({"curriculum": '(if (> (get ctx :step) 3) "easy" "hrd")'}, "E-CONTRACT-015"),
    ({"curriculum": "(get ctx :step)"}, "E-CONTRACT-023"),
])
def test_wrong(found, parts, code):
    assert found(text(**parts)) == [code]


def test_the_list_of_keys_has_the_counters(tmp_path):
    _, diagnostics = check_text(text(rate="(get ctx :m)"), tmp_path)
    assert "`:stage-n`" in diagnostics[0].fix.text


def test_a_wrong_counter_is_no_unknown_key(tmp_path):
    prepare = PREPARE.replace("(counter :n 4)", "(counter :n (field batch :x))")
    _, diagnostics = check_text(text(rate="(get ctx :n)").replace(PREPARE, prepare), tmp_path)
    assert [d.code for d in diagnostics] == ["E-CONTRACT-011"]
