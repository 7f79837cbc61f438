#!/bin/bash
# usage: print-how-to-connect.sh DATA_DIR PORT
# Waits until the server has written its client.cnf and answers, then says how to connect.
data=$1 port=$2
for _ in $(seq 200); do
  if [ -f "$data/client.cnf" ] && (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
    echo
    echo "Vaquita is ready. Connect with any MySQL client:"
    echo "  mysql --defaults-file=$data/client.cnf        (or mariadb --defaults-file=…)"
    echo "  user root, password in $data/client.cnf, 127.0.0.1:$port"
    (exec 3<>/dev/tcp/127.0.0.1/8306) 2>/dev/null && echo "  console: http://127.0.0.1:8306/"
    echo "Stop it with Ctrl-C."
    exit
  fi
  sleep 0.2
done
