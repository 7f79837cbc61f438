#!/bin/bash
# usage: install.sh STAGE PREFIX_DIR
# Puts what tools/package.sh has staged into a tree with bin, share and lib. PREFIX_DIR may be below a DESTDIR.
set -euo pipefail
cd "$(dirname "$0")/.."
stage=$1 prefix=$2

install -D -m 755 "$stage/vaquita" "$prefix/bin/vaquita"
for page in "$stage"/man/*.1.gz; do install -D -m 644 "$page" "$prefix/share/man/man1/${page##*/}"; done
install -D -m 644 "$stage/man/completions/vaquita.bash" "$prefix/share/bash-completion/completions/vaquita"
install -D -m 644 "$stage/man/completions/_vaquita" "$prefix/share/zsh/site-functions/_vaquita"
install -D -m 644 "$stage/man/completions/vaquita.fish" "$prefix/share/fish/vendor_completions.d/vaquita.fish"
for file in README.md LICENSE docs/manual/src/install.md; do install -D -m 644 "$file" "$prefix/share/doc/vaquita/${file##*/}"; done
install -D -m 644 "$stage/vaquita.cdx.json" "$prefix/share/doc/vaquita/vaquita.cdx.json"
# The unit names the binary by its place. Whoever wants the service copies these to /etc, as docs/manual/src/install.md says.
for file in vaquita.service vaquita.toml sysusers.conf tmpfiles.conf; do
  install -D -m 644 "packaging/$file" "$prefix/share/vaquita/$file"
done
