[ -e /var/lib/vaquita ] || install -d -o vaquita -g vaquita -m 0700 /var/lib/vaquita
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload || true
fi
# A new installation: whether it is enabled is the distribution's policy.
if [ "$1" = 1 ] && command -v systemctl >/dev/null; then
  systemctl --no-reload preset vaquita.service || true
fi
