-- The other procedures of `sys`.

-- procedure create_synonym_db(in_db_name VARCHAR(64), in_synonym VARCHAR(64)) NOT DETERMINISTIC MODIFIES SQL DATA
BEGIN
  DECLARE done BOOLEAN DEFAULT FALSE;
  DECLARE made INT DEFAULT 0;
  DECLARE v_table VARCHAR(64);
  DECLARE message VARCHAR(128);
  DECLARE named CURSOR FOR SELECT table_name FROM information_schema.tables WHERE table_schema = in_db_name;
  DECLARE CONTINUE HANDLER FOR NOT FOUND SET done = TRUE;
  IF NOT EXISTS(SELECT 1 FROM information_schema.schemata WHERE schema_name = in_db_name) THEN
    SET message = CONCAT('Unknown database ', in_db_name);
    SIGNAL SQLSTATE 'HY000' SET MESSAGE_TEXT = message;
  END IF;
  IF EXISTS(SELECT 1 FROM information_schema.schemata WHERE schema_name = in_synonym) THEN
    SET message = CONCAT('Can''t create database ', in_synonym, '; database exists');
    SIGNAL SQLSTATE 'HY000' SET MESSAGE_TEXT = message;
  END IF;
  CALL sys.execute_prepared_stmt(CONCAT('CREATE DATABASE ', sys.quote_identifier(in_synonym)));
  OPEN named;
  FETCH named INTO v_table;
  WHILE NOT done DO
    CALL sys.execute_prepared_stmt(CONCAT('CREATE SQL SECURITY INVOKER VIEW ', sys.quote_identifier(in_synonym), '.',
      sys.quote_identifier(v_table), ' AS SELECT * FROM ', sys.quote_identifier(in_db_name), '.', sys.quote_identifier(v_table)));
    SET made = made + 1;
    FETCH named INTO v_table;
  END WHILE;
  CLOSE named;
  SELECT CONCAT('Created ', made, ' view', IF(made = 1, '', 's'), ' in the ', sys.quote_identifier(in_synonym), ' database') AS summary;
END;;

-- procedure execute_prepared_stmt(in_query LONGTEXT CHARSET utf8mb4) NOT DETERMINISTIC READS SQL DATA
BEGIN
  IF in_query IS NULL OR LENGTH(in_query) < 4 THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'The @sys.execute_prepared_stmt.sql must contain a query';
  END IF;
  SET @sys.execute_prepared_stmt.sql = in_query;
  PREPARE stmt FROM @sys.execute_prepared_stmt.sql;
  EXECUTE stmt;
  DEALLOCATE PREPARE stmt;
END;;

-- procedure table_exists(IN in_db VARCHAR(64), IN in_table VARCHAR(64), OUT out_exists ENUM('', 'BASE TABLE', 'VIEW', 'TEMPORARY')) NOT DETERMINISTIC CONTAINS SQL
BEGIN
  DECLARE v_type VARCHAR(64) DEFAULT (SELECT table_type FROM information_schema.tables
    WHERE table_schema = in_db AND table_name = in_table);
  DECLARE EXIT HANDLER FOR 1050 SET out_exists = 'TEMPORARY';
  DECLARE EXIT HANDLER FOR 1146, 1347 SET out_exists = IF(v_type IS NULL, '', IF(v_type = 'VIEW', 'VIEW', 'BASE TABLE'));
  SET out_exists = '';
  -- The statement finds a temporary table of that name before others; it is made of nothing if there is none.
  SET @sys.table_exists.sql = CONCAT('SHOW CREATE TABLE ', sys.quote_identifier(in_db), '.', sys.quote_identifier(in_table));
  IF v_type IS NOT NULL THEN
    SET out_exists = IF(v_type = 'VIEW', 'VIEW', 'BASE TABLE');
  END IF;
  IF in_db NOT IN ('information_schema', 'performance_schema', 'mysql')
    AND EXISTS(SELECT 1 FROM information_schema.schemata WHERE schema_name = in_db) THEN
    SET @sys.table_exists.sql = CONCAT('CREATE TEMPORARY TABLE ', sys.quote_identifier(in_db), '.', sys.quote_identifier(in_table), ' (id INT PRIMARY KEY)');
    PREPARE stmt_table FROM @sys.table_exists.sql;
    EXECUTE stmt_table;
    DEALLOCATE PREPARE stmt_table;
    SET @sys.table_exists.sql = CONCAT('DROP TEMPORARY TABLE ', sys.quote_identifier(in_db), '.', sys.quote_identifier(in_table));
    PREPARE stmt_table FROM @sys.table_exists.sql;
    EXECUTE stmt_table;
    DEALLOCATE PREPARE stmt_table;
  END IF;
