if [ -d /run/systemd/system ]; then
  systemctl daemon-reload || true
  # An upgrade.
  if [ "$1" -ge 1 ]; then systemctl try-restart vaquita.service || true; fi
fi
