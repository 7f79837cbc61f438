# make run    installs what is missing, builds, starts the server on 127.0.0.1:3306 with data in ./data
# make test   everything that CI runs
# make bench  compares with MySQL and MariaDB (see docs/benchmarks)
# make package  a .deb, an .rpm, a tarball and an SBOM in $(CARGO_TARGET_DIR)/package; make install  puts the same under PREFIX (see docs/manual/src/install.md)

SHELL := /bin/bash
DATA ?= ./data
PORT ?= 3306
PREFIX ?= /usr/local

# Outside the checkout, so that RocksDB (20 minutes of C++ on two cores) is built once for all checkouts.
export CARGO_TARGET_DIR ?= $(HOME)/.cache/vaquita/target
# ccache, where it is installed, makes even a forced rebuild of RocksDB cheap.
export PATH := $(if $(wildcard /usr/lib/ccache),/usr/lib/ccache:)$(HOME)/.cargo/bin:$(PATH)

VAQUITA := $(CARGO_TARGET_DIR)/debug/vaquita

.PHONY: run build test bench package install deps clean

deps:
	@tools/install-deps.sh

build: deps
	cargo build --locked --workspace

run: build
	@tools/print-how-to-connect.sh $(DATA) $(PORT) & \
	exec $(VAQUITA) serve --data-dir $(DATA) --port $(PORT)

test: deps
	tools/test.sh

bench: build
	cargo run --locked -p xtask -- bench

package: deps
	cargo build --locked -p vaquita-server
	tools/package.sh

install: deps
	cargo build --locked -p vaquita-server
	tools/package.sh stage
	tools/install.sh $(CARGO_TARGET_DIR)/package/release $(DESTDIR)$(PREFIX)

clean:
	cargo clean
