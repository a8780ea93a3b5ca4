"""What the compiler looks for in an experiment: every way to get it wrong has its code and its place."""

import pytest
from frontend_support import PARTS, check_text, experiment

LOADER = "(defvar train-loader (loader {}))"
GOOD = {
    "sources": ':sources [(files ["a.parquet"])]', "fields": ":fields [(field :x :shape [3]) (field :y)]",
    "size": ":batch-size 4",
}


def loader(**parts: str) -> str:
    return experiment(train_loader=LOADER.format(" ".join(v for v in {**GOOD, **parts}.values() if v)))


def test_the_skeleton_is_clean(found):
    assert found(experiment()) == []
    assert found(loader()) == []


@pytest.mark.parametrize("name", list(PARTS))
def test_missing(tmp_path, name):
    staged, diagnostics = check_text(experiment(**{name.replace("-", "_"): None}), tmp_path)
    assert staged is None
    assert [d.code for d in diagnostics] == ["E-CONTRACT-001"]
    assert f"`{name}`" in diagnostics[0].message
    assert diagnostics[0].primary.span.line == 1


KINDS = [
    ("train_loader", "(defun train-loader () (loader))"), ("train_loader", "(defvar train-loader 3)"),
    ("prepare", "(defvar prepare 3)"), ("prepare", "(defun prepare () 3)"), ("prepare", "(defun prepare (a b) 3)"),
    ("model", "(defvar model :none)"), ("objective", "(defun objective (o) o)"), ("model", "(defmacro model (x) x)"),
    ("objective", "(defun objective (a b c d) a)"), ("optimizer", "(defvar optimizer 0.1)"),
    ("optimizer", "(defun optimizer () 1)"),
]


@pytest.mark.parametrize(("part", "text"), KINDS, ids=[t for _, t in KINDS])
def test_wrong_kind(found, part, text):
    assert "E-CONTRACT-002" in found(experiment(**{part: text}))


EXTRA_KINDS = ["(defun eval-prepare () 1)", "(defun evaluate (o) o)", "(defvar evaluations 3)",
               "(defun curriculum () 1)", "(defvar precision :f32)", "(defvar run 3)", "(defvar evaluations [1])"]


@pytest.mark.parametrize("text", EXTRA_KINDS)
def test_wrong_optional_kind(found, text):
    assert found(experiment(extra=text)) == ["E-CONTRACT-002"]


LOADERS = [
    ("E-CONTRACT-003", {"more": ":num-workers 4"}), ("E-CONTRACT-006", {"sources": ""}),
    ("E-CONTRACT-006", {"sources": ":sources []"}), ("E-CONTRACT-006", {"sources": ":stages []"}),
    ("E-CONTRACT-006", {"more": ':stages [(stage :sources [(files ["b.parquet"])])]'}),
    ("E-CONTRACT-006", {"sources": ':stages [(stage :sources [(files ["b.parquet"])])]', "more": ":shuffle 3"}),
    ("E-CONTRACT-006", {"sources": ':stages [(stage :sources [(files ["b.parquet"])])]', "more": ":infinite true"}),
    ("E-CONTRACT-006", {"sources": ':stages [(stage :name "a")]'}),
    ("E-CONTRACT-007", {"fields": ""}), ("E-CONTRACT-007", {"fields": ":fields []"}),
    ("E-CONTRACT-007", {"fields": ":fields [(field :x :shape [3]) (field :y) (field :x)]"}),
    ("E-CONTRACT-007", {"fields": ":fields [:x]"}), ("E-CONTRACT-007", {"fields": ":fields (field :x)"}),
    ("E-CONTRACT-008", {"size": ""}), ("E-CONTRACT-008", {"size": ":batch-size 0"}),
    ("E-CONTRACT-008", {"size": ":batch-size 2.0"}), ("E-CONTRACT-008", {"size": ":batch-size true"}),
    ("E-CONTRACT-008", {"more": ":shuffle -1"}), ("E-CONTRACT-008", {"more": ":shuffle true"}),
    ("E-CONTRACT-008", {"fields": ":fields [(field :x :shape [3]) (field :y :shape [-1])]"}),
    ("E-CONTRACT-008", {"fields": ":fields [(field :x :shape [3]) (field :y :shape [0])]"}),
    ("E-CONTRACT-008", {"fields": ":fields [(field :x :shape [3]) (field :y :shape 3)]"}),
    ("E-TYPE-001", {"fields": ":fields [(field :x :shape [3]) (field :y :dtype :float)]"}),
    ("E-CONTRACT-003", {"fields": ":fields [(field :x :shape [3]) (field :y :colum \"y\")]"}),
    ("E-ARITY-004", {"fields": ":fields [(field :x :shape [3]) (field :y :from)]"}),
    ("E-CONTRACT-009", {"sources": ':sources [(files ["a.csv"])]'}),
    ("E-CONTRACT-009", {"sources": ':sources [(files ["a.parquet"] :encoding "csv")]'}),
    ("E-CONTRACT-003", {"sources": ':sources [(files ["a.parquet"] :weight 2)]'}),
    ("E-CONTRACT-003", {"sources": ':sources [(manifest "m.json" :shuffle 2)]'}),
    ("E-CONTRACT-008", {"sources": ':sources [(manifest "m.json" :weight 2) (manifest "n.json")]'}),
    ("E-CONTRACT-008", {"sources": ':sources [(manifest "m.json" :weight -2)]'}),
    ("E-CONTRACT-008", {"sources": ':sources [(manifest "m.json" :weight 0)]'}),
    ("E-CONTRACT-006", {"sources": ":sources [(files [])]"}),
    ("E-TYPE-013", {"sources": ':sources [(files "a.parquet")]'}),
    ("E-TYPE-009", {"more": ":infinite 1"}),
    ("E-CONTRACT-015", {"sources": ':stages [(stage :name "a" :sources [(files ["b.parquet"])]) '
                                   '(stage :name "a" :sources [(files ["b.parquet"])])]'}),
    ("E-CONTRACT-015", {"sources": ':stages [(stage :name "a" :sources [(files ["b.parquet"])]) '
                                   '(stage :name "b" :sources [(files ["b.parquet"])])]'}),
]


