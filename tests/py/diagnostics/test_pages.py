"""The pages of `sexpc explain`: what is wrong raises its own code and nothing else, and what is repaired is clean."""

import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from unittest.mock import patch

import boto3
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from moto.server import ThreadedMotoServer
from sexpgpu.cli.run import main as sexpgpu_run
from sexpgpu.cli.sexpc import main as sexpc
from sexpgpu.compiler.frontend.experiment import check
from sexpgpu.compiler.passes import build
from sexpgpu.compiler.passes.iree import driver
from sexpgpu.diagnostics import CODES, SexpError, SourceMap
from sexpgpu.diagnostics.codes import FAMILIES
from sexpgpu.diagnostics.pages import pages
from sexpgpu.runtime import processor
from sexpgpu.runtime.artifact import seal_bytes
from sexpgpu.runtime.artifact.codec import encode
from sexpgpu.runtime.checkpoint.cursor import Marker
from sexpgpu.runtime.checkpoint.tensors import Written
from sexpgpu.runtime.dataio import Loader, LoaderSpec

PAGES = [page for family in FAMILIES for page in pages(family).values()]
PROGRAMS = {"sexpc": sexpc, "sexpgpu-run": sexpgpu_run}
EXAMPLE = Path(__file__).parents[3] / "examples" / "linear"
#: What a shell does more than split words.
SHELL_CHARACTERS = set("|<>;&$`*\n")
#: Root may read everything; without these it is a user like others.
AS_A_USER = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
FOUND = re.compile(r"(?:error|warning)\[([\w-]+)\]")


def data(folder):
    """What `pages.DATA` says."""
    folder.mkdir(parents=True)
    rows = range(64)
    numbers = [[i + 0.5] * 16 for i in rows]
    table = pa.table({"x": pa.array(numbers, pa.list_(pa.float32())), "y": [row[:4] for row in numbers],
                      "label": np.arange(64) % 10, "score": [None if i % 5 == 4 else [0.5] * 4 for i in rows],
                      "title": [str(i) for i in rows]})
    pq.write_table(table, folder / "train.parquet", write_page_checksum=True)
    pq.write_table(pa.Table.from_arrays([table["x"], table["y"], table["y"]], ["x", "y", "y"]),
                   folder / "joined.parquet")
    pq.write_table(table.slice(0, 0), folder / "empty.parquet")
    (folder / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))