END;;

-- procedure ps_statement_avg_latency_histogram() NOT DETERMINISTIC READS SQL DATA
BEGIN
  DECLARE buckets INT DEFAULT 16;
  DECLARE low, high, width, total, place, counted, unit BIGINT UNSIGNED DEFAULT 0;
  DECLARE text LONGTEXT DEFAULT '\n\n  . = 1 unit\n  * = 2 units\n  # = 3 units\n\n';
  SELECT IFNULL(MIN(avg_us), 0), IFNULL(MAX(avg_us), 0), IFNULL(SUM(cnt), 0) INTO low, high, total
    FROM sys.x$ps_digest_avg_latency_distribution;
  SET width = GREATEST(1, CEIL((high - low) / (buckets - 1)));
  WHILE place < buckets DO
    SELECT IFNULL(SUM(cnt), 0) INTO counted FROM sys.x$ps_digest_avg_latency_distribution
      WHERE (place = 0 OR avg_us > width * place) AND avg_us <= width * (place + 1);
    SET unit = IF(counted < 20, 1, IF(counted < 40, 2, 3));
    SET text = CONCAT(text, RPAD(CONCAT('(', ROUND(width * place / 1000), ' - ', ROUND(width * (place + 1) / 1000), 'ms)'), 16, ' '),
      RPAD(counted, 6, ' '), '| ', REPEAT(ELT(unit, '.', '*', '#'), counted DIV unit), '\n');
    SET place = place + 1;
  END WHILE;
  SELECT CONCAT(text, '\n  Total Statements: ', total, '; Buckets: ', buckets, '; Bucket Size: ', ROUND(width / 1000), ' ms;\n')
    AS `Performance Schema Statement Digest Average Latency Histogram`;
END;;

