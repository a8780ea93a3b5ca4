; A small regression, [8 16] to [8 4], whose test brings its own model.
(include "loader.sexp")
(include "prepare.sexp")
(include "objective.sexp")
(include "optimizer.sexp")
