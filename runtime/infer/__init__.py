"""A trained artifact as a function of arrays:

    from sexpgpu.runtime.infer import load
    model = load("model.vmfb", "runs/a")
    logits = model.run("logits", tokens=tokens)
"""

from sexpgpu.runtime.infer.model import Model, load

__all__ = ["Model", "load"]
