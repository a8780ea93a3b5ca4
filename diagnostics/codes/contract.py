"""Codes of the CONTRACT family."""

from sexpgpu.diagnostics.codes.code import Code

TABLE: tuple[Code, ...] = (
    Code("E-CONTRACT-001", "required definition is missing",
         "An experiment defines `train-loader`, `prepare`, `model`, `objective` and `optimizer`."),
    Code("E-CONTRACT-002", "definition of the wrong kind",
         "A definition the compiler looks for has another kind of value than it must have, or a function of it takes "
         "another number of arguments."),
    Code("E-CONTRACT-003", "unknown keyword in a loader form",
         "`loader`, `stage`, `files`, `manifest` and `field` have fixed keywords; the fix lists them."),
    Code("E-CONTRACT-004", "prepare gives no plist of inputs and targets",
         "`prepare` and `eval-prepare` return a plist with `:inputs` and `:targets`, each a tensor or a list of "
         "tensors."),
    Code("E-CONTRACT-005", "field the loader does not declare",
         "`(field batch :name)` reads a field of the pass's loader; the fix lists what it declares."),
    Code("E-CONTRACT-006", "sources and stages",
         "A loader has either `:sources` (with `:shuffle` and `:infinite`) or `:stages`, and at least one of them."),
    Code("E-CONTRACT-007", "fields of a loader",
         "`:fields` is missing, empty, holds something else than fields, or names one twice."),
    Code("E-CONTRACT-008", "bad number in a loader form",
         "`:batch-size`, `:shuffle`, `:shape` or `:weight` has a value it cannot have, or is missing where it is "
         "needed."),
    Code("E-CONTRACT-009", "unknown encoding",
         "The encoding of a data file is not one that is read, or cannot be told from the file's name."),
    Code("E-CONTRACT-010", "counter outside prepare",
         "`counter` belongs in `prepare`, where records are counted, or in a function that `prepare` calls."),
    Code("E-CONTRACT-011", "bad counter",
         "A counter's value is no scalar, or its name is taken: by another counter, or by a key of `ctx`."),
    Code("E-CONTRACT-012", "evaluation that never ends",
         "An evaluation without `:batches` reads its whole loader, which must then be finite."),
    Code("E-CONTRACT-013", "inputs do not fit the model",
         "`:inputs` of `prepare` is spread over the parameters of `model`, and their numbers differ."),
    Code("E-CONTRACT-014", "loss is no f32 scalar", "`objective` and `evaluate` return an f32 scalar."),
    Code("E-CONTRACT-015", "bad stage",
         "A stage's name is unknown or stands twice, several stages have no `curriculum`, or an evaluation's loader "
         "has several."),
    Code("E-CONTRACT-016", "unknown key of ctx", "`(get ctx :key)` asks for a key that `ctx` does not have."),
    Code("E-CONTRACT-017", "bad metric",
         "A metric's value is no scalar, its name is taken, or its reduction is unknown."),
    Code("E-CONTRACT-018", "pattern that matches nothing", "A pattern of `:groups` matches no parameter."),
    Code("W-CONTRACT-019", "definition that looks misspelt",
         "A definition that nothing uses has almost the name of one the compiler looks for."),
    Code("E-CONTRACT-020", "form in the wrong place",
         "`param`, `buffer`, `metric`, `schedule` and the like stand where the compiler cannot use them: outside the "
         "functions of the experiment that may hold them, or inside a branch that is staged. `run`, `evaluation`, "
         "`precision` and the like stand at the top level without the name that the compiler looks for."),
    Code("E-CONTRACT-021", "bad evaluation", "An `evaluation` has a setting of the wrong kind, or its name is taken."),
    Code("E-CONTRACT-022", "bad optimizer",
         "The functions of an `optimizer` give something else than they must: `:init` a plist of state, `:update` a "
         "plist with `:param` and `:state` of the same shapes and dtypes."),
    Code("E-CONTRACT-023", "schedule that is no number",
         "A schedule or a curriculum gives something else than a number, or a stage name, computed from `ctx`."),
    Code("E-CONTRACT-024", "state that training does not have",
         "An evaluation or an export declares a parameter or a buffer that the training graph does not declare."),
    Code("E-CONTRACT-025", "bad parameter",
         "The name, shape, `:init`, `:decay` or `:trainable` of a parameter or buffer is not of its kind, or its "
         "initialiser gives another shape."),
    Code("W-CONTRACT-026", "field that nothing reads",
         "The loader declares a field that no pass reads: its column is decoded, copied and dropped in every step."),
    Code("W-CONTRACT-027", "metric that is constant",
         "A metric is a number known at compile time, so its curve says nothing: only a tensor follows training."),
    Code("W-CONTRACT-028", "schedule longer than the run",
         "A schedule rises or changes after the last step of the run, which it therefore never reaches."),
    Code("W-CONTRACT-029", "weight decay of a vector",
         "The optimizer has a weight decay, and a parameter of one axis or none does not say `:decay`. Gains and "
         "biases are pulled towards zero by it, which is rarely meant: `:decay false`, or `:decay true` where it is."),
    Code("E-CONTRACT-030", "bad export",
         "The name, the function or the `:inputs` of an `export` are not of their kind or do not fit each other, its "
         "result is something else than tensors, or it depends on a `schedule`."),
)
