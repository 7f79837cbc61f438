-- Views of `sys` about sessions, locks and the server.

-- view version
SELECT '{version}' AS sys_version, VERSION() AS mysql_version;;

-- pair innodb_lock_waits
SELECT waiter.trx_wait_started AS wait_started, TIMEDIFF(NOW(), waiter.trx_wait_started) AS wait_age,
  TIMESTAMPDIFF(SECOND, waiter.trx_wait_started, NOW()) AS wait_age_secs,
  CONCAT(sys.quote_identifier(wanted.object_schema), '.', sys.quote_identifier(wanted.object_name)) AS locked_table,
  wanted.object_schema AS locked_table_schema, wanted.object_name AS locked_table_name,
  wanted.partition_name AS locked_table_partition, wanted.subpartition_name AS locked_table_subpartition,
  wanted.index_name AS locked_index, wanted.lock_type AS locked_type,
  waiter.trx_id AS waiting_trx_id, waiter.trx_started AS waiting_trx_started,
  TIMEDIFF(NOW(), waiter.trx_started) AS waiting_trx_age, waiter.trx_rows_locked AS waiting_trx_rows_locked,
  waiter.trx_rows_modified AS waiting_trx_rows_modified, waiter.trx_mysql_thread_id AS waiting_pid,
  {statement:waiter.trx_query} AS waiting_query, wanted.engine_lock_id AS waiting_lock_id, wanted.lock_mode AS waiting_lock_mode,
  holder.trx_id AS blocking_trx_id, holder.trx_mysql_thread_id AS blocking_pid, {statement:holder.trx_query} AS blocking_query,
  held.engine_lock_id AS blocking_lock_id, held.lock_mode AS blocking_lock_mode,
  holder.trx_started AS blocking_trx_started, TIMEDIFF(NOW(), holder.trx_started) AS blocking_trx_age,
  holder.trx_rows_locked AS blocking_trx_rows_locked, holder.trx_rows_modified AS blocking_trx_rows_modified,
  CONCAT('KILL QUERY ', holder.trx_mysql_thread_id) AS sql_kill_blocking_query,
  CONCAT('KILL ', holder.trx_mysql_thread_id) AS sql_kill_blocking_connection
FROM performance_schema.data_lock_waits waits
JOIN information_schema.innodb_trx holder
  ON CAST(holder.trx_id AS CHAR) = CAST(waits.blocking_engine_transaction_id AS CHAR)
JOIN information_schema.innodb_trx waiter
  ON CAST(waiter.trx_id AS CHAR) = CAST(waits.requesting_engine_transaction_id AS CHAR)
JOIN performance_schema.data_locks held
  ON held.engine_lock_id = waits.blocking_engine_lock_id AND held.engine = waits.engine
JOIN performance_schema.data_locks wanted
  ON wanted.engine_lock_id = waits.requesting_engine_lock_id AND wanted.engine = waits.engine
ORDER BY waiter.trx_wait_started;;

-- pair schema_table_lock_waits
SELECT held.object_schema AS object_schema, held.object_name AS object_name,
  waiter.thread_id AS waiting_thread_id, waiter.processlist_id AS waiting_pid,
  sys.ps_thread_account(wanted.owner_thread_id) AS waiting_account,
  wanted.lock_type AS waiting_lock_type, wanted.lock_duration AS waiting_lock_duration,
  {statement:waiter.processlist_info} AS waiting_query, waiter.processlist_time AS waiting_query_secs,
  wait.rows_affected AS waiting_query_rows_affected, wait.rows_examined AS waiting_query_rows_examined,
  holder.thread_id AS blocking_thread_id, holder.processlist_id AS blocking_pid,
  sys.ps_thread_account(held.owner_thread_id) AS blocking_account,
  held.lock_type AS blocking_lock_type, held.lock_duration AS blocking_lock_duration,
  CONCAT('KILL QUERY ', holder.processlist_id) AS sql_kill_blocking_query,
  CONCAT('KILL ', holder.processlist_id) AS sql_kill_blocking_connection
