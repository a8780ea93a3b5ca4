"""An artifact on a device. Importing this imports IREE's runtime and NumPy."""

from sexpgpu.runtime.session.device import ALIGNMENT, DRIVERS, Device, aligned, choose
from sexpgpu.runtime.session.session import Outcome, Session

__all__ = ["ALIGNMENT", "DRIVERS", "Device", "Outcome", "Session", "aligned", "choose"]
