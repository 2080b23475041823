# Everything a newcomer runs; each target sets up what it needs in $(VENV) first.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: demo test test-all test-long test-dagster test-dbt test-spark lint bench bench-search bench-privacy bench-game bench-classification \
	bench-microaggregation bench-local bench-differential-privacy bench-usefulness bench-operate bench-people bench-related bench-doors bench-answers bench-scale bench-everyday recorded statements journeys \
	campaign pages pictures protos reference site site-search house words clean
# Two targets must not install into the same environment at once.
.NOTPARALLEL:

demo: $(VENV)/.run
	$(BIN)/tableveil demo

# The client in Node.js is tested where there is Node.js.
test: $(VENV)/.dev
	if command -v npm >/dev/null; then timeout 60 npm ci --silent --prefix examples/node || true; fi
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal -rfEs -m "not long"
	@echo "Left out: what was skipped above, the long tests and those in other environments; make test-all runs the latter."

# PySpark with its server is 450 MB: where it cannot be installed the tests of Spark are skipped, as they are without Java.
test-all: test test-long test-dagster test-dbt
	if timeout 900 $(MAKE) $(VENV)-spark/.ready; then \
		$(MAKE) test-spark; \
	else \
		echo "PySpark could not be installed: the tests of Spark are skipped" >&2; \
	fi

# Whole processes that are killed, stopped or soaked, campaigns, the tour of the docs, and tests of the benchmarks.
test-long: $(VENV)/.dev
# By file: the pages of the tour are read one after the other.
	$(BIN)/python -m pytest --numprocesses auto --dist loadfile -m long

# Dagster has an environment of its own: what it pins is its own business.
test-dagster:
	$(PYTHON) -m venv $(VENV)-dagster
	$(VENV)-dagster/bin/pip install --quiet --editable . --requirement examples/dagster/requirements.txt
	$(VENV)-dagster/bin/python -m pytest --config-file /dev/null --rootdir examples/dagster examples/dagster

# dbt has one as well. The test is skipped where there is no PostgreSQL.
test-dbt: $(VENV)/.dev
	$(PYTHON) -m venv $(VENV)-dbt
	$(VENV)-dbt/bin/pip install --quiet --requirement examples/dbt/requirements.txt
	PATH="$(abspath $(VENV)-dbt)/bin:$$PATH" $(BIN)/python -m pytest tests/e2e/test_dbt.py

# Spark has an environment of its own: PySpark with its server is large. The tests are skipped where there is no Java.
test-spark: $(VENV)-spark/.ready
	timeout 2400 $(VENV)-spark/bin/python -m pytest tests/warehouses

lint: $(VENV)/.dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy engine sql service proto/generate.py proto/lint.py proto/reference.py tests benchmarks
	$(BIN)/lint-imports --no-logo
	$(BIN)/python -m tests.project.plain_english engine sql service proto tests benchmarks examples docs README.md CHANGELOG.md
	$(BIN)/python proto/lint.py
	$(BIN)/hadolint deploy/Dockerfile
	$(BIN)/kubernetes-validate --strict --quiet $(addprefix deploy/kubernetes/,backup.yaml endpoint.yaml service.yaml volumes.yaml) \
		deploy/kubernetes-outgoing/network.yaml

# The words of each page of the docs.
words: $(VENV)/.dev
	$(BIN)/python -m tests.docs.words

# Numbers of how the house is built, each with the pattern that counts it.
house: $(VENV)/.dev
	$(BIN)/python -m tests.project.house

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks

bench-search: $(VENV)/.dev
	$(BIN)/python -m benchmarks --only search

bench-privacy: $(VENV)/.dev
	$(BIN)/python -m benchmarks --only privacy

bench-game: $(VENV)/.dev
	$(BIN)/python -m benchmarks --only game

bench-classification: $(VENV)/.dev
	$(BIN)/python -m benchmarks --only classification

bench-microaggregation: $(VENV)/.dev
	$(BIN)/python -m benchmarks --only microaggregation

bench-local: $(VENV)/.dev
	$(BIN)/python -m benchmarks --only local

bench-differential-privacy: $(VENV)/.dev
	$(BIN)/python -m benchmarks --only differential-privacy

bench-usefulness: $(VENV)/.dev
	$(BIN)/python -m benchmarks --only usefulness

