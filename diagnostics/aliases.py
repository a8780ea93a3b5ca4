"""What other libraries call what the language has: PyTorch, JAX, NumPy, TensorFlow, Hugging Face, Common Lisp, Clojure.

Read only when a word is unknown. A key is the other name without hyphens, underscores and capitals; its values are
names of the language, of which the first that may stand at the place is meant.
"""

from __future__ import annotations

ALIASES: dict[str, tuple[str, ...]] = {
    # -- settings of a loader
    "bs": ("batch-size",), "batch": ("batch-size",), "perdevicetrainbatchsize": ("batch-size",),
    "repeat": ("infinite", "tile"), "loop": ("infinite",), "dropremainder": ("infinite",),
    "shufflebuffer": ("shuffle",), "buffersize": ("shuffle",), "shufflebuffersize": ("shuffle",),
    "data": ("sources",), "dataset": ("sources",), "datafiles": ("sources",), "files": ("sources",),
    "source": ("sources",), "paths": ("sources",), "columns": ("fields",), "features": ("fields",),
    "column": ("from",), "key": ("from",), "size": ("shape", "numel"), "type": ("dtype",), "format": ("encoding",),
    "compression": ("encoding",), "proportion": ("weight",), "probability": ("weight",),
    # -- settings of a run and of an evaluation
    "epochs": ("steps",), "numepochs": ("steps",), "maxsteps": ("steps",), "numsteps": ("steps",),
    "iterations": ("steps",), "maxiters": ("steps",), "gradientaccumulationsteps": ("microbatches",),
    "gradaccum": ("microbatches",), "accumulation": ("microbatches",), "randomseed": ("seed",),
    "outputdir": ("out",), "savesteps": ("checkpoint-every",), "saveevery": ("checkpoint-every",),
    "savetotallimit": ("keep",), "loggingsteps": ("log-every",), "loginterval": ("log-every",),
    "evalevery": ("every",), "interval": ("every",), "evalsteps": ("every",), "frequency": ("every",),
    "maxbatches": ("batches",), "limitbatches": ("batches",), "dataloader": ("loader", "train-loader"),
    # -- settings of an optimizer
    "learningrate": ("lr",), "rate": ("lr",), "stepsize": ("lr",), "betas": ("beta1",), "b1": ("beta1",),
    "b2": ("beta2",), "epsilon": ("eps",), "wd": ("weight-decay",), "decay": ("weight-decay",), "l2": ("weight-decay",),
    "gradclip": ("clip-norm",), "maxgradnorm": ("clip-norm",), "clipgradnorm": ("clip-norm",),
    "gradientclipval": ("clip-norm",), "clipgradvalue": ("clip-value",), "paramgroups": ("groups",),
    # -- settings of operations
    "dim": ("axis",), "axes": ("axis",), "keepdim": ("keep",), "keepdims": ("keep",), "iscausal": ("causal",),
    "attnmask": ("mask",), "strides": ("stride",), "kernelsize": ("size",), "pad": ("padding",),
    "ignoreindex": ("ignore",), "reduction": ("reduce",), "startdim": ("start",), "temperature": ("scale",),
    "initializer": ("init",), "requiresgrad": ("trainable",),
    # -- operations
    "mm": ("matmul",), "bmm": ("matmul",), "dotgeneral": ("matmul",), "unsqueeze": ("expand-dims",),
    "expanddim": ("expand-dims",), "view": ("reshape",), "swapaxes": ("transpose",), "concatenate": ("concat",),
    "cat": ("concat",), "vstack": ("concat",), "astype": ("cast",), "to": ("cast",), "float": ("cast",),
    "shapeof": ("shape",), "ndim": ("rank",), "nelement": ("numel",), "power": ("pow",), "max": ("maximum",),
    "logsoftmax": ("log-softmax",), "amax": ("max",), "amin": ("min",), "average": ("mean",), "reducemean": ("mean",),
    "reducesum": ("sum",), "nonzero": ("where",), "select": ("where",), "ifelse": ("where",), "clip": ("clamp",),
    "detach": ("stop-gradient",), "fori": ("repeat",), "foriloop": ("repeat",), "vmap": ("map",),
    "checkpoint": ("remat",), "swish": ("silu",), "lrelu": ("leaky-relu",),
    "conv1d": ("conv",), "conv2d": ("conv",), "conv3d": ("conv",), "maxpool1d": ("max-pool",),
    "maxpool2d": ("max-pool",), "avgpool2d": ("avg-pool",), "embed": ("embedding",), "batchnorm2d": ("batch-norm",),
    "scaleddotproductattention": ("attention",), "dense": ("linear",), "sdpa": ("attention",), "bool": ("where",),
    # -- losses and metrics
    "mseloss": ("mse",), "l2loss": ("mse",), "meansquarederror": ("mse",), "l1loss": ("mae",),
    "crossentropyloss": ("cross-entropy",), "nllloss": ("cross-entropy",),
    "softmaxcrossentropy": ("cross-entropy",), "sparsecategoricalcrossentropy": ("cross-entropy",),
    "bceloss": ("binary-cross-entropy",), "bce": ("binary-cross-entropy",),
    "bcewithlogits": ("binary-cross-entropy",), "bcewithlogitsloss": ("binary-cross-entropy",),
    "kldiv": ("kl-divergence",), "huberloss": ("huber",), "smoothl1loss": ("huber",),
    # -- initialisers, optimizers, schedules
    "kaimingnormal": ("he-normal",), "kaiminguniform": ("he-uniform",), "glorotnormal": ("xavier-normal",),
    "glorotuniform": ("xavier-uniform",), "randn": ("random-normal", "normal"), "rand": ("random-uniform", "uniform"),
    "truncnormal": ("truncated-normal",), "adam": ("adamw",), "momentum": ("sgd",),
    "cosine": ("cosine-decay",), "cosineannealing": ("cosine-decay",), "cosineannealinglr": ("cosine-decay",),
    "linearwarmup": ("warmup",), "linearlr": ("linear-decay",), "exponentiallr": ("exponential-decay",),
    # -- dtypes
    "float32": ("f32",), "float16": ("f16",), "half": ("f16",), "bfloat16": ("bf16",), "float64": ("f64",),
    "double": ("f64",), "int8": ("i8",), "int16": ("i16",), "int32": ("i32",), "int": ("i32",), "int64": ("i64",),
    "long": ("i64",), "uint8": ("u8",), "byte": ("u8",), "uint16": ("u16",), "uint32": ("u32",), "uint64": ("u64",),
    "boolean": ("bool",), "single": ("f32",),
    # -- targets and devices
    "gpu": ("cuda",), "nvidia": ("cuda",),
    # -- what the compiler looks for
    "forward": ("model",), "net": ("model",), "network": ("model",), "loss": ("objective",), "lossfn": ("objective",),
    "criterion": ("objective",), "trainset": ("train-loader",), "traindata": ("train-loader",),
    "preprocess": ("prepare",), "collate": ("prepare",), "opt": ("optimizer",), "evals": ("evaluations",),
    "validation": ("evaluations",), "evaluation": ("evaluations",), "preparebatch": ("prepare",),
    # -- forms of other Lisps
    "setq": ("defvar",), "setf": ("defvar",), "defparameter": ("defvar",), "defconstant": ("defvar",),
    "def": ("defvar",), "define": ("defun",), "defn": ("defun",), "progv": ("let",), "letrec": ("let*",),
    "begin": ("progn",), "mapcar": ("map",), "foldl": ("reduce",), "fold": ("reduce",), "length": ("len",),
    "count": ("len",), "append": ("concat-lists",), "car": ("first",), "cdr": ("rest",), "cons": ("list",),
    "require": ("include",), "import": ("include",), "load": ("include",), "elif": ("cond",), "doseq": ("for",),
    "null": ("nil",), "none": ("nil",), "equal": ("=",), "eq": ("=",), "not=": ("/=",), "!=": ("/=",), "==": ("=",),
    "**": ("pow",), "%": ("mod",), "//": ("quotient",), "@": ("matmul",), "t": ("true",), "#t": ("true",),
}
