"""How fast a run goes: seconds a step and where they went, rates over the last seconds, time left."""

from __future__ import annotations

import time
from collections import deque

from sexpgpu.runtime.train.plan import Plan
from sexpgpu.runtime.train.tally import Number, Tally

WINDOW = 5.0
"""Seconds that a rate looks back."""


class Speed:
    """A step's time runs from the end of the one before; `skip` leaves out what lies between (a pass, a checkpoint).

    The first step is no part of a rate: in it the device gets the program ready, and the loader its first batches.
    """

    def __init__(self) -> None:
        self.steps = 0
        self.seconds = self.device = self.waited = self.evaluated = 0.0
        self._mark = time.perf_counter()
        self._skipped = 0.0
        self._marks: deque[tuple[float, dict[str, Number]]] = deque()

    def begin(self) -> None:
        """Before the first step, and where the counts jump."""
        self._mark = time.perf_counter()
        self._marks.clear()

    def step(self, device: float, waited: float, tally: Tally) -> float:
        """The step's seconds; `device` and `waited` are its shares in device calls and in waiting for batches, `tally`
        the counts after it."""
        now = time.perf_counter()
        seconds, self._mark = now - self._mark, now
        self.steps += 1
        self.seconds += seconds
        self.device += device
        self.waited += waited
        if not self._marks:
            self._remember(tally)
        return seconds

    def skip(self) -> None:
        """What was done since the last step is not part of the next one; nor does it slow the rates."""
        now = time.perf_counter()
        self._skipped += now - self._mark
        self._mark = now

    @property
    def own_share(self) -> float:
        """The part of the time that is neither the device's nor the loader's: what the runtime itself costs."""
        return max(0.0, self.seconds - self.device - self.waited) / self.seconds if self.seconds else 0.0

    @property
    def own_microseconds(self) -> float:
        """The same, a step."""
        return max(0.0, self.seconds - self.device - self.waited) / self.steps * 1e6 if self.steps else 0.0

    def rates(self, tally: Tally) -> dict[str, float]:
        """Steps, records and each counter a second, over the last seconds; nothing after the first step."""
        now = self._remember(tally)
        then, old = self._marks[0]
        if len(self._marks) == 1:
            return {}
        passed = max(now - then, 1e-9)
        new = self._marks[-1][1]
        return {name: (value - old[name]) / passed for name, value in new.items()}

    def left(self, plan: Plan, tally: Tally) -> float | None:
        """Seconds to the end of the plan at the present rate; None before there is one."""
        if not self._marks:
            return None
        then, old = self._marks[0]
        now, new = self._marks[-1]
        unit = plan.unit
        done = new[unit] - old[unit]
        return (plan.amount - plan.used(tally)) / done * (now - then) if done > 0 else None

    def _remember(self, tally: Tally) -> float:
        """A mark at most every hundredth of the window, so that fast steps do not pile up."""
        now = self._mark - self._skipped
        counts: dict[str, Number] = {"steps": tally.step, "records": tally.records, **tally.counters}
        if self._marks and now <= self._marks[-1][0]:
            return now
        if len(self._marks) > 1 and now - self._marks[-2][0] < WINDOW / 100:
            self._marks[-1] = (now, counts)
        else:
            self._marks.append((now, counts))
        while len(self._marks) > 2 and now - self._marks[1][0] > WINDOW:
            self._marks.popleft()
        return now