@pytest.mark.parametrize(("code", "parts"), LOADERS, ids=[" ".join(p.values()) for _, p in LOADERS])
def test_loader(found, code, parts):
    assert set(found(loader(**parts))) == {code}


@pytest.mark.parametrize("name", ["parquet", "jsonl.gz", "msgpack.zstf", "jsonl", "jsonl.zst", "msgpack",
                                  "msgpack.zst"])
def test_encodings(checked, name):
    sources = f':sources [(files ["s3://b/a.{name}"]) (files ["x"] :encoding :{name})]'
    staged, diagnostics = checked(loader(sources=sources))
    assert diagnostics == []
    sources = staged.manifest["loader"]["stages"][0]["sources"]
    assert [s["encoding"] for s in sources] == [name, name]


def test_files_of_several_encodings_keep_their_order(checked):
    staged, _ = checked(loader(sources=':sources [(files ["a.parquet" "b.jsonl" "c.jsonl" "d.parquet"])]'))
    assert [s["paths"] for s in staged.manifest["loader"]["stages"][0]["sources"]] == [
        ["a.parquet"], ["b.jsonl", "c.jsonl"], ["d.parquet"]]


def test_a_loader_shows_all_its_mistakes_and_the_models(tmp_path):
    text = experiment(train_loader="(defvar train-loader (loader :fields [(field :x :shape [3]) (field :y :dtype :x9)] "
                                   ":batch-size -1 :wrkers 2))",
                      model='(defun model (x) (matmul (ones [2 3]) (ones [4 5])))')
    assert sorted(d.code for d in check_text(text, tmp_path)[1]) == [
        "E-CONTRACT-003", "E-CONTRACT-006", "E-CONTRACT-008", "E-SHAPE-002", "E-TYPE-001"]


