# make run    installs what is missing, builds, starts the server on 127.0.0.1:3306 with data in ./data
# make test   everything that CI runs
# make bench  compares with MySQL and MariaDB (see docs/benchmarks)

SHELL := /bin/bash
DATA ?= ./data
PORT ?= 3306

# Outside the checkout, so that RocksDB (20 minutes of C++ on two cores) is built once for all checkouts.
export CARGO_TARGET_DIR ?= $(HOME)/.cache/vaquita/target
# ccache, where it is installed, makes even a forced rebuild of RocksDB cheap.
export PATH := $(if $(wildcard /usr/lib/ccache),/usr/lib/ccache:)$(HOME)/.cargo/bin:$(PATH)

VAQUITA := $(CARGO_TARGET_DIR)/debug/vaquita

.PHONY: run build test bench deps clean

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

clean:
	cargo clean
