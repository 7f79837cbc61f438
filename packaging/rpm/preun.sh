# The last version goes.
if [ "$1" = 0 ] && command -v systemctl >/dev/null; then
  systemctl --no-reload disable --now vaquita.service || true
fi