-- procedure ps_trace_statement_digest(IN in_digest VARCHAR(64), IN in_runtime INT, IN in_interval DECIMAL(2,2), IN in_start_fresh BOOLEAN, IN in_auto_enable BOOLEAN) NOT DETERMINISTIC MODIFIES SQL DATA
BEGIN
  DECLARE stops DOUBLE DEFAULT UNIX_TIMESTAMP(NOW(6)) + in_runtime;
  DECLARE own BIGINT UNSIGNED DEFAULT PS_CURRENT_THREAD_ID();
  DECLARE was_observed VARCHAR(3) DEFAULT (SELECT instrumented FROM performance_schema.threads WHERE thread_id = own);
  DECLARE v_thread, v_event BIGINT UNSIGNED;
  DECLARE v_text LONGTEXT;
  UPDATE performance_schema.threads SET instrumented = 'NO' WHERE thread_id = own;
  IF in_auto_enable THEN
    CALL sys.ps_setup_save(0);
    UPDATE performance_schema.setup_consumers SET enabled = 'YES' WHERE name NOT LIKE '%\_history';
    UPDATE performance_schema.setup_instruments SET enabled = 'YES', timed = 'YES'
      WHERE name LIKE 'statement/%' OR name LIKE 'stage/%';
  END IF;
  IF in_start_fresh THEN
    TRUNCATE TABLE performance_schema.events_statements_history_long;
    TRUNCATE TABLE performance_schema.events_stages_history_long;
  END IF;
  DROP TEMPORARY TABLE IF EXISTS sys.stmt_trace, sys.stmt_stages;
  CREATE TEMPORARY TABLE sys.stmt_trace (thread_id BIGINT UNSIGNED, timer_start BIGINT UNSIGNED, event_id BIGINT UNSIGNED,
    sql_text LONGTEXT, timer_wait BIGINT UNSIGNED, lock_time BIGINT UNSIGNED, errors BIGINT UNSIGNED, mysql_errno INT,
    rows_sent BIGINT UNSIGNED, rows_affected BIGINT UNSIGNED, rows_examined BIGINT UNSIGNED, created_tmp_tables BIGINT UNSIGNED,
    created_tmp_disk_tables BIGINT UNSIGNED, no_index_used BIGINT UNSIGNED, PRIMARY KEY (thread_id, timer_start));
  CREATE TEMPORARY TABLE sys.stmt_stages (event_id BIGINT UNSIGNED, stmt_id BIGINT UNSIGNED, event_name VARCHAR(128),
    timer_wait BIGINT UNSIGNED, PRIMARY KEY (event_id));
  WHILE UNIX_TIMESTAMP(NOW(6)) < stops DO
    INSERT IGNORE INTO sys.stmt_trace
      SELECT thread_id, timer_start, event_id, sql_text, timer_wait, lock_time, errors, mysql_errno, rows_sent, rows_affected,
        rows_examined, created_tmp_tables, created_tmp_disk_tables, no_index_used
      FROM performance_schema.events_statements_history_long WHERE digest = in_digest
      UNION SELECT thread_id, timer_start, event_id, sql_text, timer_wait, lock_time, errors, mysql_errno, rows_sent,
        rows_affected, rows_examined, created_tmp_tables, created_tmp_disk_tables, no_index_used
      FROM performance_schema.events_statements_history WHERE digest = in_digest;
    INSERT IGNORE INTO sys.stmt_stages
      SELECT stage.event_id, trace.event_id, stage.event_name, stage.timer_wait
      FROM performance_schema.events_stages_history_long stage
      JOIN sys.stmt_trace trace ON stage.nesting_event_id = trace.event_id AND stage.thread_id = trace.thread_id
      WHERE stage.event_name <> 'stage/sql/Execution';
    DO SLEEP(in_interval);
  END WHILE;
  SELECT 'SUMMARY STATISTICS';
  SELECT COUNT(*) AS executions, sys.format_time(SUM(timer_wait)) AS exec_time, sys.format_time(SUM(lock_time)) AS lock_time,
      SUM(rows_sent) AS rows_sent, SUM(rows_affected) AS rows_affected, SUM(rows_examined) AS rows_examined,
      SUM(created_tmp_tables) AS tmp_tables, SUM(no_index_used) AS full_scans
    FROM sys.stmt_trace;
  SELECT event_name, COUNT(*) AS count, sys.format_time(SUM(timer_wait)) AS latency
    FROM sys.stmt_stages GROUP BY event_name ORDER BY SUM(timer_wait) DESC;
  SELECT 'LONGEST RUNNING STATEMENT';
  SELECT thread_id, sys.format_time(timer_wait) AS exec_time, sys.format_time(lock_time) AS lock_time, rows_sent, rows_affected,
      rows_examined, created_tmp_tables AS tmp_tables, no_index_used AS full_scan
    FROM sys.stmt_trace ORDER BY timer_wait DESC LIMIT 1;
  SELECT sql_text, event_id INTO v_text, v_event FROM sys.stmt_trace ORDER BY timer_wait DESC LIMIT 1;
  IF v_text IS NOT NULL THEN
    SELECT v_text AS sql_text;
    SELECT event_name, sys.format_time(timer_wait) AS latency FROM sys.stmt_stages WHERE stmt_id = v_event ORDER BY event_id;
    IF v_text REGEXP '^[[:space:]]*(SELECT|INSERT|UPDATE|DELETE|REPLACE|WITH)[[:space:]]' THEN
      BEGIN
        -- It may have been cut.
        DECLARE CONTINUE HANDLER FOR SQLEXCEPTION BEGIN END;
        CALL sys.execute_prepared_stmt(CONCAT('EXPLAIN FORMAT=TREE ', v_text));
      END;
    END IF;
  END IF;
  DROP TEMPORARY TABLE sys.stmt_trace, sys.stmt_stages;
  IF in_auto_enable THEN
    CALL sys.ps_setup_reload_saved();
  END IF;
  UPDATE performance_schema.threads SET instrumented = was_observed WHERE thread_id = own;
