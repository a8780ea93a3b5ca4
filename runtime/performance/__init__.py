"""How well a run uses its machine: operations a second against a measured peak, memory, and a trace of some steps."""
