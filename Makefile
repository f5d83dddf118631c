# Requirements: Rust, Python >= 3.11, a C compiler, and access to the package registries.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# The extension module is built for this interpreter, regardless of other Pythons on the path.
# maturin names it so.
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python3
# maturin sets this variable. With it, cargo compiles the extension module and the Rust tests from the same artefacts.
export PYO3_BUILD_EXTENSION_MODULE := 1
# Container images often set it. Each interpreter that a test starts would then compile this package anew.
unexport PYTHONDONTWRITEBYTECODE

RUST := $(wildcard $(shell git ls-files --cached --others --exclude-standard '*.rs'))

.PHONY: install release setup browser tshark programs demo test nightly fuzz fuzz-corpus bench lint format lock clean

# The package in place: Python from this folder, and the extension module compiled as the Rust tests are (`dev`), or
# with the settings of the released wheel, for benchmarks and long studies.
install: $(VENV)/built-dev
release: $(VENV)/built-release

# All that `make test` needs: the package, the programs of other projects that tests run, the compiled tests, and what
# clippy and mypy keep about the dependencies. What they find here, `make test` prints.
setup: install $(VENV)/bytecode browser tshark programs rust-build
	@$(CLIPPY) > /dev/null 2>&1 || true
	@$(BIN)/mypy > /dev/null 2>&1 || true

# The released package: a source distribution, and the wheel that is built from it, for CPython 3.11 and later on
# any Linux with glibc 2.28 or later (zig links against that version, independent of this machine's). It is compiled
# with a profile of the training runs, for which it is compiled before, without zig, which cannot link that build. The
# profile fits since cargo gets the settings that it gets for zig; they are part of the names of functions.
DIST := out/dist
PROFILE := $(CURDIR)/out/profile
HOST = $(shell rustc --print host-tuple)
AS_FOR_ZIG := __CARGO_TEST_CHANNEL_OVERRIDE_DO_NOT_USE_THIS=nightly \
	CARGO_UNSTABLE_TARGET_APPLIES_TO_HOST=true CARGO_TARGET_APPLIES_TO_HOST=false
