"""Every built-in function of the language, one table entry each, grouped as the manual groups them.

Importing this package fills `OPS`. Adding an operation is adding one `@op` function to the file of its group.
"""

from importlib import import_module

from sexpgpu.compiler.frontend.ops.registry import OPS, Call, Failed, Op, op

#: The files of the table, in the manual's order.
GROUPS: tuple[str, ...] = (
    "arithmetic", "functions", "logic", "bits", "reductions", "cumulative", "shapes", "joining", "cutting", "indexing",
    "scattering", "sorting", "make", "linear_algebra", "einsum", "windows", "random", "control", "loops",
    "derivatives", "cast", "checks", "lists", "plists", "program", "data_forms", "loader_forms", "state", "reports",
    "experiment_forms", "export_form",
)

for _group in GROUPS:
    import_module(f"sexpgpu.compiler.frontend.ops.{_group}")

__all__ = ["GROUPS", "OPS", "Call", "Failed", "Op", "op"]
