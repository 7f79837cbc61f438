#!/bin/bash
# Installs what a build needs and is missing: a C++ compiler and libclang for RocksDB, and Rust; valgrind and xz for the tests.
# For Debian 12, Ubuntu 22.04 and later. Does nothing when everything is there.
set -euo pipefail

need=()
command -v c++ >/dev/null || need+=(build-essential)
command -v clang >/dev/null || need+=(clang)
compgen -G '/usr/lib/llvm-*/lib/libclang*.so*' >/dev/null || need+=(libclang-dev)
command -v curl >/dev/null || command -v cargo >/dev/null || need+=(curl ca-certificates)
command -v ccache >/dev/null || need+=(ccache)
command -v valgrind >/dev/null || need+=(valgrind)
command -v xz >/dev/null || need+=(xz-utils)

if [ ${#need[@]} -gt 0 ]; then
  sudo=; [ "$(id -u)" = 0 ] || sudo=sudo
  echo "installing: ${need[*]}"
  $sudo env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 update -q >/dev/null
  $sudo env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install -y -q --no-install-recommends "${need[@]}" >/dev/null
fi

if ! PATH="$HOME/.cargo/bin:$PATH" command -v cargo >/dev/null; then
  echo "installing Rust with rustup"
  curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh -s -- -y --profile minimal --component clippy --component rustfmt
fi