.PHONY: dist
dist: export CARGO_TARGET_DIR := $(abspath $(or $(CARGO_TARGET_DIR),target))
dist: export PATH := $(CURDIR)/$(BIN):$(PATH)
dist: $(VENV)/requirements
	rm -rf $(DIST) $(PROFILE) && mkdir -p $(PROFILE)/source
	maturin sdist --out $(DIST)
	tar xzf $(DIST)/*.tar.gz -C $(PROFILE)/source --strip-components 1
	rustup component add llvm-tools
	cd $(PROFILE)/source && $(AS_FOR_ZIG) RUSTFLAGS=-Cprofile-generate=$(PROFILE) \
		maturin build --release --target $(HOST) --compatibility linux --out $(PROFILE)
	$(PYTHON) -m venv $(PROFILE)/venv
	$(PROFILE)/venv/bin/pip install --quiet --disable-pip-version-check $(PROFILE)/*.whl
	$(PROFILE)/venv/bin/python $(PROFILE)/source/python/benches/training/training.py
	$$(rustc --print target-libdir)/../bin/llvm-profdata merge -o $(PROFILE)/merged.profdata $(PROFILE)/*.profraw
	cd $(PROFILE)/source && RUSTFLAGS=-Cprofile-use=$(PROFILE)/merged.profdata \
		maturin build --release --target $(HOST) --zig --compatibility manylinux_2_28 --out $(abspath $(DIST))
	$(BIN)/python tools/split_debug.py $(DIST)/*.whl --objcopy "$$(rustc --print target-libdir)/../bin/llvm-objcopy"
	@ls -l $(DIST)

# `airwnd-guard`, static and without Python, for each target that `rustup target add` has installed. Rust brings the
# C library and a linker; zig compiles the eBPF programs.
GUARD_TARGETS ?= $(filter %-linux-musl %-linux-musleabihf,$(shell rustup target list --installed))
.PHONY: guard-static
guard-static: $(VENV)/requirements
	@[ -n "$(GUARD_TARGETS)" ] || { echo 'guard-static: run first: rustup target add x86_64-unknown-linux-musl' >&2; exit 1; }
	@mkdir -p $(DIST)
	@for target in $(GUARD_TARGETS); do \
		linker=CARGO_TARGET_$$(echo $$target | tr a-z- A-Z_)_LINKER; \
		env CARGO_PROFILE_RELEASE_STRIP=symbols $$linker=rust-lld \
			cargo build --release --locked -p airwnd-guard --bin airwnd-guard --target $$target && \
		cp target/$$target/release/airwnd-guard $(DIST)/airwnd-guard-$$target || exit 1; done
	@ls -l $(DIST)

# Packages of them for Debian and OpenWrt.
.PHONY: guard-packages
guard-packages: guard-static
	$(BIN)/python tools/guard_packages.py $(DIST) --guard $(DIST)/airwnd-guard-$(shell uname -m)-unknown-linux-musl

# Packages `airwnd` and the crates that it needs as crates.io gets them, and uploads nothing. Needs cargo 1.90 or later.
PUBLISHED := units derive catalog kernel links rwnd shape tcp phy rlc cell network lab
.PHONY: publish-check
publish-check:
	cargo publish --dry-run --locked $(PUBLISHED:%=--package airwnd-%) --package airwnd

# Manual pages of the commands, in docs/man, which the wheel installs.
.PHONY: man
man: install
	$(BIN)/python docs/_site/manual.py

$(VENV)/built-%: $(VENV)/requirements $(RUST) Cargo.toml Cargo.lock pyproject.toml
	PATH="$(CURDIR)/$(BIN):$$PATH" pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation \
		--config-settings build-args='--profile $*' --editable .
	rm -f $(VENV)/built-*
	touch $@

# uv takes a sixth of the time of pip (15 instead of 91 s for 150 packages, 2026-11-29), but does not read pip's settings,
# which may name the only package index that can be reached.
PIP_INSTALL = $(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r
$(VENV)/requirements: requirements.lock
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "airwnd needs Python 3.11 or later")'
	$(PYTHON) -m venv $(VENV)
	sed -n '/^uv==/,/[^\\]$$/p' requirements.lock | $(PIP_INSTALL) /dev/stdin
	$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements.lock || \
		$(PIP_INSTALL) requirements.lock
	touch $@

# Without it the first test run would compile what it imports, each of its processes anew. Files that cannot be compiled
# are for other versions of Python.
$(VENV)/bytecode: $(VENV)/requirements
	$(BIN)/python -m compileall -qq -j 0 $(VENV)/lib || true
	touch $@

# The tests of HTML pages need a browser: the system's, otherwise Debian's package, otherwise Playwright's. The headless
# shell takes half of the time.
browser: $(VENV)/requirements
	@command -v chromium-headless-shell > /dev/null && exit 0; \
	if command -v apt-get > /dev/null && [ "$$(id -u)" = 0 ]; then apt-get update -qq && \
		for name in chromium-headless-shell chromium; do \
			apt-get install -qq --no-install-recommends $$name fonts-dejavu-core > /dev/null && exit 0; done; exit 1; fi; \
	for name in chromium chromium-browser google-chrome google-chrome-stable; do \
		command -v $$name > /dev/null && exit 0; done; \
	$(BIN)/playwright install --only-shell chromium

# The tests of captures parse them with tshark.
tshark:
	@command -v tshark > /dev/null && exit 0; \
	if command -v apt-get > /dev/null && [ "$$(id -u)" = 0 ]; then apt-get update -qq && \
		DEBIAN_FRONTEND=noninteractive apt-get install -qq --no-install-recommends tshark > /dev/null; \
	else echo 'tests of captures need tshark: install Wireshark'"'"'s command line' >&2; exit 1; fi

# The tests of congestion controls that this machine's kernel lacks boot Debian's kernel in qemu. It is unpacked, not
# installed.
LINUX := out/linux
.PHONY: linux
linux: $(LINUX)/unpacked
	@command -v qemu-system-x86_64 > /dev/null && command -v busybox > /dev/null && exit 0; \
	if command -v apt-get > /dev/null && [ "$$(id -u)" = 0 ]; then apt-get update -qq && \
		DEBIAN_FRONTEND=noninteractive apt-get install -qq --no-install-recommends \
			qemu-system-x86 busybox-static > /dev/null; \
	else echo 'tests in another kernel need qemu-system-x86_64 and a static busybox' >&2; exit 1; fi

$(LINUX)/unpacked:
	@command -v apt-get > /dev/null || { echo 'tests in another kernel need a Debian package of Linux' >&2; exit 1; }
	rm -rf $(LINUX) && mkdir -p $(LINUX)
	cd $(LINUX) && package=$$(apt-cache depends --important linux-image-amd64 | sed -n 's/ *Depends: //p') && \
		apt-get download -qq -o APT::Sandbox::User=root $$package && dpkg-deb -x $${package}_*.deb . && rm $${package}_*.deb
	touch $@

# The tests of `airwnd link` run these in its namespaces.
PROGRAMS := iperf3 ping curl ip nft pasta tcpdump
programs:
	@missing=; for name in $(PROGRAMS); do command -v $$name > /dev/null || missing="$$missing $$name"; done; \
	[ -z "$$missing" ] && exit 0; \
	if command -v apt-get > /dev/null && [ "$$(id -u)" = 0 ]; then apt-get update -qq && \
		DEBIAN_FRONTEND=noninteractive apt-get install -qq --no-install-recommends \
		iperf3 iputils-ping curl iproute2 nftables passt tcpdump > /dev/null; \
	else echo "tests of airwnd link need:$$missing" >&2; exit 1; fi

# The cell in the browser: out/web/index.html, which opens from disk and needs no network. Rust's target for WebAssembly is
# installed by rustup, and the optimiser of its modules by npm.
WEB := out/web-build
WASM = $${CARGO_TARGET_DIR:-target}/wasm32-unknown-unknown/web/airwnd_web.wasm
.PHONY: web
web: install $(WEB)/airwnd_web_bg.wasm
	$(BIN)/python crates/web/site/build.py $(WEB) out/web/index.html
	@echo "open out/web/index.html"

$(WEB)/airwnd_web_bg.wasm: $(WEB)/node_modules $(RUST) Cargo.toml Cargo.lock
	@rustup target list --installed | grep -q wasm32-unknown-unknown || rustup target add wasm32-unknown-unknown
	cargo build --locked --profile web -p airwnd-web --target wasm32-unknown-unknown
	cargo run --quiet --locked -p airwnd-bindgen -- $(WASM) $(WEB)
	$(WEB)/node_modules/.bin/wasm-opt -O2 --strip-debug --strip-producers $@ -o $@

$(WEB)/node_modules: crates/web/site/package-lock.json
	mkdir -p $(WEB) && cp crates/web/site/package.json crates/web/site/package-lock.json $(WEB)
	npm ci --silent --prefix $(WEB)
	touch $@

# Types of the pages' JavaScript, against those of the engine's interface. The explorer is checked without those of
# missing annotations and of null.
.PHONY: web-lint
web-lint: $(WEB)/airwnd_web_bg.wasm
	$(WEB)/node_modules/.bin/tsc -p crates/web/site/types
	$(WEB)/node_modules/.bin/tsc -p crates/web/site/types/explorer.json

# The engine with the plug-ins of a crate, in target/release, for `airwnd --engine`.
.PHONY: engine
engine: $(VENV)/requirements
	@[ -n "$(PLUGIN)" ] || { echo 'engine: name the crate, as in: make engine PLUGIN=gentle' >&2; exit 1; }
	cargo build --release --locked --lib -p $(PLUGIN)

# The board of all senders, receivers and queues: out/board/index.html. ARGS="--seeds 6" for narrower intervals.
.PHONY: board
board: install
	$(BIN)/python experiments/evaluation/board.py $(ARGS)

demo: install
	$(BIN)/airwnd reproduce arwa-2019/fig3 arwa-2019/fig4 arwa-2019/table3 --seeds 5 --progress

# Each step prints one line with its time, and its output only if it fails; V=1 prints all. A step that fails does not
# keep those from running that do not need it.
STEP := $(PYTHON) tools/step.py
STEPS = @$(STEP) --begin; $(MAKE) --no-print-directory --keep-going $(1); code=$$?; $(STEP) --summary; exit $$code
test: setup
	$(call STEPS,--jobs 3 kernel-tests rust-tests python-tests)

# Rust tests, Python tests and those of the running kernel, which wait most of the time, run side by side. Those of the
# kernel begin first, since cargo would let them wait for the lints.
CLIPPY := cargo clippy --all-targets --locked -- -D warnings
.PHONY: rust-lint rust-build rust-tests kernel-tests python-lint python-tests
# Their manifests exempt these from `--tests`.
KERNEL_TESTS := --test kernel --test sides
rust-build: $(VENV)/built-dev
	@$(STEP) rust-build 'Rust tests: build' -- cargo test --tests --no-run --locked
	@$(STEP) kernel-build 'Rust tests with the kernel: build' -- cargo test $(KERNEL_TESTS) --no-run --locked
	@$(STEP) engine-build 'Engine with a plug-in: build' -- cargo build --lib -p gentle --locked

# `cargo fmt` follows `mod` declarations, but `#[family]` generates those of its members: rustfmt gets every file.
rust-lint:
	@$(STEP) rustfmt 'Rust format' -- rustfmt --check --files-with-diff $(RUST)
	@$(STEP) clippy 'Rust lints' -- $(CLIPPY)

rust-tests: rust-lint
	@$(STEP) rust-tests 'Rust tests' -- cargo test --tests --locked --no-fail-fast
	@$(STEP) doctests 'Rust doctests' -- cargo test --doc --locked

kernel-tests:
	@$(STEP) kernel-tests 'Rust tests with the kernel' -- cargo test $(KERNEL_TESTS) --locked --no-fail-fast

python-lint: $(VENV)/requirements
	@$(STEP) ruff 'Python lints' -- $(BIN)/ruff check
	@$(STEP) ruff-format 'Python format' -- $(BIN)/ruff format --check
	@$(STEP) mypy 'Python types' -- $(BIN)/mypy
	@$(STEP) imports 'Python layers' -- env PYTHONPATH=python $(BIN)/lint-imports --no-logo --no-cache
	@$(STEP) prose 'Prose' -- $(BIN)/python docs/_site/prose.py --brief

python-tests: python-lint
	@$(STEP) python-tests 'Python tests' -- $(BIN)/pytest --numprocesses auto

# Tests that take minutes and rarely fail: ten thousand random handovers, a hundred thousand scenarios, the site, a
# wheel. The numbers of generated scenarios and range ends are in out/steps/.
NIGHTLY := nightly-lint nightly-fuzz nightly-web nightly-rust nightly-adapters nightly-routers nightly-scenarios \
	nightly-python
.PHONY: $(NIGHTLY)
nightly: setup linux
	$(call STEPS,$(NIGHTLY))

nightly-lint:
	@$(STEP) lint 'Lints of tools' -- $(MAKE) --no-print-directory lint-tools

nightly-fuzz:
	@$(STEP) fuzz 'Fuzzers' -- $(MAKE) --no-print-directory fuzz

nightly-web:
	@$(STEP) web 'Page with the cell' -- $(MAKE) --no-print-directory web
	@$(STEP) web-lint 'Types of the pages' -- $(MAKE) --no-print-directory web-lint

nightly-rust:
	@$(STEP) rust 'Rust tests' -- \
		cargo test --workspace --exclude airwnd-attack --locked --no-fail-fast -- --ignored

nightly-adapters:
	@$(STEP) adapters 'Tests of outside stacks' -- cargo test --locked --no-fail-fast \
		-p airwnd-linklevel -p airwnd-quinn -p airwnd-s2n -p airwnd-smoltcp -p airwnd-str0m

# Types of C differ between the processors of routers: `char` is unsigned on ARM.
ROUTER := aarch64-unknown-linux-musl
nightly-routers: $(VENV)/requirements
	@rustup target list --installed | grep -q $(ROUTER) || rustup target add $(ROUTER)
	@for target in $(sort $(ROUTER) $(GUARD_TARGETS)); do \
		$(STEP) routers "Guard for $$target" -- \
			cargo check --locked -p airwnd-guard --bin airwnd-guard --target $$target || exit 1; done

nightly-scenarios:
	@$(STEP) scenarios 'Generated scenarios' -- cargo test -p airwnd-attack --locked -- --ignored --nocapture

nightly-python:
	@$(STEP) python 'Python tests' -- \
		$(BIN)/pytest -m nightly --durations 40 --override-ini faulthandler_timeout=3600

# Runs each fuzzer for FUZZ_SECONDS, starting from the stored corpus. New inputs go to fuzz/target, failing ones to
# fuzz/artifacts. Without sanitizers (the engine has one `unsafe` call, a prefetch) stable Rust suffices.
FUZZ_SECONDS ?= 60
FUZZERS := $(basename $(notdir $(wildcard fuzz/fuzz_targets/*.rs)))
FUZZ := cargo fuzz

fuzz:
	@$(FUZZ) --version > /dev/null 2>&1 || cargo install --quiet --locked cargo-fuzz
	mkdir -p fuzz/target
	cargo run --quiet --locked -p airwnd-attack --example dictionary > fuzz/target/scenario.dict
	$(FUZZ) build --sanitizer none
	@for name in $(FUZZERS); do mkdir -p fuzz/target/corpus/$$name; \
		$(FUZZ) run --sanitizer none $$name fuzz/target/corpus/$$name fuzz/corpus/$$name -- \
			-max_total_time=$(FUZZ_SECONDS) -dict=fuzz/target/scenario.dict -timeout=60 -rss_limit_mb=2048 \
			> fuzz/target/$$name.log 2>&1 || { tail -n 40 fuzz/target/$$name.log; exit 1; }; \
		grep '^Done' fuzz/target/$$name.log | sed "s/^Done/$$name:/"; done

# Merges new inputs into the stored corpus, minimized to the smallest ones with the same coverage.
fuzz-corpus:
	@for name in $(FUZZERS); do $(FUZZ) run --sanitizer none $$name fuzz/corpus/$$name fuzz/target/corpus/$$name -- \
		-merge=1 -max_len=400; done

bench: release
	cargo run --release --locked -p airwnd-lab --example bench
	@for i in 1 2 3; do $(BIN)/python -c 'import subprocess, sys, time; \
		start = time.perf_counter(); subprocess.run([sys.argv[1], "--help"], stdout=subprocess.DEVNULL, check=True); \
		print(f"airwnd --help: {time.perf_counter() - start:.3f} s (at most 0.3)")' $(BIN)/airwnd; done
	$(BIN)/python python/benches/sweep.py
	$(MAKE) engine PLUGIN=plugin-costs
	AIRWND_ENGINE=target/release/libplugin_costs.so $(BIN)/python python/benches/plugins.py "$$(uname -nm)"
	$(MAKE) bench-instructions

# Instructions of the engine against the counts of the last release and those last stored, by Valgrind:
# independent of the machine's load.
# `make bench-instructions STORE=NAME` stores them.
.PHONY: bench-instructions
bench-instructions: $(VENV)/requirements
	cargo build --release --locked -p airwnd-lab --example run
	$(BIN)/python python/benches/instructions.py --airwnd $${CARGO_TARGET_DIR:-target}/release/examples/run \
		$(if $(STORE),--store $(STORE))

# The engine's runner, compiled as in the released wheels: with a profile of the training scenarios.
PGO := cargo pgo
TRAINED = $${CARGO_TARGET_DIR:-target}/$(HOST)/release/examples/run
.PHONY: trained
trained: install
	@$(PGO) --version > /dev/null 2>&1 || cargo install --quiet --locked cargo-pgo
	rustup component add llvm-tools
	$(PGO) instrument build -- --locked -p airwnd-lab --example run
	$(BIN)/python python/benches/training/training.py --runner $(TRAINED)
	$(PGO) optimize build -- --locked -p airwnd-lab --example run

# Side by side with ns-3's wheel, which is installed into an environment of its own. Takes ten minutes.
.PHONY: bench-peers
bench-peers: trained
	$(BIN)/python python/benches/peers.py --airwnd $(TRAINED)

# Cost and memory against UEs, cells, bandwidth and flows: table and picture of the performance page.
.PHONY: bench-scaling
bench-scaling: trained
	$(BIN)/python python/benches/scaling.py --airwnd $(TRAINED)

# Executes the notebooks and stores their outputs.
.PHONY: notebooks
notebooks: install
	$(BIN)/python docs/_site/notebooks.py

# The documentation as HTML pages that need no network.
.PHONY: site
site: install
	$(BIN)/sphinx-build -E -W --keep-going -n -j 2 -c docs . out/site
	@echo "open out/site/index.html"

lint: rust-lint python-lint

# The programs beside the product: benchmarks, studies, link-level simulation.
.PHONY: lint-tools
lint-tools: $(VENV)/requirements
	cargo clippy --workspace --all-targets --locked -- -D warnings
	$(BIN)/mypy tools python/benches crates/web/site $(shell git ls-files 'experiments/*.py')

# Wording to reconsider, with a better word for each; `make prose FILES=docs/models.md` looks at one file.
.PHONY: prose
prose: $(VENV)/requirements
	@$(BIN)/python docs/_site/prose.py $(FILES)

format: $(VENV)/requirements
	rustfmt $(RUST)
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

# Pins exact versions of all dependencies that pyproject.toml requires.
lock:
	$(BIN)/uv pip compile --quiet --generate-hashes --python $(BIN)/python --custom-compile-command 'make lock' \
		--extra dask --extra gym --extra pandas --extra plots --extra docs --extra dev --output-file requirements.lock pyproject.toml

clean:
	cargo clean
	rm -rf $(VENV) out .mypy_cache .pytest_cache .ruff_cache
	find python -name __pycache__ -type d -prune -exec rm -rf {} +
