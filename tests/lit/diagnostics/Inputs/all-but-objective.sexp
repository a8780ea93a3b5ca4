; A small regression, [8 16] to [8 4], whose test brings its own objective.
(include "loader.sexp")
(include "prepare.sexp")
(include "model.sexp")
(include "optimizer.sexp")