PREPARE = [
    ("(field batch :x)", "E-CONTRACT-004"), ("nil", "E-CONTRACT-004"),
    ("(list :inputs (field batch :x))", "E-CONTRACT-004"),
    ("(list :inputs 3 :targets (field batch :y))", "E-CONTRACT-004"),
    ("(list :inputs [] :targets (field batch :y))", "E-CONTRACT-004"),
    ("(list :inputs (field batch :z) :targets (field batch :y))", "E-CONTRACT-005"),
    ("(list :inputs (field batch) :targets (field batch :y))", "E-ARITY-002"),
    ("(list :inputs (field 3 :x) :targets (field batch :y))", "E-TYPE-013"),
    ("(list :inputs (field batch :x :dtype :f32) :targets (field batch :y))", "E-ARITY-003"),
    ("(list :inputs [(field batch :x) (field batch :x)] :targets (field batch :y))", "E-CONTRACT-013"),
    ("(counter :records 1) (list :inputs (field batch :x) :targets (field batch :y))", "E-CONTRACT-011"),
    ("(counter :stage-x 1) (list :inputs (field batch :x) :targets (field batch :y))", "E-CONTRACT-011"),
    ("(counter :loss 1) (list :inputs (field batch :x) :targets (field batch :y))", "E-CONTRACT-011"),
    ("(counter :a 1) (counter :a 2) (list :inputs (field batch :x) :targets (field batch :y))", "E-CONTRACT-011"),
    ("(counter :a (field batch :y)) (list :inputs (field batch :x) :targets (field batch :y))", "E-CONTRACT-011"),
    ("(metric :loss 1.0) (list :inputs (field batch :x) :targets (field batch :y))", "E-CONTRACT-017"),
    ("(metric :m 1.0) (metric :m 1.0) (list :inputs (field batch :x) :targets (field batch :y))", "E-CONTRACT-017"),
    ("(metric :m (field batch :y)) (list :inputs (field batch :x) :targets (field batch :y))", "E-CONTRACT-017"),
    ("(metric :m 1.0 :reduce :median) (list :inputs (field batch :x) :targets (field batch :y))", "E-CONTRACT-017"),
    ("(metric :m 1.0 :reduce :sum :weight 1) (list :inputs (field batch :x) :targets (field batch :y))",
     "E-CONTRACT-017"),
    ("(metric :m 1.0 :reduc :sum) (list :inputs (field batch :x) :targets (field batch :y))", "E-ARITY-003"),
    ('(param "w" [3]) (list :inputs (field batch :x) :targets (field batch :y))', "E-CONTRACT-020"),
    ("(if (> (sum (field batch :y)) 0.0) (metric :m 1.0)) (list :inputs (field batch :x) :targets (field batch :y))",
     "E-CONTRACT-020"),
]


@pytest.mark.parametrize(("body", "code"), PREPARE, ids=[b for b, _ in PREPARE])
def test_prepare(found, body, code):
    # That a metric is constant is a warning of its own.
    assert [c for c in found(experiment(prepare=f"(defun prepare (batch) {body})")) if c != "W-CONTRACT-027"] == [code]


MODELS = [
    ("(param 3 [3])", "E-CONTRACT-025"), ('(param "w" 3)', "E-CONTRACT-025"), ('(param "w" [1.5])', "E-TYPE-006"),
    ('(param "w" [0])', "E-SHAPE-009"), ('(param "w" [3] :dtype :x)', "E-TYPE-001"),
    ('(param "w" [3] :dtype :i32)', "E-TYPE-007"), ('(param "w" [3] :init :zeros)', "E-CONTRACT-025"),
    ('(param "w" [3] :init (fn (s) (zeros [2])))', "E-CONTRACT-025"), ('(param "w" [3] :decay 1)', "E-CONTRACT-025"),
    ('(param "w" [3] :initial zeros)', "E-ARITY-003"),
    ('(+ (param "w" [3]) (param "w" [1]))', "E-SHAPE-010"),
    ('(+ (param "w" [3]) (param "w" [3] :decay false))', "E-VALUE-008"),
    ('(+ (param "w" [3] :init zeros) (param "w" [3] :init ones))', "E-VALUE-008"),
    ('(+ (param "w" [3]) (buffer "w" [3]))', "E-VALUE-008"),
    ("(progn (counter :n 1) (param \"w\" [3]))", "E-CONTRACT-010"),
    ('(progn (update-buffer "m" x) (param "w" [3]))', "E-NAME-006"),
    ('(progn (buffer "m" [3]) (update-buffer "m" x) (param "w" [3]))', "E-SHAPE-013"),
    ('(progn (buffer "m" [3] :dtype :i32) (update-buffer "m" (param "w" [3])) (param "w" [3]))', "E-TYPE-004"),
    ("(schedule :s :t)", "E-CONTRACT-023"), ("(schedule :s (fn (ctx) :t))", "E-CONTRACT-023"),
    ("(schedule :s (fn (ctx) (get ctx :stpe)))", "E-CONTRACT-016"), ("(schedule :lr 1.0)", "E-CONTRACT-017"),
    ("(+ (schedule :s 1.0) (schedule :s 2.0))", "E-VALUE-008"),
]


