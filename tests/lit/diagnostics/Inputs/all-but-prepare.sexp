; A small regression, [8 16] to [8 4], whose test brings its own prepare.
(include "loader.sexp")
(include "model.sexp")
(include "objective.sexp")
(include "optimizer.sexp")
