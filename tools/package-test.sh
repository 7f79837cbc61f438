#!/bin/bash
# usage: package-test.sh [DEB]   (as root; needs debootstrap and a mirror of Debian; `make package` makes the .deb)
# Installs the package in a fresh Debian, starts the server as its unit does, upgrades it, removes and purges it, and looks
# each time whether the data is there. The mirror is the one that apt has; SUITE and KEEP=1 (leave the tree) are read.
# There is no systemd in the tree: ExecStart is run as the unit's user, with the directories that the unit asks for.
set -euo pipefail
cd "$(dirname "$0")/.."
[ "$(id -u)" = 0 ] || { echo "package-test.sh: needs root" >&2; exit 2; }
suite=${SUITE:-$(. /etc/os-release && echo "$VERSION_CODENAME")}
deb=${1:-$(ls -t "${CARGO_TARGET_DIR:-$HOME/.cache/vaquita/target}"/package/vaquita_*.deb | head -1)}
mirror=$(apt-get indextargets --format '$(SITE)' "Codename: $suite" 'Created-By: Packages' | head -1)
work=$(mktemp -d) root=$work/root
server=

step() { echo "== $*"; }
fail() { echo "package-test.sh: $*" >&2; exit 1; }
inside() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C DEBIAN_FRONTEND=noninteractive "$@"; }
sql() { inside mariadb -N -e "$1"; }

stop_server() {
  [ -n "$server" ] || return 0
  kill "$server" && wait "$server" || true
  server=
}
leave() {
  stop_server
  umount "$root/proc" 2>/dev/null || true
  if [ -z "${KEEP:-}" ]; then rm -rf "$work"; else echo "the tree is $root"; fi
}
trap leave EXIT

# What systemd does for the unit.
start_server() {
  local unit=$root/lib/systemd/system/vaquita.service
  [ -f "$unit" ] || unit=$root/usr/lib/systemd/system/vaquita.service
  local exec user
  exec=$(sed -n 's/^ExecStart=//p' "$unit")
  user=$(sed -n 's/^User=//p' "$unit")
  inside install -d -o "$user" -g "$user" -m 0755 /run/vaquita
  inside install -d -m 0755 /run/mysqld
  inside ln -sfn /run/vaquita/vaquita.sock /run/mysqld/mysqld.sock
  chroot --userspec="$user:$user" "$root" env -i PATH=/usr/bin:/bin VAQUITA_PORT=13399 VAQUITA_HTTP=off $exec 2>>"$work/server.log" &
  server=$!
  for _ in $(seq 600); do
    if inside vaquita ping >/dev/null 2>&1; then return; fi
    kill -0 "$server" 2>/dev/null || fail "the server has ended: $(tail -3 "$work/server.log")"
    sleep 0.1
  done
  fail "the server does not answer: $(tail -3 "$work/server.log")"
}

step "a fresh $suite"
debootstrap --variant=minbase "$suite" "$root" "$mirror" >"$work/debootstrap.log" 2>&1 || { tail "$work/debootstrap.log"; exit 1; }
mount -t proc proc "$root/proc"
cp "$deb" "$root/tmp/vaquita.deb"
# dpkg starts nothing here.
printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
chmod 755 "$root/usr/sbin/policy-rc.d"
inside apt-get update -q >/dev/null

step install
inside apt-get install -y -q --no-install-recommends /tmp/vaquita.deb mariadb-client >"$work/install.log" 2>&1 || { tail "$work/install.log"; exit 1; }
inside getent passwd vaquita >/dev/null || fail "there is no user vaquita"
[ "$(inside stat -c '%U %G %a' /var/lib/vaquita)" = "vaquita vaquita 700" ] || fail "/var/lib/vaquita: $(inside stat -c '%U %G %a' /var/lib/vaquita)"
[ -L "$root/etc/systemd/system/multi-user.target.wants/vaquita.service" ] || fail "the unit is not enabled"
inside dpkg -L vaquita | grep -q 'man1/vaquita-serve.1.gz' || fail "there are no man pages"
inside vaquita --version

step "start, and log in as the machine's root without a password"
start_server
[ "$(sql 'SELECT CURRENT_USER()')" = root@localhost ] || fail "root is not root@localhost"
sql "CREATE DATABASE shop; CREATE TABLE shop.item (id INT PRIMARY KEY, name VARCHAR(20)); INSERT INTO shop.item VALUES (1, 'lamp'), (2, 'chair')"
[ "$(sql 'SELECT COUNT(*) FROM shop.item')" = 2 ] || fail "rows are missing"
if inside setpriv --reuid=nobody --regid=nogroup --clear-groups mariadb -uroot -e 'SELECT 1' 2>/dev/null; then fail "nobody is root"; fi
if inside setpriv --reuid=nobody --regid=nogroup --clear-groups ls /var/lib/vaquita 2>/dev/null; then fail "everybody reads the data"; fi

step upgrade
dpkg-deb -R "$deb" "$work/next"
old=$(dpkg-deb -f "$deb" Version) new=$(dpkg-deb -f "$deb" Version)+next
sed -i "s/^Version: .*/Version: $new/" "$work/next/DEBIAN/control"
echo '# changed by the administrator' >>"$root/etc/vaquita/vaquita.toml"
dpkg-deb -Zgzip -z1 -b "$work/next" "$root/tmp/next.deb" >/dev/null
inside apt-get install -y -q /tmp/next.deb >"$work/upgrade.log" 2>&1 || { tail "$work/upgrade.log"; exit 1; }
[ "$(inside dpkg-query -W -f '${Version}' vaquita)" = "$new" ] || fail "$old was not upgraded"
grep -q 'changed by the administrator' "$root/etc/vaquita/vaquita.toml" || fail "the configuration was overwritten"
grep -q 'restart.*vaquita.service\|_dh_action=try-restart\|_dh_action=restart' "$root/var/lib/dpkg/info/vaquita.postinst" || fail "an upgrade does not restart the server"
stop_server
start_server
[ "$(sql 'SELECT GROUP_CONCAT(name ORDER BY id) FROM shop.item')" = lamp,chair ] || fail "rows are missing after the upgrade"

step remove
stop_server
inside apt-get remove -y -q vaquita >"$work/remove.log" 2>&1 || { tail "$work/remove.log"; exit 1; }
[ ! -e "$root/usr/bin/vaquita" ] || fail "the binary is still there"
[ -d "$root/var/lib/vaquita/rocksdb" ] || fail "the data is gone"
[ -f "$root/etc/vaquita/vaquita.toml" ] || fail "the configuration is gone"
[ ! -L "$root/run/mysqld/mysqld.sock" ] || fail "the link to the socket is still there"

step "install again, with the data that was kept"
inside apt-get install -y -q --no-install-recommends /tmp/vaquita.deb >"$work/again.log" 2>&1 || { tail "$work/again.log"; exit 1; }
start_server
[ "$(sql 'SELECT COUNT(*) FROM shop.item')" = 2 ] || fail "rows are missing after a new installation"
stop_server

step purge
inside apt-get purge -y -q vaquita >"$work/purge.log" 2>&1 || { tail "$work/purge.log"; exit 1; }
grep -q 'the data in /var/lib/vaquita was kept' "$work/purge.log" || fail "purge does not say where the data is"
[ -d "$root/var/lib/vaquita/rocksdb" ] || fail "purge took the data"
[ ! -e "$root/etc/vaquita/vaquita.toml" ] || fail "purge left the configuration"
step "as it should be"