END;;

-- procedure ps_trace_thread(IN in_thread_id BIGINT UNSIGNED, IN in_outfile VARCHAR(255), IN in_max_runtime DECIMAL(20,2), IN in_interval DECIMAL(20,2), IN in_start_fresh BOOLEAN, IN in_auto_setup BOOLEAN, IN in_debug BOOLEAN) NOT DETERMINISTIC MODIFIES SQL DATA
BEGIN
  DECLARE stops DOUBLE DEFAULT UNIX_TIMESTAMP(NOW(6)) + IFNULL(in_max_runtime, 60);
  DECLARE own BIGINT UNSIGNED DEFAULT PS_CURRENT_THREAD_ID();
  DECLARE was_observed VARCHAR(3) DEFAULT (SELECT instrumented FROM performance_schema.threads WHERE thread_id = own);
  SET SESSION group_concat_max_len = @@GLOBAL.max_allowed_packet;
  UPDATE performance_schema.threads SET instrumented = 'NO' WHERE thread_id = own;
  IF in_auto_setup THEN
    CALL sys.ps_setup_save(0);
    DELETE FROM performance_schema.setup_actors;
    UPDATE performance_schema.threads SET instrumented = IF(thread_id = in_thread_id, 'YES', 'NO');
    UPDATE performance_schema.setup_consumers SET enabled = 'YES' WHERE name NOT LIKE '%\_history';
    UPDATE performance_schema.setup_instruments SET enabled = 'YES', timed = 'YES';
  END IF;
  IF in_start_fresh THEN
    TRUNCATE TABLE performance_schema.events_transactions_history_long;
    TRUNCATE TABLE performance_schema.events_statements_history_long;
    TRUNCATE TABLE performance_schema.events_stages_history_long;
    TRUNCATE TABLE performance_schema.events_waits_history_long;
  END IF;
  DROP TEMPORARY TABLE IF EXISTS sys.tmp_events;
  CREATE TEMPORARY TABLE sys.tmp_events (event_id BIGINT UNSIGNED PRIMARY KEY, event TEXT);
  SELECT CONCAT('Data collection starting for THREAD_ID = ', in_thread_id) AS Info;
  WHILE UNIX_TIMESTAMP(NOW(6)) < stops AND EXISTS(SELECT 1 FROM performance_schema.threads WHERE thread_id = in_thread_id) DO
    INSERT IGNORE INTO sys.tmp_events
      SELECT event_id, CONCAT(event_id, ' [label="(', sys.format_time(timer_wait), ') ', REPLACE(IFNULL(sql_text, event_name), '"', ''''),
          IF(in_debug, CONCAT('\\n', IFNULL(source, '')), ''), '"];\n',
          IF(nesting_event_id IS NULL, '', CONCAT(nesting_event_id, ' -> ', event_id, ';\n')))
      FROM (SELECT * FROM performance_schema.events_statements_history_long WHERE thread_id = in_thread_id
        UNION SELECT * FROM performance_schema.events_statements_history WHERE thread_id = in_thread_id) done;
    INSERT IGNORE INTO sys.tmp_events
      SELECT event_id, CONCAT(event_id, ' [label="(', sys.format_time(timer_wait), ') ', event_name, '\\n', state, '"];\n')
      FROM (SELECT event_id, event_name, state, timer_wait FROM performance_schema.events_transactions_history_long
          WHERE thread_id = in_thread_id
        UNION SELECT event_id, event_name, state, timer_wait FROM performance_schema.events_transactions_history
          WHERE thread_id = in_thread_id) trx;
    INSERT IGNORE INTO sys.tmp_events
      SELECT event_id, CONCAT(event_id, ' [label="(', sys.format_time(timer_wait), ') ', event_name, '"];\n',
          IF(nesting_event_id IS NULL, '', CONCAT(nesting_event_id, ' -> ', event_id, ';\n')))
      FROM (SELECT event_id, event_name, timer_wait, nesting_event_id FROM performance_schema.events_stages_history_long
          WHERE thread_id = in_thread_id
        UNION SELECT event_id, event_name, timer_wait, nesting_event_id FROM performance_schema.events_waits_history_long
          WHERE thread_id = in_thread_id) others;
    DO SLEEP(IFNULL(in_interval, 1));
  END WHILE;
  SET @sys.ps_trace_thread.sql = CONCAT('SELECT ''digraph events {\n  rankdir=LR;\n'' UNION ALL (SELECT event FROM sys.tmp_events ORDER BY event_id) UNION ALL SELECT ''}'' INTO OUTFILE ',
    QUOTE(in_outfile), ' FIELDS ESCAPED BY '''' LINES TERMINATED BY ''''');
  CALL sys.execute_prepared_stmt(@sys.ps_trace_thread.sql);
  SELECT CONCAT('Stack trace written to ', in_outfile) AS Info;
  SELECT CONCAT('dot -Tpdf -o /tmp/stack_', in_thread_id, '.pdf ', in_outfile) AS `Convert to PDF`;
  SELECT CONCAT('dot -Tpng -o /tmp/stack_', in_thread_id, '.png ', in_outfile) AS `Convert to PNG`;
  DROP TEMPORARY TABLE sys.tmp_events;
  IF in_auto_setup THEN
    CALL sys.ps_setup_reload_saved();
  END IF;
  UPDATE performance_schema.threads SET instrumented = was_observed WHERE thread_id = own;
END;;

-- procedure revoke_schema_privileges_from_all_accounts_except(IN in_schema_name CHAR(255), IN in_privileges JSON, IN in_exclude_users JSON) NOT DETERMINISTIC CONTAINS SQL
BEGIN
  DECLARE done BOOLEAN DEFAULT FALSE;
  DECLARE v_grantee VARCHAR(292);
  DECLARE v_privileges TEXT;
  DECLARE granted CURSOR FOR SELECT grantee, GROUP_CONCAT(privilege_type) FROM information_schema.schema_privileges
    WHERE table_schema = in_schema_name AND JSON_CONTAINS(UPPER(in_privileges), JSON_QUOTE(privilege_type))
      AND NOT JSON_CONTAINS(in_exclude_users, JSON_QUOTE(grantee))
    GROUP BY grantee;
  DECLARE CONTINUE HANDLER FOR NOT FOUND SET done = TRUE;
  IF in_schema_name IS NULL OR NOT EXISTS(SELECT 1 FROM information_schema.schemata WHERE schema_name = in_schema_name) THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'The schema does not exist';
  END IF;
  OPEN granted;
  FETCH granted INTO v_grantee, v_privileges;
  WHILE NOT done DO
    CALL sys.execute_prepared_stmt(CONCAT('REVOKE ', v_privileges, ' ON ', sys.quote_identifier(in_schema_name), '.* FROM ', v_grantee));
    FETCH granted INTO v_grantee, v_privileges;
  END WHILE;
  CLOSE granted;
END;;
