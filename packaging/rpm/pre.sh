getent group vaquita >/dev/null || groupadd --system vaquita
getent passwd vaquita >/dev/null ||
  useradd --system --gid vaquita --no-create-home --home-dir /var/lib/vaquita --shell /usr/sbin/nologin --comment "Vaquita database server" vaquita
for flag in avx2 bmi2 fma movbe; do
  if [ -r /proc/cpuinfo ] && ! grep -qw "$flag" /proc/cpuinfo; then
    echo "vaquita needs a processor with AVX2, BMI2, FMA and MOVBE (Intel since 2013, AMD since 2015); this one lacks $flag." >&2
    exit 1
  fi
done