FROM performance_schema.metadata_locks held
JOIN performance_schema.metadata_locks wanted
  ON held.object_type = wanted.object_type AND held.object_schema = wanted.object_schema AND held.object_name = wanted.object_name
    AND held.lock_status = 'GRANTED' AND wanted.lock_status = 'PENDING'
JOIN performance_schema.threads holder ON held.owner_thread_id = holder.thread_id
JOIN performance_schema.threads waiter ON wanted.owner_thread_id = waiter.thread_id
LEFT JOIN performance_schema.events_statements_current wait ON wanted.owner_thread_id = wait.thread_id
WHERE held.object_type = 'TABLE';;

-- pair processlist
SELECT threads.thread_id AS thd_id, threads.processlist_id AS conn_id,
  IF(threads.name IN ('thread/sql/one_connection', 'thread/thread_pool/tp_one_connection'),
    CONCAT(threads.processlist_user, '@', CONVERT(threads.processlist_host USING utf8mb4)),
    REPLACE(threads.name, 'thread/', '')) AS user,
  threads.processlist_db AS db, threads.processlist_command AS command, threads.processlist_state AS state,
  threads.processlist_time AS time, {statement:threads.processlist_info} AS current_statement,
  threads.execution_engine AS execution_engine,
  IF(done.end_event_id IS NULL, {time:done.timer_wait}, NULL) AS statement_latency,
  IF(done.end_event_id IS NULL, ROUND(100 * (stage.work_completed / stage.work_estimated), 2), NULL) AS progress,
  {time:done.lock_time} AS lock_latency, {time:done.cpu_time} AS cpu_latency,
  done.rows_examined AS rows_examined, done.rows_sent AS rows_sent, done.rows_affected AS rows_affected,
  done.created_tmp_tables AS tmp_tables, done.created_tmp_disk_tables AS tmp_disk_tables,
  IF(done.no_good_index_used > 0 OR done.no_index_used > 0, 'YES', 'NO') AS full_scan,
  IF(done.end_event_id IS NOT NULL, {statement:done.sql_text}, NULL) AS last_statement,
  IF(done.end_event_id IS NOT NULL, {time:done.timer_wait}, NULL) AS last_statement_latency,
  {bytes:mem.current_allocated} AS current_memory, waits.event_name AS last_wait,
  IF(waits.end_event_id IS NULL AND waits.event_name IS NOT NULL, 'Still Waiting', {time:waits.timer_wait}) AS last_wait_latency,
  waits.source AS source, {time:trx.timer_wait} AS trx_latency, trx.state AS trx_state, trx.autocommit AS trx_autocommit,
  pid.attr_value AS pid, program.attr_value AS program_name
FROM performance_schema.threads threads
LEFT JOIN performance_schema.events_waits_current waits ON threads.thread_id = waits.thread_id
LEFT JOIN performance_schema.events_stages_current stage ON threads.thread_id = stage.thread_id
LEFT JOIN performance_schema.events_statements_current done ON threads.thread_id = done.thread_id
LEFT JOIN performance_schema.events_transactions_current trx ON threads.thread_id = trx.thread_id
LEFT JOIN sys.x$memory_by_thread_by_current_bytes mem ON threads.thread_id = mem.thread_id
LEFT JOIN performance_schema.session_connect_attrs pid
  ON threads.processlist_id = pid.processlist_id AND pid.attr_name = '_pid'
LEFT JOIN performance_schema.session_connect_attrs program
  ON threads.processlist_id = program.processlist_id AND program.attr_name = 'program_name'
ORDER BY threads.processlist_time DESC, waits.timer_wait DESC;;

