# Everything a checkout needs. `make` alone lists the targets. Each installs into .venv what it needs, once.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# The type checker wants the packages under the name they are imported by, and finds no files where it is given a folder
# of nothing but links. The compiler is left out: IREE's bindings have no types, and every use of one is an error.
TYPES := build/types
TYPED := runtime cli diagnostics
EXAMPLE := examples/bytes-gpt
# What an install depends on.
SOURCES := pyproject.toml CMakeLists.txt $(shell find compiler runtime cli diagnostics -type f -not -name '*.pyc')
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.DEFAULT_GOAL := help
FUZZ_SECONDS ?= 5
.PHONY: help demo test test-py test-lit test-slow test-native lint format bless bench clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-12s %s\n", $$1, $$2}'

# The build's own requirements are installed too, not isolated: then a second install only compiles what changed.
$(VENV)/build.stamp: pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@mkdir -p build
	$(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"], sep="\n")' > build/requires.txt
	$(PIP) -r build/requires.txt 'cmake<5' ninja
	@touch $@

$(VENV)/compiler.stamp: $(VENV)/build.stamp $(SOURCES)
	$(PIP) --no-build-isolation '.[compiler]'
	@touch $@

# `make test EXTRAS="test twins"` runs the comparisons with PyTorch too; they are skipped where it is not installed.
EXTRAS ?= test
$(VENV)/test.stamp: $(VENV)/compiler.stamp
	$(BIN)/python -c 'import sys, tomllib; extras = tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]; print(*(r for e in sys.argv[1:] for r in extras[e] if not r.startswith("sexpgpu")), sep="\n")' $(EXTRAS) > build/requires-test.txt
	$(PIP) --no-compile -r build/requires-test.txt
	@touch $@

demo: $(VENV)/compiler.stamp  ## write a dataset, build an experiment and train it
	$(BIN)/python $(EXAMPLE)/make_data.py
	$(BIN)/sexpc build $(EXAMPLE)/experiment.sexp -o $(EXAMPLE)/bytes-gpt.vmfb
	$(BIN)/sexpgpu-run $(EXAMPLE)/bytes-gpt.vmfb

test: test-lit test-py  ## run all tests but the slow ones

# One more than there are cores, for some tests wait; each needs up to 2 GiB.
PROCESSES ?= $(shell n=$$(getconf _NPROCESSORS_ONLN); echo $$((n < 4 ? n + 1 : 4)))
test-py: $(VENV)/test.stamp  ## run the tests under tests/py
	$(BIN)/python -m pytest -n $(PROCESSES) --dist loadfile --no-loadscope-reorder

test-lit: $(VENV)/test.stamp  ## run the golden tests under tests/lit
	$(BIN)/lit --order=lexical -sv tests/lit

test-slow: $(VENV)/test.stamp  ## run the sweeps that take minutes
	$(BIN)/python -m pytest -m slow

NATIVE := build/native
# Arrow's own allocator hides from the sanitizers what is freed: a reused piece of memory looks like a race.
test-native: export ARROW_DEFAULT_MEMORY_POOL := system
test-native: $(VENV)/test.stamp  ## fuzz the decoders under ASan and UBSan, race the loader's threads under TSan, a short while
	$(BIN)/cmake -S tests/native -B $(NATIVE) -G Ninja -DPython_EXECUTABLE=$(CURDIR)/$(BIN)/python
	$(BIN)/ninja -C $(NATIVE)
	$(BIN)/python tests/native/make_corpus.py build/corpus
	for e in parquet jsonl jsonl.gz jsonl.zst msgpack msgpack.zstf; do $(NATIVE)/fuzz-$$e build/corpus/$$e $(FUZZ_SECONDS) || exit 1; done
	$(NATIVE)/threads build/corpus/threads

lint: $(VENV)/lint.stamp $(VENV)/test.stamp  ## check style and types
	$(BIN)/ruff check .
	mkdir -p $(TYPES)/sexpgpu
	ln -sfn $(foreach part,compiler runtime cli diagnostics,$(CURDIR)/$(part)) $(TYPES)/sexpgpu/
	echo '{"typeCheckingMode": "standard", "pythonVersion": "3.11"}' > $(TYPES)/pyrightconfig.json
	cd $(TYPES) && $(CURDIR)/$(BIN)/pyright --pythonpath $(CURDIR)/$(BIN)/python $(addprefix sexpgpu/,$(TYPED))

format: $(VENV)/lint.stamp  ## sort imports and apply the safe fixes
	$(BIN)/ruff check --fix .

$(VENV)/lint.stamp:
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) ruff==0.17.6 pyright==1.1.414
	@touch $@

bless: $(VENV)/test.stamp  ## rewrite the rendered files of tests/lit and the index of codes; read the diff
	-$(BIN)/lit --order=lexical -q --param bless=1 tests/lit
	sed -i '/<!-- index -->/q' docs/diagnostics.md && $(BIN)/sexpc explain --markdown >> docs/diagnostics.md
	$(BIN)/sexpc explain --all --markdown > docs/errors.md
	@git --no-pager diff --stat -- tests/lit docs

bench: $(VENV)/compiler.stamp  ## measure against peers (installs them)
	$(PIP) --no-build-isolation '.[bench]'
	$(BIN)/python bench/loader.py
	$(BIN)/python bench/train.py
	$(BIN)/python bench/ops.py

clean:  ## remove what builds and tests leave behind
	rm -rf build dist .pytest_cache .ruff_cache .hypothesis
