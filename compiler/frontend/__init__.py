"""Text to StableHLO: reader, evaluator, static shapes, operations, and the forms an experiment is made of."""
