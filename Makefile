# Two commands do everything: `make study` and `make test`. See README.md.

CARGO ?= cargo
TARGET_DIR = $(or $(CARGO_TARGET_DIR),target)
# The binary for distribution is linked statically against musl. It is not position-independent, so that nothing has to be
# relocated when it starts (docs/journal/0011).
TARGET = $(shell uname -m)-unknown-linux-musl
# Folders of this machine are left out of it, so that it is the same wherever it is built (make reproducible). The last that fits counts.
CARGO_DIR = $(abspath $(or $(CARGO_HOME),$(HOME)/.cargo))
REMAPPED = "--remap-path-prefix=$(CURDIR)=/pinwise", "--remap-path-prefix=$(abspath $(TARGET_DIR))=/target", \
	"--remap-path-prefix=$(CARGO_DIR)=/cargo"
REMAPPED_C = -ffile-prefix-map=$(CURDIR)=/pinwise -ffile-prefix-map=$(abspath $(TARGET_DIR))=/target -ffile-prefix-map=$(CARGO_DIR)=/cargo
STATIC = target.$(TARGET).rustflags = ["-C", "target-feature=+crt-static", "-C", "relocation-model=static", $(REMAPPED)]
FOR_TARGET = CC_$(subst -,_,$(TARGET))=musl-gcc CFLAGS_$(subst -,_,$(TARGET))='$(REMAPPED_C)' $(CARGO) --config '$(STATIC)'
PINWISE = $(TARGET_DIR)/$(TARGET)/release/pinwise
# scripts/setup puts cargo-nextest, and what makes packages, there if it is not installed.
export PATH := $(abspath $(TARGET_DIR))/tools/bin:$(PATH)

PREFIX ?= /usr/local
SHARE = $(DESTDIR)$(PREFIX)/share

.PHONY: study test test-quick soak score gallery bench build install uninstall packages try-packages reproducible
.PHONY: setup setup-release setup-packages setup-tests lint deny advisories clean try-serve try-openapi try-exporter

## Builds pinwise for this machine and studies the built-in string server; writes a case and its report.
study: setup
	$(CARGO) build --locked --profile quick --package pinwise
	$(TARGET_DIR)/quick/pinwise study

## Builds everything and runs every test that CI runs (docs/testing.md).
test: setup-tests
	$(CARGO) nextest run --workspace
	$(CARGO) test --workspace --doc
	$(CARGO) nextest run --workspace --profile measured --run-ignored only

## The first part alone: unit tests, properties, snapshots, and tests that need little of the running kernel.
test-quick: setup-tests
	$(CARGO) nextest run --workspace

## What takes too long for CI: statistics, searches, kills and parsers at length (docs/testing.md).
soak: setup-tests
	scripts/soak

## Produces each cause of scenarios/ on this machine, as root, and prints which of them diagnose and explain name (docs/score.md). Some 15 min on a quiet machine.
score: setup-tests
	$(CARGO) build --workspace
	$(TARGET_DIR)/debug/score live --pinwise $(TARGET_DIR)/debug/pinwise; live=$$?; \
	$(TARGET_DIR)/debug/score explain --pinwise $(TARGET_DIR)/debug/pinwise && exit $$live

## Studies each recipe in a short form, and writes docs/gallery.md, and a report of each in target/gallery; 1.5 h at most. Some need root.
gallery: setup
	@scripts/setup servers || echo "gallery: some servers of recipes/ are missing; the page lists their recipes as failed" >&2
	$(CARGO) build --locked --profile quick --package pinwise
	scripts/gallery --pinwise $(TARGET_DIR)/quick/pinwise --folder $(TARGET_DIR)/gallery

## Opens the page of `pinwise serve` in Chromium, by mouse and keys, in three widths, light and dark; pictures in target/serve-look (docs/serve.md).
try-serve: setup
	@scripts/setup browser
	$(CARGO) build --locked --profile quick --package pinwise
	scripts/try-serve $(TARGET_DIR)/quick/pinwise

