"""What is made of random bits, for bits that the test chooses, and the distributions of the initialisers."""

import jax
import numpy as np
import pytest
from iree.compiler import ir
from language import Expression, Session, diagnose, evaluate, flat, floats
from runner import Program
from sexpgpu.compiler import hlo
from sexpgpu.compiler.passes.iree.driver import CompileOptions, generate
from sexpgpu.compiler.passes.iree.targets import parse_target

jax.config.update("jax_enable_x64", True)
SHAPE = (64, 96)
WORDS = np.random.default_rng(9).integers(0, 2 ** 32, SHAPE, dtype=np.uint32)
WORDS[0, :4] = [0, 2 ** 32 - 1, 2 ** 31, 2 ** 31 - 1]
UNIT = (WORDS >> 8) * 2.0 ** -24
OPEN = ((WORDS >> 9) + 0.5) * 2.0 ** -23
X = floats(*SHAPE)


def normal(u):
    return np.asarray(np.sqrt(2) * jax.scipy.special.erfinv(2 * u - 1))


def truncated(u, low=-2.0, high=2.0):
    a, b = (0.5 * (1 + float(jax.scipy.special.erf(v / np.sqrt(2)))) for v in (low, high))
    return np.clip(normal(a + (b - a) * u), low, high)


FANS = {"xavier": 2 / (64 + 96), "he": 2 / 64, "lecun": 1 / 64}

#: The expression, and what it is of WORDS.
CASES = {
    "uniform": ("(random-uniform [64 96])", UNIT),
    "uniform_range": ("(random-uniform [64 96] :low -2 :high 3)", UNIT * 5 - 2),
    "normal": ("(random-normal [64 96])", normal(OPEN)),
    "normal_scaled": ("(random-normal [64 96] :mean 1 :std 0.1)", normal(OPEN) * 0.1 + 1),
    "truncated": ("(random-truncated-normal [64 96])", truncated(OPEN)),
    "bernoulli": ("(random-bernoulli [64 96] :p 0.3)", round(0.3 * 2 ** 32) > WORDS),
    "bernoulli_never": ("(random-bernoulli [64 96] :p 0)", np.zeros(SHAPE, bool)),
    "bernoulli_always": ("(random-bernoulli [64 96] :p 1)", np.ones(SHAPE, bool)),
    "integers": ("(random-integers -3 10 [64 96])", (WORDS % 13).astype(np.int32) - 3),
    "gumbel": ("(gumbel [64 96])", -np.log(-np.log(OPEN))),
    "dropout": ("(dropout x 0.25)", np.where(round(0.75 * 2 ** 32) > WORDS, X / 0.75, 0)),
    "dropout_of_tensor": ("(dropout x rate)", np.where(UNIT < 0.75, X / 0.75, 0)),
    "initialiser_normal": ("((normal 0.02) [64 96])", normal(OPEN) * 0.02),
    "initialiser_uniform": ("((uniform -1 1) [64 96])", UNIT * 2 - 1),
    "initialiser_truncated": ("((truncated-normal 0.5) [64 96])", truncated(OPEN) * 0.5),
    "he_normal": ("((he-normal) [64 96])", normal(OPEN) * FANS["he"] ** 0.5),
    "he_normal_bare": ("(he-normal [64 96])", normal(OPEN) * FANS["he"] ** 0.5),
    "he_uniform": ("((he-uniform) [64 96])", (UNIT * 2 - 1) * (3 * FANS["he"]) ** 0.5),
    "xavier_normal": ("((xavier-normal) [64 96])", normal(OPEN) * FANS["xavier"] ** 0.5),
    "xavier_uniform": ("((xavier-uniform) [64 96])", (UNIT * 2 - 1) * (3 * FANS["xavier"]) ** 0.5),
    "lecun_normal": ("((lecun-normal) [64 96])", normal(OPEN) * FANS["lecun"] ** 0.5),
}


def arguments(name):
    given = {}
    if "dropout" in name:
        given["x"] = X
    if name == "dropout_of_tensor":
        given["rate"] = np.float32(0.25).reshape(())
    return given


@pytest.fixture(scope="module")
def program():
    session = Session()
    for name, (source, _) in CASES.items():
        _, found, bits = session.stage(Expression(f"of_{name}", source, arguments(name)))
        assert not found, (name, found)
        assert bits == ["tensor<64x96xui32>"], (name, bits)
    with session.context, ir.Location.unknown():
        return Program(generate(session.module, parse_target("cpu"), CompileOptions()))


@pytest.mark.parametrize("name", list(CASES))
def test_is_this_function_of_the_bits(name, program):
    (found,) = program.call(f"of_{name}", *arguments(name).values(), WORDS)
    wanted = CASES[name][1]
    if wanted.dtype.kind in "bi":
        np.testing.assert_array_equal(found, wanted)
    else:
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=2e-6)
        assert np.isfinite(found).all()


def test_uniform_stays_below_its_end(program):
    (found,) = program.call("of_uniform", WORDS)
    assert found.min() == 0 and found.max() < 1


def test_each_site_has_its_number():
    session = Session()
    with session.context, ir.Location.unknown():
        session.open_bits = lambda block: []
        session.stage(Expression("f", "(+ (random-uniform [2]) (random-normal [2]) (random-uniform [2]))"))
        func = session.module.body.operations[0]
        sites = [op.attributes["backend_config"]["site"].value for op in func.regions[0].blocks[0].operations
                 if hlo.marker_kind(op) == "random"]
    assert sites == [0, 1, 2]


def test_dropout_is_the_identity_in_an_evaluation():
    session = Session()
    value, found, bits = session.stage(Expression("f", "(dropout x 0.5)", {"x": X}), training=False)
    assert not found and not bits
    assert isinstance(flat(value)[0].value, ir.BlockArgument)


def test_dropout_of_nothing_draws_nothing():
    assert Session().stage(Expression("f", "(dropout x 0)", {"x": X}))[2] == []


def test_constants():
    assert evaluate("(dtype ((constant 3) [2]))").name == "f32"
    assert diagnose("((normal 0.02) [2 2.5])")[0].code == "E-TYPE-006"
