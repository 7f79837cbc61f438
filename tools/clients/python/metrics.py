"""/metrics as others read it: the parsers of Prometheus' own library, the names that Grafana's board of MySQL asks for, and mysqld_exporter."""

import base64
import os
import re
import ssl
import subprocess
import sys
import urllib.request

from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_metrics
from prometheus_client.parser import text_string_to_metric_families as prometheus

from own_server import PASSWORD, OwnServer, free_port, wait_for

OPEN_METRICS = "application/openmetrics-text"
# What the board "MySQL Overview" of mysqld_exporter's mixin asks for, without what MySQL 8 does not have (the query cache, TokuDB).
BOARD = """
aborted_clients aborted_connects buffer_pool_pages bytes_received bytes_sent commands_total created_tmp_disk_tables created_tmp_files
created_tmp_tables handlers_total innodb_page_size max_used_connections open_files open_table_definitions open_tables opened_files
opened_table_definitions opened_tables queries questions select_full_join select_full_range_join select_range select_range_check
select_scan slow_queries sort_merge_passes sort_range sort_rows sort_scan table_locks_immediate table_locks_waited
table_open_cache_hits table_open_cache_misses table_open_cache_overflows threads_cached threads_connected threads_created
threads_running uptime
""".split()
BOARD_VARIABLES = """
innodb_buffer_pool_size innodb_log_buffer_size key_buffer_size max_connections open_files_limit table_definition_cache
table_open_cache thread_cache_size
""".split()
# What a collector of mysqld_exporter gives of this server, by the beginnings of names. The other collectors ask for what it does not have (InnoDB's pages
# and compression, group replication, tables of other servers), or follow a source: they answer without an error, and with nothing.
GIVEN = """
binlog_size_bytes engine_innodb_queries_inside_innodb global_status_commands_total global_variables_max_connections
heartbeat_stored_timestamp_seconds info_schema_auto_increment_column info_schema_processlist_threads info_schema_processlist_processes_by_user
info_schema_table_rows mysql_max_user_connections mysql_select_priv perf_schema_events_statements_total perf_schema_events_statements_sum_total
perf_schema_external_lock_waits_total perf_schema_file_events_total perf_schema_file_instances_total perf_schema_index_io_waits_total
perf_schema_memory_events_used_bytes perf_schema_sql_lock_waits_total perf_schema_table_io_waits_total transaction_isolation version_info
""".split()
# Collectors of mysqld_exporter for servers that are not MySQL: TokuDB, and Amazon's.
NOT_MYSQL = {"engine_tokudb_status", "info_schema.replica_host"}


def scrape(server, accept="text/plain", tls=False, login=None):
    request = urllib.request.Request(f"{'https' if tls else 'http'}://127.0.0.1:{server.http}/metrics", headers={"Accept": accept})
    if login:
        request.add_header("Authorization", "Basic " + base64.b64encode(login.encode()).decode())
    context = ssl._create_unverified_context() if tls else None
    answer = urllib.request.urlopen(request, timeout=30, context=context)
    return answer.headers["Content-Type"], answer.read().decode()


def samples(families):
    return {sample.name: sample.value for family in families for sample in family.samples}


def check_formats(server):
    kind, text = scrape(server)
    assert kind.startswith("text/plain; version=0.0.4"), kind
    old = samples(prometheus(text))
    kind, text = scrape(server, OPEN_METRICS)
    assert kind.startswith(OPEN_METRICS), kind
    new = samples(open_metrics(text))
    differ = {name for name in old.keys() ^ new.keys() if not name.endswith("_created")}
    assert not differ and len(new) > 500, (len(new), differ)
    missing = [name for name in BOARD if f"mysql_global_status_{name}" not in new]
    missing += [name for name in BOARD_VARIABLES if f"mysql_global_variables_{name}" not in new]
    assert not missing and new["mysql_up"] == 1, missing
    assert samples(prometheus(scrape(server, tls=True)[1]))["mysql_up"] == 1


def check_exporter(server):
    told = subprocess.run(["prometheus-mysqld-exporter", "--help"], capture_output=True, text=True)
    # Those with a value are settings of collectors.
    collectors = set(re.findall(r"^ +--(?:\[no-\])?collect\.([a-z_.]+)(?= |$)", told.stdout + told.stderr, re.MULTILINE)) - NOT_MYSQL
    assert len(collectors) > 25, told
    # What pt-heartbeat writes, for the collector of it.
    cursor = server.connect().cursor()
    cursor.execute("CREATE DATABASE heartbeat")
    cursor.execute("CREATE TABLE heartbeat.heartbeat (ts VARCHAR(26) NOT NULL, server_id INT UNSIGNED NOT NULL PRIMARY KEY)")
    cursor.execute("INSERT INTO heartbeat.heartbeat VALUES (UTC_TIMESTAMP(6), @@server_id)")
    port, log = free_port(), f"{server.dir.name}/exporter"
    switches = [f"--collect.{name}" for name in sorted(collectors)]
    environment = {**os.environ, "DATA_SOURCE_NAME": f"root:{PASSWORD}@(127.0.0.1:{server.port})/"}
    with open(log, "w") as file:
        listen = f"--web.listen-address=127.0.0.1:{port}"
        exporter = subprocess.Popen(["prometheus-mysqld-exporter", listen, *switches], stdout=file, stderr=file, env=environment)

    def answer():
        try:
            return urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30).read().decode()
        except OSError:
            return None

    try:
        families = list(prometheus(wait_for("answer of mysqld_exporter", answer)))
    finally:
        exporter.terminate()
        exporter.wait(30)
    with open(log) as file:
        lines = [line for line in file if "level=error" in line or "level=warn" in line]
    assert not lines, lines
    known = samples(families)
    assert known["mysql_up"] == 1 and known["mysql_exporter_last_scrape_error"] == 0, known
    missing = [name for name in GIVEN if f"mysql_{name}" not in known]
    assert not missing, (missing, sorted(name for name in known if name.startswith("mysql_") and "global_" not in name))


def main():
    with OwnServer("--log-bin") as server:
        cursor = server.connect().cursor()
        cursor.execute("CREATE DATABASE d")
        cursor.execute("USE d")
        cursor.execute("CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, n INT, KEY (n))")
        cursor.execute("INSERT INTO t (n) VALUES (1), (2)")
        cursor.execute("SELECT * FROM t WHERE n = 1")
        check_formats(server)
        check_exporter(server)


sys.exit(main())
