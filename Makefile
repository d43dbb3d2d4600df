# Everything starts here: `make demo` and `make test` set up what they need.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.ready
ARCHIVE := .venv/spark-classes.jsa

.DEFAULT_GOAL := help
.PHONY: help setup java browser web demo serve picture pictures quick test long check format fuzz chaos kill serve-kill reopen soak versus growth isolation reproduce benchmark clean

help:  ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'

setup: java $(STAMP)  ## Set up .venv with the pinned dependencies, and Java if it is missing

$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Headgate needs Python 3.11 or newer, found $$($(PYTHON) --version 2>&1): run make with PYTHON=python3.11" >&2; exit 2; }
	@echo "setting up .venv (about a minute the first time)"
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

$(ARCHIVE): $(STAMP)
	@echo "writing an archive of Spark's classes for the tests (about a minute, once)"
	@$(BIN)/python -m tests.class_archive $@ 2> /dev/null || echo "without an archive of Spark's classes the tests take longer" >&2

java:
	@sh tools/ensure-java.sh

browser:
	@sh tools/ensure-chromium.sh

web:  ## Build the dashboard from web/ into the package; needs Node 20 or newer
	@sh tools/check-web.sh quick
	@cd web && npx --no-install vite build --logLevel warn
	@$(PYTHON) tools/web_files.py record

demo: setup  ## 23 SQL queries in three classes on embedded Spark, then at a rate that saturates it; about two minutes
	@mkdir -p out
	@$(BIN)/python examples/demo.py 2> out/demo.log || { tail -n 20 out/demo.log >&2; exit 1; }

serve: setup  ## The demo plant as a server at 127.0.0.1:8440, with a few lines to try; Ctrl-C stops it
	@mkdir -p out
	@$(BIN)/headgate serve examples/plant.toml --data out/served-plant

picture: setup  ## Compare policies on a three-class sensor workload in the simulator and draw a picture
	@mkdir -p out
	@$(BIN)/headgate simulate examples/sensors.toml --policy rr --policy fcfs --policy hnr --policy bsd \
		--policy weighted-hr --plot out/sensors.png

pictures: setup browser  ## Take the pictures of the tutorial and of the dashboard's page again, in a browser; best on a quiet machine
	@HEADGATE_PICTURES=$(CURDIR)/docs/pictures $(BIN)/python -m pytest -q \
		tests/server/dashboard/test_tutorial.py tests/server/dashboard/test_tour.py

quick: $(STAMP)  ## The tests that need neither Spark nor Java nor many seconds, in a minute and a half; a test that starts Java fails
	@JAVA_HOME=$(CURDIR)/tests/no_java HYPOTHESIS_PROFILE=quick \
		$(BIN)/python -m pytest -n 2 -m "not spark and not slow"

test: setup browser $(ARCHIVE)  ## Run the tests (the README's test command)
	@$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder -m "not long"

ALL_CASES := engine/test_policies compile/test_types compile/test_oracle compile/test_fused compile/test_join_keys execution/test_oracle chaos/test_chaos
long: setup browser $(ARCHIVE)  ## What make test leaves out; without Spark, twenty times as many Hypothesis examples; on Spark, every policy and case
	@$(BIN)/python -m pytest -n 2 --dist loadfile -m long
	@HYPOTHESIS_PROFILE=long $(BIN)/python -m pytest -n 2 -m "not spark"
	@HYPOTHESIS_PROFILE=long $(BIN)/python -m pytest -n 2 --dist loadfile $(ALL_CASES:%=tests/spark/%.py)

check: setup  ## Lint, types, layers; the dashboard's sources, and whether its built files are of them
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache
	@$(BIN)/python tools/web_files.py check
	@sh tools/check-web.sh

format: setup  ## Rewrite the code in the project's format
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

MINUTES ?= 60
SEED ?= 1
fuzz: setup  ## Random queries, rows and commands against one Spark batch, for MINUTES=60 from SEED=1; failures come small
	@$(BIN)/python -m tests.spark.fuzz --minutes $(MINUTES) --seed $(SEED) --kills

reproduce: setup  ## All published results, run again quickly: published beside measured, with verdicts (minutes; --full takes hours)
	@$(BIN)/headgate reproduce --quick

serve-kill: setup  ## Kill the server, or its Java alone, 20 times while rows are pushed and results followed (15 minutes)
	@$(BIN)/python -m tests.server.kill --kills 20 --seed $(SEED)

SEEDS ?= 10000
chaos: setup  ## The engine without threads and Spark, under faults of every kind, for SEEDS=10000 from SEED=1 (40 minutes)
	@$(BIN)/python -m tests.spark.chaos --seeds $(SEEDS) --first $(SEED)

kill: setup  ## Kill the whole engine 200 times and count what is lost and doubled (an hour)
	@$(BIN)/python -m tests.spark.execution.kill --kills 200

reopen: setup  ## Kill a directory with 50 queries of every kind 20 times, opened with nothing but its path (a quarter of an hour)
	@$(BIN)/python -m tests.spark.execution.reopen --kills 20 --seed $(SEED)

soak: setup  ## Half an hour of queries coming and going on Spark; prints and draws what grows
	@mkdir -p out
	@$(BIN)/python benchmarks/soak.py --minutes 30 --plot out/soak.png 2> out/soak.log; tail -n 2 out/soak.log

versus: setup  ## Headgate against Structured Streaming on the same queries and feed (fifty minutes; ratios, not tests)
	@$(BIN)/python benchmarks/many_queries.py

growth: setup  ## How latencies and rates grow with queries and windows, beside Spark's own ways (an hour; ratios, not tests)
	@mkdir -p out
	@$(BIN)/python -m benchmarks.growth --json out/growth.json --plot out/growth.png

isolation: setup  ## Whether the critical class stays quick beside the others, at 1 to 50 times the plant's rates (20 minutes)
	@mkdir -p out
	@$(BIN)/python benchmarks/isolation.py --json out/isolation.json --plot out/isolation.png 2> out/isolation.log

benchmark: setup  ## Measure the simulator, the decisions and refresh plans (minutes; ratios, not tests)
	@$(BIN)/python -m benchmarks.simulator
	@$(BIN)/python benchmarks/decisions.py
	@$(BIN)/python benchmarks/overhead.py
	@$(BIN)/python benchmarks/freshness.py --spark --solver

clean:  ## Remove the environment and everything generated
	@rm -rf .venv out .pytest_cache .mypy_cache .ruff_cache .hypothesis
