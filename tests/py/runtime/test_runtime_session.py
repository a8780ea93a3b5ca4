"""The session: exports as methods, the state there and back, every dtype a field can have."""

from __future__ import annotations

import subprocess
import sys

import hand_artifact
import numpy as np
import pytest
from sexpgpu.diagnostics import SexpError
from sexpgpu.runtime import processor
from sexpgpu.runtime.artifact import Target, read_artifact
from sexpgpu.runtime.session import Device, Session, aligned, choose
from sexpgpu.runtime.session.session import Arrays, Outcome


def batch(rows: int = 4, seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {"x": rng.normal(size=(rows, 3)).astype(np.float32), "y": rng.normal(size=rows).astype(np.float32),
            "mask": rng.integers(0, 2, rows).astype(bool), "tag": np.array([200, 255, 0, 7][:rows], np.uint8)}


@pytest.fixture
def session(make_artifact) -> Session:
    session = Session(read_artifact(make_artifact()), Device("local-task"))
    session.init(3)
    return session


def reference(b: dict[str, np.ndarray], w: np.ndarray, bias: float, key: tuple[int, ...]) -> tuple[float, np.ndarray]:
    """Loss and errors as the hand-written module has them."""
    noise = (int(np.dot(key, (7, 131, 17, 3))) % 101) * 0.001
    error = b["x"] @ w + bias + noise - b["y"]
    return float((error**2).mean()), error


def step(session: Session, b: Arrays, key: tuple[int, ...], hyper: list[float]) -> Outcome:
    """A step of one microbatch."""
    outcome = session.microbatch(b, key, hyper)
    session.update(hyper, 1)
    return outcome


def test_init_depends_on_the_seed(session: Session) -> None:
    state = session.state_get()
    assert list(state) == ["w", "b", "seen", "w.v", "b.v"]
    np.testing.assert_array_equal(state["w"], np.full(3, 0.375, np.float32))
    assert state["seen"].dtype == np.uint16


def test_step_matches_numpy(session: Session) -> None:
    b, key = batch(), (3, 5, 1, 2)
    loss, error = reference(b, np.full(3, 0.375), 0.375, key)
    outcome = step(session, b, key, [0.1, 0.5])
    assert outcome.metrics[0] == pytest.approx(loss, rel=1e-5)
    assert outcome.metrics[2] == pytest.approx(abs(error)[b["mask"]].sum(), rel=1e-5)
    assert outcome.metrics[3] == b["mask"].sum()
    assert outcome.counters.tolist() == [462], "u8 above 127 stays positive"
    gradient = 2 * error @ b["x"] / 4
    np.testing.assert_allclose(session.state_get()["w"], 0.375 - 0.1 * gradient, rtol=1e-5)
    assert session.state_get()["seen"].tolist() == [0x3F80, 0x3F80], "1.0 in bf16"


def test_aligned_and_other_arrays_give_the_same(session: Session) -> None:
    b = batch()
    start = session.state_get()
    first = step(session, b, (0, 0, 0, 0), [0.1, 0.5])
    shared = {name: aligned(array.shape, array.dtype) for name, array in b.items()}
    for name, array in b.items():
        shared[name][...] = array
    session.state_set(start)
    second = step(session, shared, (0, 0, 0, 0), [0.1, 0.5])
    assert first.metrics.tobytes() == second.metrics.tobytes()
    odd = np.zeros(4 * 3 * 4 + 1, np.uint8)[1:].view(np.float32).reshape(4, 3)
    odd[...] = b["x"]
    session.state_set(start)
    assert step(session, {**b, "x": odd}, (0, 0, 0, 0), [0.1, 0.5]).metrics.tobytes() == first.metrics.tobytes()


def test_microbatches_are_averaged(session: Session) -> None:
    a, b = batch(seed=1), batch(seed=2)
    key = (0, 0, 0, 0)
    session.microbatch(a, key, [0.1, 0.5])
    session.microbatch(b, key, [0.1, 0.5])
    norm, skipped = session.update([0.1, 0.5], 2)
    gradients = []
    for one in (a, b):
        _, error = reference(one, np.full(3, 0.375), 0.375, key)
        gradients.append(np.append(2 * error @ one["x"] / 4, 2 * error.sum() / 4))
    mean = np.mean(gradients, axis=0)
    assert norm == pytest.approx(np.linalg.norm(mean), rel=1e-5) and not skipped
    np.testing.assert_allclose(session.state_get()["w"], 0.375 - 0.1 * mean[:3], rtol=1e-5)


def test_state_there_and_back(session: Session) -> None:
    step(session, batch(), (0, 0, 0, 0), [0.1, 0.5])
    state = session.state_get()
    session.init(9)
    session.state_set(state)
    for name, array in session.state_get().items():
        assert array.tobytes() == state[name].tobytes()
    before = {name: array.copy() for name, array in state.items()}
    step(session, batch(), (0, 1, 0, 0), [0.1, 0.5])
    for name, array in state.items():
        assert array.tobytes() == before[name].tobytes(), "what was read is a copy"


def test_evaluate_and_row(session: Session) -> None:
    b = batch()
    whole = session.evaluate(0, b, (0, 0, 0, 0), [0.1, 0.5])
    rows = [session.evaluate(0, {n: a[i:i + 1] for n, a in b.items()}, (0, 0, i, 0), [0.1, 0.5], row=True)
            for i in range(4)]
    assert np.mean([r[0] for r in rows]) == pytest.approx(whole[0], rel=1e-5)


def test_ctx_is_exact(session: Session) -> None:
    values = [2**53 + 1, 10, 0.5, 0, 0, 0, 0, float("nan"), 0, 0, 0.0, 0.0]
    assert session.ctx("ctx_0", session.scalars(values)) == 0.1 / (float(2**53 + 1) + 1.0) + 0.01


def test_thread_counts_agree(make_artifact) -> None:
    """A wide model, so that there is work to share; one process a count, since it is fixed by the first device."""
    path = make_artifact(width=4096)
    program = f"""
import numpy as np, sys
from sexpgpu.runtime.artifact import read_artifact
from sexpgpu.runtime.session import Device, Session
s = Session(read_artifact({str(path)!r}), Device("local-task", int(sys.argv[1])))
s.init(1)
r = np.random.default_rng(0)
for i in range(20):
    b = dict(x=r.normal(size=(4, 4096)).astype(np.float32) / 64, y=r.normal(size=4).astype(np.float32),
             mask=np.ones(4, bool), tag=np.ones(4, np.uint8))
    print(s.microbatch(b, (1, i, 0, 0), [0.1, 0.9]).metrics.tobytes().hex(), s.update([0.1, 0.9], 1))
print({{n: a.tobytes().hex() for n, a in s.state_get().items()}})
"""
    outputs = []
    for count in ("1", "4"):
        done = subprocess.run([sys.executable, "-c", program, count], capture_output=True, text=True, check=True)
        outputs.append(done.stdout)
    assert outputs[0] == outputs[1]


def test_devices_that_fit() -> None:
    cpu, cuda = Target("cpu", "host", "local-task"), Target("cuda", "sm_80", "cuda")
    assert choose(cpu, None) == choose(cpu, "auto") == choose(cpu, "cpu") == "local-task"
    assert choose(cpu, "local-sync") == "local-sync"
    assert choose(cuda, "cuda://1") == "cuda://1"
    for target, wanted in ((cpu, "cuda"), (cuda, "cpu"), (cpu, "cdua"), (cuda, "vulkan"), (cuda, "hip")):
        with pytest.raises(SexpError) as raised:
            choose(target, wanted)
        assert raised.value.diagnostics[0].code == "E-RUN-007"


def test_a_processor_that_lacks_something(monkeypatch: pytest.MonkeyPatch) -> None:
    """Said before anything runs; the code itself would end in an illegal instruction."""
    monkeypatch.setattr(processor, "host_features", lambda: frozenset({"sse3", "sse4.2", "avx", "avx2", "fma"}))
    assert choose(Target("cpu", "znver3", "local-task", ("avx2", "fma")), None) == "local-task"
    assert choose(Target("cuda", "sm_80", "cuda", ("avx512f",)), None) == "cuda"
    for needed in (("avx2", "avx512f", "avx512vl"), ("neon", "sve")):
        with pytest.raises(SexpError) as raised:
            choose(Target("cpu", "host:AMD EPYC", "local-task", needed), None)
        (found,) = raised.value.diagnostics
        assert found.code == "E-ARTIFACT-009" and "`AMD EPYC`" in found.message and needed[-1] in found.message
    monkeypatch.setattr(processor, "host_features", lambda: None)   # a system that does not tell
    assert choose(Target("cpu", "znver5", "local-task", ("avx512f",)), None) == "local-task"


def test_a_device_that_is_not_there() -> None:
    with pytest.raises(SexpError) as raised:
        Device("local-task://nowhere-at-all")
    assert raised.value.diagnostics[0].code == "E-RUN-008"


def test_local_sync_agrees(make_artifact, session: Session) -> None:
    other = Session(read_artifact(make_artifact()), Device("local-sync"))
    other.init(3)
    assert step(other, batch(), (3, 0, 0, 0), [0.1, 0.9]).metrics.tobytes() == step(session, 
        batch(), (3, 0, 0, 0), [0.1, 0.9]).metrics.tobytes()


def test_vulkan(make_artifact, session: Session, vulkan_session: str) -> None:
    other = Session(read_artifact(make_artifact("vulkan", width=3)), Device(vulkan_session))
    other.init(3)
    mine, theirs = step(session, batch(), (3, 0, 0, 0), [0.1, 0.9]), step(other, batch(), (3, 0, 0, 0), [0.1, 0.9])
    np.testing.assert_allclose(theirs.metrics, mine.metrics, rtol=1e-4)
    assert theirs.counters.tolist() == mine.counters.tolist()
    state = other.state_get()
    other.init(0)
    other.state_set(state)
    assert other.state_get()["w"].tobytes() == state["w"].tobytes()
    np.testing.assert_allclose(state["w"], session.state_get()["w"], rtol=1e-4)


def test_hand_artifact_is_what_it_says(make_artifact) -> None:
    manifest = read_artifact(make_artifact()).manifest
    assert manifest.integer_counters == ("tokens",) and manifest == hand_artifact.manifest()
