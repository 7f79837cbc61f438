#!/bin/bash
# usage: package.sh [stage|deb|rpm|tarball|sbom|all] (all without a word)
# Packs what `cargo build` made into $CARGO_TARGET_DIR/package. The binary is that of the one profile (docs/decisions/build.md),
# without debug information. The cargo plugins are taken from the path, or are installed once into ~/.cache/vaquita/package-tools.
#
#   package/release        what is packed: the binary, man pages, completions, the SBOM
#   package/*.deb *.rpm *.tar.gz *.cdx.json
set -euo pipefail
cd "$(dirname "$0")/.."
what=${1:-all}
target=$(cargo metadata --locked --offline --no-deps --format-version 1 | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
out=$target/package stage=$target/package/release
version=$(cargo metadata --locked --offline --no-deps --format-version 1 | tr '{' '\n' | sed -n 's/.*"name":"vaquita-server","version":"\([^"]*\)".*/\1/p' | head -1)
tools=${XDG_CACHE_HOME:-$HOME/.cache}/vaquita/package-tools
PATH=$PATH:$tools/bin

# Name and version of a cargo plugin.
plugin() {
  command -v "$1" >/dev/null && return
  echo "installing $1 $2"
  CARGO_TARGET_DIR=$tools/target cargo install --locked --quiet --root "$tools" --version "$2" "$1"
}

sbom() {
  plugin cargo-cyclonedx 0.5.9
  # It writes beside the manifest, whatever it is told, for each crate of the workspace that the server is made of.
  cargo cyclonedx --quiet --format json --spec-version 1.5 --target x86_64-unknown-linux-gnu --override-filename vaquita-package.cdx \
    --manifest-path crates/server/Cargo.toml
  # Nobody needs to know where the checkout was.
  sed "s|file://$PWD|file:///vaquita|g" crates/server/vaquita-package.cdx.json >"$stage/vaquita.cdx.json"
  find crates harness xtask -name vaquita-package.cdx.json -delete
  cp "$stage/vaquita.cdx.json" "$out/vaquita-$version.cdx.json"
}

stage() {
  rm -rf "$stage"
  mkdir -p "$stage/man"
  strip --strip-unneeded -o "$stage/vaquita" "$target/debug/vaquita"
  "$stage/vaquita" man-pages "$stage/man"
  gzip -9n "$stage"/man/*.1
  sbom
}

deb() {
  plugin cargo-deb 3.8.0
  CARGO_TARGET_DIR=$out cargo deb --locked --offline --quiet --no-build --no-strip --no-dbgsym -p vaquita-server --output "$out/"
}

rpm() {
  plugin cargo-generate-rpm 0.21.1
  CARGO_TARGET_DIR=$out cargo generate-rpm -p crates/server --target-dir "$out" --auto-req builtin -o "$out/"
}

# A tree for a prefix such as /usr/local, as `make install` makes it.
tarball() {
  local name=vaquita-$version-x86_64-linux
  rm -rf "${out:?}/$name"
  tools/install.sh "$stage" "$out/$name"
  tar -C "$out" --owner=0 --group=0 --sort=name -czf "$out/$name.tar.gz" "$name"
  rm -rf "${out:?}/$name"
}

mkdir -p "$out"
case $what in
stage | sbom | deb | rpm | tarball) "$what" ;;
all)
  stage
  deb
  rpm
  tarball
  # The oldest glibc on which it runs.
  objdump -T "$stage/vaquita" | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -1
  ls -l "$out"/*.deb "$out"/*.rpm "$out"/*.tar.gz "$out"/*.cdx.json
  ;;
*)
  echo "package.sh: $what is nothing to make" >&2
  exit 2
  ;;
esac