## Sends `pinwise serve` what its OpenAPI description permits, and what it does not, by Schemathesis (docs/serve.md); some minutes.
try-openapi: setup
	$(CARGO) build --locked --profile quick --package pinwise
	scripts/try-openapi $(TARGET_DIR)/quick/pinwise

## Has Prometheus scrape `pinwise watch --openmetrics`, and asks it what the dashboard asks (docs/metrics.md); as root.
try-exporter: setup
	@scripts/setup exporter
	$(CARGO) build --locked --profile quick --package pinwise
	scripts/try-exporter $(TARGET_DIR)/quick/pinwise

## Measures pinwise and other tools (lstopo, lsirq, procfs) in one run and writes benches/RESULTS.md; use a quiet machine. To print some parts only:
## make bench PARTS="account noise". Built for the same C library as pinwise, so that code measured within the benchmark costs what it costs in pinwise.
bench: build
	PINWISE=$(abspath $(PINWISE)) $(FOR_TARGET) bench --package benches --target $(TARGET) -- $(PARTS)

## The binary for distribution, one file that runs on any Linux of this architecture: target/ARCH-unknown-linux-musl/release/pinwise.
build: setup-release
	$(FOR_TARGET) build --release --package pinwise --target $(TARGET)
	@scripts/is-static $(PINWISE)

## Installs the binary, a man page for every verb, and completions for bash, zsh and fish: make install PREFIX=/usr/local (DESTDIR for packages).
install: build
	install -D -m 755 $(PINWISE) $(DESTDIR)$(PREFIX)/bin/pinwise
	install -d $(SHARE)/man/man1 $(SHARE)/bash-completion/completions $(SHARE)/zsh/site-functions $(SHARE)/fish/vendor_completions.d
	$(PINWISE) man --into $(SHARE)/man/man1
	$(PINWISE) completions bash > $(SHARE)/bash-completion/completions/pinwise
	$(PINWISE) completions zsh > $(SHARE)/zsh/site-functions/_pinwise
	$(PINWISE) completions fish > $(SHARE)/fish/vendor_completions.d/pinwise.fish

## Removes what `make install` wrote.
uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/pinwise $(SHARE)/man/man1/pinwise.1 $(SHARE)/man/man1/pinwise-*.1
	rm -f $(SHARE)/bash-completion/completions/pinwise $(SHARE)/zsh/site-functions/_pinwise $(SHARE)/fish/vendor_completions.d/pinwise.fish

## deb, rpm, OCI image, archive, SBOM and sums, of the static binary, in target/packages (docs/packages.md).
packages: setup-packages build
	@CARGO='$(CARGO)' CARGO_TARGET_DIR='$(TARGET_DIR)' scripts/package $(TARGET)

## Unpacks each of them into an empty root, and runs pinwise in it; as root.
try-packages: packages
	scripts/try-packages $(TARGET_DIR)/packages

## Builds them twice, in two folders, and compares; some minutes.
reproducible: setup-packages
	scripts/is-reproducible

## What a local build and the lints need.
setup:
	@scripts/setup build

## What the static binary needs in addition: musl, for Rust and for C.
setup-release:
	@scripts/setup release

## What the packages need in addition: cargo-deb, cargo-generate-rpm, lintian, rpm.
setup-packages:
	@scripts/setup packages

## What the tests need in addition: iproute2, and the servers and load tools of the examples.
setup-tests:
	@scripts/setup test

lint: setup
	@scripts/setup lint
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- --deny warnings

## Checks deny.toml with cargo-deny, which covers more than the test does. Building cargo-deny takes longer than building pinwise.
deny:
	@scripts/setup deny
	$(CARGO) fetch --locked
	$(CARGO) deny --offline check bans licenses sources

## Looks for advisories about what pinwise is built from; fetches their database.
advisories:
	@scripts/setup deny
	$(CARGO) deny check advisories

clean:
	$(CARGO) clean