@pytest.mark.parametrize(("expression", "code"), MODELS, ids=[e for e, _ in MODELS])
def test_model(found, expression, code):
    model = f'(defun model (x) (sum (* (* x (param "v" [3])) {expression}) :axis 1))'
    assert found(experiment(model=model)) == [code]


def test_a_loss_that_is_no_scalar(tmp_path):
    for text in ("(square (- outputs targets))", "3", "nil", "(cast (sum targets) :i32)"):
        _, diagnostics = check_text(experiment(objective=f"(defun objective (outputs targets) {text})"), tmp_path)
        assert [d.code for d in diagnostics] == ["E-CONTRACT-014"], text


def test_a_loss_that_reaches_no_parameter(found):
    assert found(experiment(objective="(defun objective (o t) (mean t))")) == ["E-GRAD-002"]
    assert found(experiment(objective="(defun objective (o t) (mean (stop-gradient o)))")) == ["E-GRAD-002"]
    frozen = '(defun model (x) (sum (* x (param "w" [3] :trainable false)) :axis 1))'
    assert found(experiment(model=frozen)) == ["E-GRAD-002"]


FINITE = '(defvar val-loader (loader :sources [(files ["v.parquet"])] :fields [(field :x :shape [3]) (field :y)] ' \
         ":batch-size 5))"
ENDLESS = FINITE.replace(":batch-size 5", ":batch-size 5 :infinite true")
STAGES = '(defvar val-loader (loader :stages [(stage :name "a" :sources [(files ["v.parquet"])]) (stage :name "b" ' \
         ':sources [(files ["v.parquet"])])] :fields [(field :x :shape [3]) (field :y)] :batch-size 5))'
EVALUATIONS = [
    (FINITE, '(evaluation :name "v" :loader val-loader)', []),
    (ENDLESS, '(evaluation :name "v" :loader val-loader :batches 3 :every 10 :at-start true :at-end false)', []),
    (ENDLESS, '(evaluation :name "v" :loader val-loader)', ["E-CONTRACT-012"]),
    (STAGES, '(evaluation :name "v" :loader val-loader)', ["E-CONTRACT-015"]),
    (FINITE, "(evaluation :loader val-loader)", ["E-CONTRACT-021"]),
    (FINITE, '(evaluation :name "v")', ["E-CONTRACT-021"]),
    (FINITE, '(evaluation :name "v" :loader 3)', ["E-CONTRACT-021"]),
    (FINITE, '(evaluation :name "v" :loader val-loader :every 0)', ["E-CONTRACT-021"]),
    (FINITE, '(evaluation :name "v" :loader val-loader :at-start 1)', ["E-CONTRACT-021"]),
    (FINITE, '(evaluation :name "v" :loader val-loader :evry 1)', ["E-ARITY-003"]),
    (FINITE, '(evaluation :name "v" :loader val-loader) (evaluation :name "v" :loader val-loader)', ["E-CONTRACT-021"]),
]


@pytest.mark.parametrize(("loader_text", "forms", "expected"), EVALUATIONS, ids=[f for _, f, _ in EVALUATIONS])
def test_evaluations(found, loader_text, forms, expected):
    assert found(experiment(extra=f"{loader_text} (defvar evaluations [{forms}])")) == expected


ONE = f'{FINITE} (defvar evaluations [(evaluation :name "v" :loader val-loader)])'


def test_a_batch_size_in_a_shape_does_not_fit_one_row(tmp_path):
    text = experiment(extra=ONE + " (defun evaluate (o t) (mean (square (- (reshape o [5]) t))))")
    _, diagnostics = check_text(text, tmp_path)
    assert [d.code for d in diagnostics] == ["E-SHAPE-012"]
    assert "one row" in diagnostics[0].message


def test_counters_in_evaluations(found):
    counted = "(defun {} (batch) (counter :n 1) (list :inputs (field batch :x) :targets (field batch :y)))"
    assert found(experiment(prepare=counted.format("prepare"), extra=ONE)) == []
    assert found(experiment(extra=f"{ONE} {counted.format('eval-prepare')}")) == ["E-CONTRACT-010"]


