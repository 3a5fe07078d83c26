# Two commands do everything: `make study` and `make test`. See README.md.

CARGO ?= cargo
PINWISE = target/release/pinwise

.PHONY: study test bench build setup setup-tests lint report-picture clean

## Builds pinwise and studies the built-in string server on each CPU in turn; writes a case and its report.
study: build
	$(PINWISE) study

## Builds everything and runs every test: units, properties, snapshots, ground truth on this kernel.
test: setup-tests
	$(CARGO) test --workspace --no-fail-fast -- --test-threads=1
	$(CARGO) test --package pinwise --test ground_truth --no-fail-fast -- --ignored --test-threads=1
	$(CARGO) test --package pinwise --test guests --no-fail-fast -- --ignored --test-threads=1

## Measures beside other tools (lstopo, lsirq, procfs) in one run and writes benches/RESULTS.md; on a quiet machine.
bench: build
	$(CARGO) bench --package benches

build: setup
	$(CARGO) build --release --package pinwise

## What building needs.
setup:
	@scripts/setup build

## What the tests need beside that: iproute2, and the servers and load tools of the examples.
setup-tests:
	@scripts/setup test

lint: setup
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- --deny warnings
	@scripts/setup lint
	$(CARGO) fetch --locked
	$(CARGO) deny --offline check bans licenses sources

clean:
	$(CARGO) clean