-- pair session
SELECT thd_id, conn_id, user, db, command, state, time, current_statement, execution_engine, statement_latency, progress,
  lock_latency, cpu_latency, rows_examined, rows_sent, rows_affected, tmp_tables, tmp_disk_tables, full_scan, last_statement,
  last_statement_latency, current_memory, last_wait, last_wait_latency, source, trx_latency, trx_state, trx_autocommit, pid,
  program_name
FROM {view:processlist}
WHERE conn_id IS NOT NULL AND command <> 'Daemon';;

-- view session_ssl_status
SELECT version.thread_id AS thread_id, version.variable_value AS ssl_version, cipher.variable_value AS ssl_cipher,
  reused.variable_value AS ssl_sessions_reused
FROM performance_schema.status_by_thread version
LEFT JOIN performance_schema.status_by_thread cipher
  ON version.thread_id = cipher.thread_id AND cipher.variable_name = 'Ssl_cipher'
LEFT JOIN performance_schema.status_by_thread reused
  ON version.thread_id = reused.thread_id AND reused.variable_name = 'Ssl_sessions_reused'
WHERE version.variable_name = 'Ssl_version';;

-- view metrics
SELECT LOWER(variable_name) AS Variable_name, variable_value AS Variable_value, 'Global Status' AS Type, 'YES' AS Enabled
FROM performance_schema.global_status
UNION ALL
SELECT name, count, CONCAT('InnoDB Metrics - ', subsystem), IF(status = 'enabled', 'YES', 'NO')
FROM information_schema.innodb_metrics
WHERE name NOT IN ('lock_row_lock_time', 'lock_row_lock_time_avg', 'lock_row_lock_time_max', 'lock_row_lock_waits',
  'buffer_pool_reads', 'buffer_pool_read_requests', 'buffer_pool_write_requests', 'buffer_pool_wait_free',
  'buffer_pool_read_ahead', 'buffer_pool_read_ahead_evicted', 'buffer_pool_pages_total', 'buffer_pool_pages_misc',
  'buffer_pool_pages_data', 'buffer_pool_bytes_data', 'buffer_pool_pages_dirty', 'buffer_pool_bytes_dirty',
  'buffer_pool_pages_free', 'buffer_pages_created', 'buffer_pages_written', 'buffer_pages_read', 'buffer_data_reads',
  'buffer_data_written', 'file_num_open_files', 'os_log_bytes_written', 'os_log_fsyncs', 'os_log_pending_fsyncs',
  'os_log_pending_writes', 'log_waits', 'log_write_requests', 'log_writes', 'innodb_dblwr_writes',
  'innodb_dblwr_pages_written', 'innodb_page_size')
UNION ALL
SELECT 'memory_current_allocated', SUM(current_number_of_bytes_used), 'Performance Schema',
  IF((SELECT COUNT(*) FROM performance_schema.setup_instruments WHERE name LIKE 'memory/%' AND enabled = 'YES') = 0, 'NO',
    IF((SELECT COUNT(*) FROM performance_schema.setup_instruments WHERE name LIKE 'memory/%' AND enabled = 'NO') = 0, 'YES', 'PARTIAL'))
FROM performance_schema.memory_summary_global_by_event_name
UNION ALL
SELECT 'memory_total_allocated', SUM(sum_number_of_bytes_alloc), 'Performance Schema',
  IF((SELECT COUNT(*) FROM performance_schema.setup_instruments WHERE name LIKE 'memory/%' AND enabled = 'YES') = 0, 'NO',
    IF((SELECT COUNT(*) FROM performance_schema.setup_instruments WHERE name LIKE 'memory/%' AND enabled = 'NO') = 0, 'YES', 'PARTIAL'))
FROM performance_schema.memory_summary_global_by_event_name
UNION ALL SELECT 'NOW()', NOW(3), 'System Time', 'YES'
UNION ALL SELECT 'UNIX_TIMESTAMP()', ROUND(UNIX_TIMESTAMP(NOW(3)), 3), 'System Time', 'YES'
ORDER BY Type, Variable_name;;
