; A small regression, [8 16] to [8 4], whose test brings its own optimizer.
(include "loader.sexp")
(include "prepare.sexp")
(include "model.sexp")
(include "objective.sexp")
