# The thin front: every recipe is one script or one cargo command, which can be run by itself.

PREFIX ?= /usr/local
DESTDIR ?=
RUN := . scripts/env &&
SHELL := /bin/bash

.PHONY: help build demo test test-all test-cluster test-machines check package install uninstall reference web bench pictures clean

help:
	@echo "make demo                   build, record this machine for 10 s under load, write report.html"
	@echo "make build                  the fenxi command, in the build folder"
	@echo "make install PREFIX=DIR     bin/fenxi, libexec/fenxi-engine, lib/fenxi/libduckdb.so (default /usr/local)"
	@echo "make package                a .deb, a tar archive and an OCI image layout, in packages/"
	@echo "make check                  format, lints, tidiness, generated pages: the quick part of the tests"
	@echo "make test                   after a change: builds, lints, tests, the demo and its pages"
	@echo "make test-all               everything that must hold: also packages, attacks, injected faults, a cluster, fuzzing"
	@echo "make test-cluster           questions and findings on a local Spark, and its failures (installs it once: 500 MB, needs Java 17)"
	@echo "make test-machines          the static program of another machine (aarch64, or x86-64), under an emulator"
	@echo "make bench                  side-by-side measurements into bench/results/ (bench/README.md)"
	@echo "make web                    rebuild the report's bundle (web/dist)"
	@echo "make reference              rewrite the generated pages"
	@echo "make pictures               the pictures of README.md, of today's pages"

build:
	@scripts/build

demo: build
	@scripts/demo

test:
	@scripts/test

test-all:
	@scripts/test --all

test-cluster:
	@scripts/test-cluster

test-machines:
	@scripts/setup machines
	@scripts/static $(if $(filter aarch64,$(shell uname -m)),x86_64,aarch64) --check

check:
	@scripts/setup build
	@scripts/seed
	@$(RUN) cargo build --locked --quiet --workspace --tests --bins && "$$CARGO_TARGET_DIR/debug/xtask" ci --quick

install: build
	@scripts/install "$(DESTDIR)$(PREFIX)"

package: build
	@scripts/package

uninstall:
	rm -f "$(DESTDIR)$(PREFIX)/bin/fenxi" "$(DESTDIR)$(PREFIX)/libexec/fenxi-engine" "$(DESTDIR)$(PREFIX)"/libexec/fenxi-*-static
	rm -rf "$(DESTDIR)$(PREFIX)/lib/fenxi" "$(DESTDIR)$(PREFIX)/share/doc/fenxi"
	rm -f "$(DESTDIR)$(PREFIX)"/share/man/man1/fenxi.1 "$(DESTDIR)$(PREFIX)"/share/man/man1/fenxi-*.1
	rm -f "$(DESTDIR)$(PREFIX)/share/bash-completion/completions/fenxi" "$(DESTDIR)$(PREFIX)/share/zsh/site-functions/_fenxi"
	rm -f "$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/fenxi.fish"
	@# Only links that lead to this fenxi: another package's tool of the same name stays.
	@for tool in nicstat mpstat pstime util memstat dbstat tamp lsync Lsync; do \
	    if [ "$$(readlink "$(DESTDIR)$(PREFIX)/bin/$$tool")" = fenxi ]; then \
	        rm -f "$(DESTDIR)$(PREFIX)/bin/$$tool" "$(DESTDIR)$(PREFIX)/share/man/man1/$$tool.1"; fi; done

reference:
	@scripts/setup build
	@scripts/seed
	@# The whole workspace: with fewer crates, dependencies have other features and are built once more.
	@$(RUN) cargo build --locked --quiet --workspace --bins && "$$CARGO_TARGET_DIR/debug/xtask" gen

web:
	@scripts/web build

bench: build
	@bench/all.sh

pictures:
	@scripts/pictures

clean:
	@$(RUN) cargo clean
