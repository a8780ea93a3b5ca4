"""The two commands, `sexpc` and `sexpgpu-run`."""
