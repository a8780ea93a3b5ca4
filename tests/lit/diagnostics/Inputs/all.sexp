; A small regression, [8 16] to [8 4].
(include "loader.sexp")
(include "prepare.sexp")
(include "model.sexp")
(include "objective.sexp")
(include "optimizer.sexp")