bench-operate: $(VENV)/.dev
	$(BIN)/python -m benchmarks --only operate

bench-doors: $(VENV)/.dev
	$(BIN)/python -m benchmarks --only doors

bench-answers: $(VENV)/.dev
	$(BIN)/python -m benchmarks --only answers

bench-people: $(VENV)/.dev
	$(BIN)/python -m benchmarks --only people

# NAFLD is a folder with nafld1.csv and nafld3.csv of R's package survival.
NAFLD ?=
bench-related: $(VENV)/.dev
	$(BIN)/python -m benchmarks --only related $(if $(NAFLD),--nafld $(NAFLD))

# Rows of each table in DuckDB, and of the one in Spark; a quick run has 1000000,10000000 and 1000000.
SIZES ?= 1000000,10000000,100000000
LAKE_ROWS ?= 20000000
bench-scale: $(VENV)/.dev
	$(BIN)/python -m benchmarks --only scale --sizes $(SIZES) --lake-rows $(LAKE_ROWS)

# Statements and CPU seconds of everyday jobs, beside those of the commit AGAINST if one is given.
AGAINST ?=
bench-everyday: $(VENV)/.dev
	$(BIN)/python -m benchmarks.everyday --against "$(AGAINST)"

# Digests of everything that is shown of results, after a change of it that is meant.
recorded: $(VENV)/.dev
	$(BIN)/python -m tests.recorded

# Everyday jobs take as many statements as benchmarks/everyday/statements.json says.
statements: $(VENV)/.dev
	$(BIN)/python -m benchmarks.everyday.statements

# A steward's commands from a messy file to a release, ten kinds of files, and twelve in the shapes of real ones: new ones by each SEED.
SEED ?=
TIMES ?= 3
journeys: $(VENV)/.dev
	$(BIN)/python -m benchmarks.journeys --times $(TIMES) $(if $(SEED),--seed $(SEED))

# Each of the campaigns for so many seconds at most, or until it has done what docs/explanations/threats.md counts.
SECONDS ?= 3600
campaign: $(VENV)/.dev
	$(BIN)/python -m tests.campaign --seconds $(SECONDS)

# Chromium opens every page of a fixed set of releases; pages and pictures are in the folder `pages`. It took 12 minutes
# on two busy cores.
pages: $(VENV)/.dev
	$(BIN)/pip install --quiet --editable '.[browser]'
	npm install --silent --prefix $(VENV)/axe axe-core@4
	rm -rf pages
	timeout 3600 $(BIN)/python -m tests.pages --axe $(VENV)/axe/node_modules/axe-core/axe.min.js --output pages

# The site of the docs in the folder `site`, built without a network; its links, anchors and origins are checked.
site: $(VENV)/.dev
	$(BIN)/pip install --quiet --editable '.[docs]'
	$(BIN)/python -m tests.site site

# Asks the search of the site for 55 tasks in Chromium.
site-search: site
	$(BIN)/pip install --quiet --editable '.[browser]'
	$(BIN)/python -m tests.site.search site

# The pictures of docs, from real jobs on ten rows, from the protos, and by D2 from tests/pictures/d2.
pictures: $(VENV)/.dev
	$(BIN)/python -m tests.pictures

protos: $(VENV)/.dev
	$(BIN)/python proto/generate.py
	$(BIN)/python -m tests.reference

# The pages of docs/reference that follow from the code: fields, models, commands, calls, options, metrics, objects, errors.
reference: $(VENV)/.dev
	$(BIN)/python -m tests.reference

clean:
	rm -rf $(VENV) $(VENV)-dagster $(VENV)-dbt $(VENV)-spark dist site .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find engine sql service proto tests benchmarks -name __pycache__ -prune -exec rm -rf {} +

# The stamps are renewed when pyproject.toml changes; the demo need not wait for the tools of developers.
$(VENV)/.run: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --editable '.[console]'
	touch $@

$(VENV)-spark/.ready: pyproject.toml
	$(PYTHON) -m venv $(VENV)-spark
	$(VENV)-spark/bin/pip install --quiet --editable '.[test]' 'pyspark[connect]>=4.0,<5'
	touch $@

$(VENV)/.dev: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --editable '.[dev]'
	touch $@ $(VENV)/.run