def bash(line, folder, *before, **variables):
    """Both programs are this environment's."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run([*before, "bash", "-o", "pipefail", "-e", "-c", line], cwd=folder, text=True,
                          capture_output=True, env={**os.environ, "PATH": path, **variables}, check=False)


class Folder:
    """Runs what pages say in a folder; `read` gives what was written to stderr in this process since it was called."""

    def __init__(self, path, read):
        self.path, self._read = path, read

    def run(self, lines, missing=None):
        """The codes that the lines raise, up to the first line that fails; without the package `missing`."""
        if missing:
            (self.path / "sitecustomize.py").write_text(f"import sys; sys.modules[{missing!r}] = None")
            done = bash("\n".join(lines), self.path, PYTHONPATH=str(self.path))
            return self._codes(done.stderr, done.returncode)
        if any(line.startswith("chmod") for line in lines):
            done = bash("\n".join(lines), self.path, *AS_A_USER)
            return self._codes(done.stderr, done.returncode)
        for line in lines:
            name, *words = shlex.split(line)
            if name in PROGRAMS and not SHELL_CHARACTERS & set(line):   # the same, without a process of its own
                self._read()
                status, text = PROGRAMS[name](words), self._read()
            else:
                done = bash(line, self.path)
                status, text = done.returncode, done.stderr
            found = self._codes(text, status)
            if status:
                return found
        return []

    @staticmethod
    def _codes(text, status):
        found = FOUND.findall(text)
        assert bool(found) == bool(status), text
        return found

    def load(self):
        """The codes of checking the experiment and reading all of its training data."""
        staged, found = check(self.path / "experiment.sexp", overrides={}, sources=SourceMap())
        assert found == []
        try:
            with Loader(LoaderSpec.from_json(staged.manifest["loader"])) as loader:
                while loader.next() is not None:
                    pass
        except SexpError as error:
            return [d.code for d in error.diagnostics]
        return []


@pytest.fixture(scope="session")
def lake(tmp_path_factory):
    """The bucket of `pages.FOLDER`, and the environment in which it is found."""
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    environment = {"AWS_ENDPOINT_URL": f"http://{host}:{port}", "AWS_ACCESS_KEY_ID": "key", "AWS_REGION": "us-east-1",
                   "AWS_SECRET_ACCESS_KEY": "secret", "AWS_EC2_METADATA_DISABLED": "true"}
    with patch.dict(os.environ, environment):
        client = boto3.client("s3")
        client.create_bucket(Bucket="lake")
        data(folder := tmp_path_factory.mktemp("lake") / "data")
        client.upload_file(str(folder / "train.parquet"), "lake", "train.parquet")
        client.put_object_acl(Bucket="lake", Key="train.parquet", ACL="public-read")
    yield environment
    server.stop()


@pytest.fixture(scope="session")
def linear(tmp_path_factory):
    """What `pages.FOLDER` says."""
    folder = tmp_path_factory.mktemp("pages") / "linear"
    folder.mkdir()
    shutil.copy(EXAMPLE / "experiment.sexp", folder)
    done = bash(f"'{sys.executable}' '{EXAMPLE}/make_data.py' data; sexpc build experiment.sexp -o model.vmfb; "
                "sexpgpu-run model.vmfb --steps 20 --out runs/a", folder)
    assert done.returncode == 0, done.stderr
    whole = (folder / "model.vmfb").read_bytes()
    for name, old, new in (("newer", b'"schema":1', b'"schema":9'), ("older", b'"iree":"3.', b'"iree":"2.'),
                           ("mixed", b'"matmul_peak"', b'"matmul_paek"'), ("odd", b"IREE", b"ODD!")):
        assert old in whole, name
        (folder / f"{name}.vmfb").write_bytes(seal_bytes(whole[:-64].replace(old, new)))
    saved = shutil.copytree(folder / "runs" / "a", folder / "runs" / "newer") / "checkpoints" / "step-20"
    cursor = (saved / "cursor.json").read_text().replace('"schema": 1', '"schema": 9')
    (saved / "cursor.json").write_text(cursor)
    marker = Marker(("cursor.json",), (Written(len(cursor), hashlib.sha256(cursor.encode()).hexdigest()),))
    (saved / "complete.json").write_text(json.dumps(encode(marker)))
    return folder


@pytest.fixture(scope="module")
def compiled_once():
    """What the code generator made of a module is kept for the same one: many pages build the same programs."""
    made = {}

    def generate(module, target, options):
        key = str(module), target, options
        if key not in made:
            made[key] = driver.generate(module, target, options)
        return made[key]

    with patch.object(build, "generate", generate):
        yield


@pytest.fixture
def run(linear, lake, tmp_path_factory, monkeypatch, capsys, compiled_once):
    """Gives the codes that a half of a page raises. All are run in one folder, whose path is in what is built."""
    for name, value in lake.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("COLUMNS", "110")

    def codes(page, half):
        path = tmp_path_factory.getbasetemp() / "page"
        monkeypatch.chdir(path.parent)
        shutil.rmtree(path, ignore_errors=True)
        shutil.copytree(linear, path) if half.kind in ("shell", "python") else data(path / "data")
        monkeypatch.chdir(path)
        return of_half(page.code, half, Folder(path, lambda: capsys.readouterr().err))

    return codes


@pytest.fixture
def older_processor(monkeypatch):
    """This one without AVX-512 and AMX, wherever it is asked: some processor runs what any page is built for."""
    flags = (processor.cpuinfo("flags", "Features") or "").split()
    older = " ".join(flag for flag in flags if not flag.startswith(("avx512", "amx")))
    monkeypatch.setattr(processor, "cpuinfo", lambda *keys: older)
    driver.features_of.cache_clear()
    yield
    driver.features_of.cache_clear()


def of_half(code, half, folder):
    if half.kind == "shell":
        return folder.run(half.program.splitlines(), half.missing)
    if half.kind == "python":
        done = subprocess.run([sys.executable, "-c", half.program], cwd=folder.path, text=True, capture_output=True)
        return re.findall(r"SexpError: ([\w-]+)", done.stderr) or [done.stderr] * bool(done.returncode)
    (folder.path / "experiment.sexp").write_text(half.program, encoding=half.saved or "utf-8")
    assert folder.run(half.before) == []
    if half.then:
        return folder.run(["sexpc build experiment.sexp -o model.vmfb", *half.then])
    if code.startswith(("E-DATA", "E-STORE")):
        return folder.load()
    if half.kind == "module":
        return folder.run(["sexpc opt experiment.sexp --pass autodiff{function=loss}"])
    if half.target is not None:
        return folder.run([f"sexpc check experiment.sexp --target {half.target}"])
    _, found = check(folder.path / "experiment.sexp", overrides=half.defines, sources=SourceMap(), module=False)
    return [d.code for d in found]


@pytest.mark.parametrize("page", [page for page in PAGES if page.right is not None], ids=lambda page: page.code)
def test_a_page_is_true(page, run, request):
    if "--sinks mlflow" in page.wrong.text:
        pytest.importorskip("mlflow")
    if page.code == "E-ARTIFACT-009":
        request.getfixturevalue("older_processor")
    assert set(run(page, page.wrong)) == {page.code}
    assert run(page, page.right) == []


def test_every_code_has_a_page():
    assert {page.code for page in PAGES} == set(CODES)
    #: What no program is known to raise: bugs of the compiler, faults of a code generator.
    advised = {page.code for page in PAGES if page.right is None}
    assert advised == {"E-ICE-001", "E-ICE-002", "E-ICE-003", "E-ICE-004", "E-TARGET-005", "E-RUN-009"}
    assert all(page.wrong.kind == "instead" and page.wrong.text.strip() for page in PAGES if page.right is None)
