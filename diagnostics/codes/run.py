"""Codes of the RUN family."""

from sexpgpu.diagnostics.codes.code import Code

TABLE: tuple[Code, ...] = (
    Code("E-RUN-001", "unknown option",
         "A flag of `sexpgpu-run`, or a keyword of `(run …)`, is not among those there are."),
    Code("E-RUN-002", "bad value of an option",
         "An option was given a value it does not take, or none at all."),
    Code("E-RUN-003", "options that exclude each other",
         "Two lengths were given, such as `--steps` and `--tokens`, or a length by a counter that the experiment does "
         "not have."),
    Code("E-RUN-004", "run without a length",
         "The training loader never ends and no option says when to stop."),
    Code("E-RUN-005", "run folder in use",
         "The folder given with `--out` belongs to another experiment, holds a run that `--resume never` would "
         "overwrite, or another process is writing into it."),
    Code("E-RUN-006", "run folder cannot be written",
         "The operating system refused to write into the run folder: no space, no permission, not a folder."),
    Code("E-RUN-007", "device does not fit",
         "The device is unknown, or it is not the one that the artifact was built for."),
    Code("E-RUN-008", "device cannot be opened",
         "The driver found no such device, or the device said no."),
    Code("E-RUN-009", "stage out of range",
         "The curriculum gave the number of a stage that does not exist."),
    Code("E-RUN-010", "settings that a resume cannot change",
         "The checkpoint was made with another seed than the one asked for; the run would be neither the old one nor a "
         "new one."),
    Code("E-RUN-011", "wrong number of files",
         "`sexpgpu-run` takes one artifact, and one run file at most."),
    Code("E-RUN-012", "too little data for one step",
         "The training loader ended before the first update was complete."),
    Code("E-RUN-013", "unknown command",
         "`sexpc` was given a word that is none of its commands, or no command; `sexpgpu-run` one that is no file and "
         "nearly a command of its own."),
    Code("E-RUN-014", "compiler is not installed",
         "`sexpc check`, `build` and `opt` need the profile `sexpgpu[compiler]`; a machine that only trains does not "
         "have it."),
    Code("E-RUN-015", "device failed",
         "A call of the artifact ended with an error of the device: most often it has too little memory for the "
         "batch."),
    Code("E-RUN-016", "bad run file",
         "A run file holds one `(run …)` of keywords with their values: numbers, texts, keywords, vectors of these."),
    Code("E-RUN-017", "artifact that cannot skip updates",
         "`--on-nonfinite skip` needs an update that leaves the state alone where the gradient is not finite; that is "
         "compiled in where the experiment asks for it."),
    Code("E-RUN-018", "stage ended before the curriculum left it",
         "A finite stage has no more full batches for a step, and the curriculum still chooses it. What was done is "
         "saved."),
    Code("E-RUN-030", "package of a sink is missing",
         "`--sinks` names TensorBoard, W&B or MLflow, and its package is not installed. Nothing was trained."),
    Code("E-RUN-031", "sink cannot be opened",
         "TensorBoard, W&B or MLflow is installed, and did not open a run: most often its server is not reached or "
         "refuses the key. Nothing was trained."),
    Code("E-RUN-032", "unknown export",
         "The artifact has no export of that name, has several and none was named, or has none at all."),
    Code("E-RUN-033", "inputs that do not fit an export",
         "An input is missing, unknown, of another shape, or holds numbers that its dtype does not."),
    Code("E-RUN-034", "file of inputs or outputs",
         "A file of arrays cannot be read or written, is damaged, or is of no kind that is known."),
    Code("E-RUN-035", "not a run folder",
         "`watch`, `report` and `compare` look at what a run has written, and nothing like it is there."),
)