def test_metrics_in_eval_prepare(checked):
    prepare = "(defun eval-prepare (batch) (metric :m 1.0) (list :inputs (field batch :x) :targets (field batch :y)))"
    staged, diagnostics = checked(experiment(extra=f"{ONE} {prepare}"))
    assert [d.code for d in diagnostics] == ["W-CONTRACT-027"]
    assert [m["name"] for m in staged.manifest["evaluations"][0]["metrics"]] == ["loss", "m"]
    assert [m["name"] for m in staged.manifest["metrics"]["train"]] == ["loss"]


def test_state_of_an_evaluation_alone(found):
    model = '(defun model (x) (if training? (sum (* x (param "w" [3])) :axis 1) (sum (* x (param "v" [3])) :axis 1)))'
    assert found(experiment(model=model, extra=ONE)) == ["E-CONTRACT-024"]


RUNS = [
    ("(run :steps 10 :out \"runs\")", []), ("(run :stps 10)", ["E-RUN-001"]), ("(run :n 10)", ["E-RUN-001"]),
    ("(run :steps 0)", ["E-RUN-002"]), ("(run :steps 1.5 :keep \"many\")", ["E-RUN-002", "E-RUN-002"]),
    ("(run :on-nonfinite :maybe)", ["E-RUN-002"]), ("(run :on-nonfinite :skip)", []),
    ("(run :steps 10 :records 10)", ["E-RUN-003"]), ("(run :tokens 10)", ["E-RUN-003"]),
    ("(run 3)", ["E-ARITY-001"]),
    ("(run :steps)", ["E-ARITY-004"]), ("(run :steps 1 :steps 2)", ["E-ARITY-005"]),
]


@pytest.mark.parametrize(("form", "expected"), RUNS, ids=[f for f, _ in RUNS])
def test_run(found, form, expected):
    prepare = "(defun prepare (batch) (counter :n 1) (list :inputs (field batch :x) :targets (field batch :y)))"
    assert found(experiment(prepare=prepare, extra=f"(defvar run {form})")) == expected


def test_precision(found):
    assert found(experiment(extra="(defvar precision (precision :compute :f32))")) == []
    assert found(experiment(extra="(defvar precision (precision :compute :bf16))")) == []
    assert found(experiment(extra="(defvar precision (precision :compute :f16 :loss-scale :dynamic))")) == []
    assert found(experiment(extra="(defvar precision (precision :compute :f16))")) == ["E-VALUE-015"]
    for wrong in (":compute :f64", ":params :i32", ":loss-scale -1", ":loss-scale :often"):
        assert found(experiment(extra=f"(defvar precision (precision {wrong}))")) == ["E-VALUE-007"]
    assert found(experiment(extra="(defvar precision (precision :comput :bf16))")) == ["E-ARITY-003"]


def test_a_misspelt_optional_name_is_a_warning(tmp_path):
    staged, diagnostics = check_text(experiment(extra="(defun evalute (o t) (mean o))"), tmp_path)
    assert [d.code for d in diagnostics] == ["W-CONTRACT-019"]
    assert staged is not None
    used = "(defun evaluatr (x) x) (defvar y (evaluatr 3))"
    assert check_text(experiment(extra=used), tmp_path)[1] == []


#: An evaluation over batches like those of training: a check stages it only where it could differ.
ALIKE = ENDLESS.replace("-size 5", "-size 4") + \
    ' (defvar evaluations [(evaluation :name "v" :loader val-loader :batches 3)])'
OTHER_FIELDS = ALIKE.replace(":x :shape [3]", ":x :shape [4]")
IN_AN_EVALUATION = [
    ({}, ALIKE, []),
    ({}, OTHER_FIELDS, ["E-SHAPE-001"]),
    ({"model": '(defun model (x) (let ((y (sum (* x (param "w" [3])) :axis 1))) (if training? y (slice y 0 0 9))))'},
     ALIKE, ["E-SHAPE-006"]),
    ({}, ALIKE + " (defun eval-prepare (batch) (list :inputs 1 :targets (field batch :y)))", ["E-CONTRACT-004"]),
    ({}, ALIKE + " (defun evaluate (outputs targets) outputs)", ["E-CONTRACT-014"]),
]


@pytest.mark.parametrize(("parts", "extra", "expected"), IN_AN_EVALUATION, ids=range(len(IN_AN_EVALUATION)))
def test_what_is_wrong_in_an_evaluation_alone(found, parts, extra, expected):
    assert found(experiment(extra=extra, **parts)) == expected
