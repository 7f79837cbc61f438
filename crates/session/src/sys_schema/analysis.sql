-- The procedures of `sys` that report on the server.

-- procedure statement_performance_analyzer(IN in_action ENUM('snapshot', 'overall', 'delta', 'create_table', 'create_tmp', 'save', 'cleanup'), IN in_table VARCHAR(129), IN in_views SET('with_runtimes_in_95th_percentile', 'analysis', 'with_errors_or_warnings', 'with_full_table_scans', 'with_sorting', 'with_temp_tables', 'custom')) NOT DETERMINISTIC CONTAINS SQL
BEGIN
  DECLARE v_db VARCHAR(64) DEFAULT IF(LOCATE('.', in_table), SUBSTRING_INDEX(in_table, '.', 1), DATABASE());
  DECLARE v_name VARCHAR(64) DEFAULT SUBSTRING_INDEX(in_table, '.', -1);
  DECLARE v_full VARCHAR(140) DEFAULT CONCAT(sys.quote_identifier(v_db), '.', sys.quote_identifier(v_name));
  DECLARE v_there VARCHAR(20) DEFAULT '';
  DECLARE v_view VARCHAR(200);
  DECLARE v_place INT DEFAULT 1;
  DECLARE v_limit INT UNSIGNED DEFAULT IFNULL(@sys.statement_performance_analyzer.limit, sys.sys_get_config('statement_performance_analyzer.limit', 100));
  DECLARE v_custom VARCHAR(200) DEFAULT IFNULL(@sys.statement_performance_analyzer.view, sys.sys_get_config('statement_performance_analyzer.view', NULL));
  DECLARE v_base VARCHAR(128) DEFAULT 'performance_schema.events_statements_summary_by_digest';
  DECLARE was_observed VARCHAR(3) DEFAULT (SELECT instrumented FROM performance_schema.threads WHERE processlist_id = CONNECTION_ID());
  IF was_observed = 'YES' THEN
    CALL sys.ps_setup_disable_thread(CONNECTION_ID());
  END IF;
  SET in_views = IFNULL(NULLIF(in_views, ''), 'with_runtimes_in_95th_percentile,analysis,with_errors_or_warnings,with_full_table_scans,with_sorting,with_temp_tables');
  IF in_table IS NOT NULL AND in_table <> 'NOW()' THEN
    CALL sys.table_exists(v_db, v_name, v_there);
  END IF;
  CASE
  WHEN in_action IN ('create_table', 'create_tmp') THEN
    IF v_there IN ('BASE TABLE', 'TEMPORARY') AND NOT (in_action = 'create_tmp' AND v_there = 'BASE TABLE') THEN
      SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'Cannot execute the action: the table exists already.';
    END IF;
    CALL sys.execute_prepared_stmt(CONCAT('CREATE ', IF(in_action = 'create_tmp', 'TEMPORARY ', ''), 'TABLE ', v_full,
      ' AS SELECT * FROM ', v_base, ' LIMIT 0'));
  WHEN in_action = 'snapshot' THEN
    DROP TEMPORARY TABLE IF EXISTS sys.tmp_digests;
    CREATE TEMPORARY TABLE sys.tmp_digests AS SELECT * FROM performance_schema.events_statements_summary_by_digest;
  WHEN in_action = 'save' THEN
    IF v_there NOT IN ('BASE TABLE', 'TEMPORARY') THEN
      SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'The save action requires in_table to be an existing table.';
    END IF;
    CALL sys.execute_prepared_stmt(CONCAT('DELETE FROM ', v_full));
    CALL sys.execute_prepared_stmt(CONCAT('INSERT INTO ', v_full, ' SELECT * FROM sys.tmp_digests'));
  WHEN in_action = 'cleanup' THEN
    DROP TEMPORARY TABLE IF EXISTS sys.tmp_digests, sys.tmp_digests_delta;
  ELSE
    IF in_table IS NOT NULL AND in_table <> 'NOW()' AND v_there NOT IN ('BASE TABLE', 'TEMPORARY') THEN
      SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'The action requires in_table to be an existing table, NOW(), or NULL for overall.';
    END IF;
    IF in_action = 'delta' AND v_there NOT IN ('BASE TABLE', 'TEMPORARY') THEN
      SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'The delta action requires in_table to be an existing table.';
    END IF;
    DROP TEMPORARY TABLE IF EXISTS sys.tmp_digests_delta;
    IF in_action = 'delta' THEN
      -- What was counted since `in_table` was saved.
      CALL sys.execute_prepared_stmt(CONCAT('CREATE TEMPORARY TABLE sys.tmp_digests_delta AS SELECT new.schema_name, new.digest, new.digest_text,
        new.count_star - IFNULL(old.count_star, 0) AS count_star, new.sum_timer_wait - IFNULL(old.sum_timer_wait, 0) AS sum_timer_wait,
        new.max_timer_wait, new.sum_lock_time - IFNULL(old.sum_lock_time, 0) AS sum_lock_time,
        new.sum_errors - IFNULL(old.sum_errors, 0) AS sum_errors, new.sum_warnings - IFNULL(old.sum_warnings, 0) AS sum_warnings,
        new.sum_rows_affected - IFNULL(old.sum_rows_affected, 0) AS sum_rows_affected,
        new.sum_rows_sent - IFNULL(old.sum_rows_sent, 0) AS sum_rows_sent,
        new.sum_rows_examined - IFNULL(old.sum_rows_examined, 0) AS sum_rows_examined,
        new.sum_created_tmp_disk_tables - IFNULL(old.sum_created_tmp_disk_tables, 0) AS sum_created_tmp_disk_tables,
        new.sum_created_tmp_tables - IFNULL(old.sum_created_tmp_tables, 0) AS sum_created_tmp_tables,
        new.sum_sort_merge_passes - IFNULL(old.sum_sort_merge_passes, 0) AS sum_sort_merge_passes,
        new.sum_sort_range - IFNULL(old.sum_sort_range, 0) AS sum_sort_range,
        new.sum_sort_rows - IFNULL(old.sum_sort_rows, 0) AS sum_sort_rows,
        new.sum_sort_scan - IFNULL(old.sum_sort_scan, 0) AS sum_sort_scan,
        new.sum_no_index_used - IFNULL(old.sum_no_index_used, 0) AS sum_no_index_used,
        new.sum_no_good_index_used - IFNULL(old.sum_no_good_index_used, 0) AS sum_no_good_index_used, new.first_seen, new.last_seen
        FROM sys.tmp_digests new LEFT JOIN ', v_full, ' old ON new.schema_name <=> old.schema_name AND new.digest <=> old.digest
        WHERE new.count_star > IFNULL(old.count_star, 0)'));
      SET v_base = 'sys.tmp_digests_delta';
    ELSEIF in_table IS NOT NULL AND in_table <> 'NOW()' THEN
      SET v_base = v_full;
    ELSEIF in_table IS NULL THEN
      SET v_base = 'sys.tmp_digests';
    END IF;
    WHILE v_place <= 6 DO
      SET v_view = ELT(v_place, 'with_runtimes_in_95th_percentile', 'analysis', 'with_errors_or_warnings', 'with_full_table_scans', 'with_sorting', 'with_temp_tables');
      IF FIND_IN_SET(v_view, in_views) THEN
        SELECT CONCAT('Top ', v_limit, ' ', ELT(v_place, 'Queries in 95th Percentile', 'Queries Sorted by Total Latency', 'Queries with Errors',
          'Queries with Full Table Scan', 'Queries with Sorting', 'Queries with Internal Temporary Tables')) AS `Next Output`;
        CALL sys.execute_prepared_stmt(CONCAT('SELECT sys.format_statement(digest_text) AS query, schema_name AS db, count_star AS exec_count,
          sum_errors AS errors, sum_warnings AS warnings, FORMAT_PICO_TIME(sum_timer_wait) AS total_latency,
          FORMAT_PICO_TIME(max_timer_wait) AS max_latency, FORMAT_PICO_TIME(sum_timer_wait / count_star) AS avg_latency,
          sum_rows_sent AS rows_sent, sum_rows_examined AS rows_examined, sum_rows_affected AS rows_affected, ',
          ELT(v_place, '', '', '', 'sum_no_index_used AS no_index_used_count, sum_no_good_index_used AS no_good_index_used_count, ',
            'sum_sort_merge_passes AS sort_merge_passes, sum_sort_scan AS sorts_using_scans, sum_sort_range AS sort_using_range, sum_sort_rows AS rows_sorted, ',
            'sum_created_tmp_tables AS memory_tmp_tables, sum_created_tmp_disk_tables AS disk_tmp_tables, '),
          'first_seen, last_seen, digest FROM ', v_base, ' WHERE ',
          ELT(v_place, 'ROUND(sum_timer_wait / count_star / 1000000) >= (SELECT MIN(avg_us) FROM sys.x$ps_digest_95th_percentile_by_avg_us)',
            'TRUE', 'sum_errors > 0 OR sum_warnings > 0', 'sum_no_index_used > 0 OR sum_no_good_index_used > 0', 'sum_sort_rows > 0',
            'sum_created_tmp_tables > 0'),
          ' ORDER BY ', ELT(v_place, 'sum_timer_wait / count_star', 'sum_timer_wait', 'sum_errors', 'sum_no_index_used / count_star', 'sum_timer_wait', 'sum_created_tmp_disk_tables'),
          ' DESC LIMIT ', v_limit));
      END IF;
      SET v_place = v_place + 1;
    END WHILE;
    IF FIND_IN_SET('custom', in_views) THEN
      IF v_custom IS NULL THEN
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'The @sys.statement_performance_analyzer.view user variable must be set with the view or query to use.';
      END IF;
      SELECT CONCAT('Top ', v_limit, ' Queries Using Custom View') AS `Next Output`;
      CALL sys.execute_prepared_stmt(IF(v_custom LIKE 'SELECT %', v_custom, CONCAT('SELECT * FROM ', v_custom, ' LIMIT ', v_limit)));
    END IF;
  END CASE;
  IF was_observed = 'YES' THEN
    CALL sys.ps_setup_enable_thread(CONNECTION_ID());
  END IF;
END;;

-- procedure diagnostics(IN in_max_runtime INT UNSIGNED, IN in_interval INT UNSIGNED, IN in_auto_config ENUM('current', 'medium', 'full')) NOT DETERMINISTIC READS SQL DATA
BEGIN
  DECLARE began DOUBLE DEFAULT UNIX_TIMESTAMP(NOW(6));
  DECLARE runs INT DEFAULT 1;
  DECLARE setting VARCHAR(8) DEFAULT IFNULL(in_auto_config, 'current');
  DECLARE runtime INT UNSIGNED DEFAULT IFNULL(in_max_runtime, 60);
  DECLARE pause INT UNSIGNED DEFAULT IFNULL(in_interval, 30);
  IF runtime < pause THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'in_max_runtime must be greater than or equal to in_interval';
  END IF;
  IF pause = 0 OR runtime = 0 THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'in_max_runtime and in_interval must be greater than 0';
  END IF;
  IF setting <> 'current' THEN
    CALL sys.ps_setup_save(0);
    UPDATE performance_schema.setup_consumers SET enabled = 'YES' WHERE setting = 'full' OR name NOT LIKE '%\_history%';
    UPDATE performance_schema.setup_instruments SET enabled = 'YES', timed = 'YES' WHERE setting = 'full' OR name NOT LIKE 'wait/synch/%';
  END IF;
  SELECT CONCAT('Hostname: ', @@hostname, '; port: ', @@port, '; socket: ', @@socket, '; datadir: ', @@datadir, '; server UUID: ', @@server_uuid) AS `Server`;
  SELECT * FROM sys.version;
  SELECT 'VARIABLES' AS `Next Output`;
  SELECT variable_name, variable_value FROM performance_schema.global_variables ORDER BY variable_name;
  SELECT 'SETUP OF THE PERFORMANCE SCHEMA' AS `Next Output`;
  CALL sys.ps_setup_show_enabled(FALSE, TRUE);
  SELECT 'STORAGE ENGINES AND SCHEMAS' AS `Next Output`;
  SELECT engine, support, transactions, xa, savepoints FROM information_schema.engines ORDER BY engine;
  SELECT table_schema, COUNT(*) AS tables, SUM(table_rows) AS table_rows, FORMAT_BYTES(SUM(data_length)) AS data_length,
      FORMAT_BYTES(SUM(index_length)) AS index_length
    FROM information_schema.tables WHERE table_type = 'BASE TABLE' GROUP BY table_schema ORDER BY table_schema;
  DROP TEMPORARY TABLE IF EXISTS sys.tmp_metrics_first, sys.tmp_metrics_last;
  CREATE TEMPORARY TABLE sys.tmp_metrics_first AS SELECT Variable_name, Variable_value FROM sys.metrics;
  CALL sys.statement_performance_analyzer('create_tmp', 'sys.tmp_digests_first', NULL);
  CALL sys.statement_performance_analyzer('snapshot', NULL, NULL);
  CALL sys.statement_performance_analyzer('save', 'sys.tmp_digests_first', NULL);
  REPEAT
    SELECT CONCAT('RUN ', runs, ' AT ', NOW()) AS `Next Output`;
    SELECT * FROM sys.processlist;
    SELECT * FROM sys.innodb_lock_waits;
    SELECT * FROM sys.schema_table_lock_waits;
    SELECT * FROM sys.memory_global_total;
    SHOW ENGINE INNODB STATUS;
    DO SLEEP(LEAST(pause, GREATEST(0, began + runtime - UNIX_TIMESTAMP(NOW(6)))));
    SET runs = runs + 1;
  UNTIL UNIX_TIMESTAMP(NOW(6)) - began >= runtime END REPEAT;
  SELECT 'OVERALL' AS `Next Output`;
  CREATE TEMPORARY TABLE sys.tmp_metrics_last AS SELECT Variable_name, Variable_value FROM sys.metrics;
  SELECT last.Variable_name, first.Variable_value AS at_begin, last.Variable_value AS at_end,
      IF(last.Variable_value REGEXP '^[0-9.]+$' AND first.Variable_value REGEXP '^[0-9.]+$', last.Variable_value - first.Variable_value, NULL) AS delta
    FROM sys.tmp_metrics_last last LEFT JOIN sys.tmp_metrics_first first ON first.Variable_name = last.Variable_name
    ORDER BY last.Variable_name;
  CALL sys.statement_performance_analyzer('snapshot', NULL, NULL);
  CALL sys.statement_performance_analyzer('delta', 'sys.tmp_digests_first', NULL);
  SELECT * FROM sys.host_summary;
  SELECT * FROM sys.user_summary;
  SELECT * FROM sys.schema_table_statistics;
  SELECT * FROM sys.schema_index_statistics;
  SELECT * FROM sys.schema_unused_indexes;
  SELECT * FROM sys.io_global_by_file_by_bytes;
  DROP TEMPORARY TABLE IF EXISTS sys.tmp_metrics_first, sys.tmp_metrics_last, sys.tmp_digests_first;
  CALL sys.statement_performance_analyzer('cleanup', NULL, NULL);
  IF setting <> 'current' THEN
    CALL sys.ps_setup_reload_saved();
  END IF;
END;;
