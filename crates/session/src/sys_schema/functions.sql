-- Functions of `sys`. A header gives the name, the parameters, what it returns, and what it does with data.

-- function extract_schema_from_file_name(path VARCHAR(512)) RETURNS VARCHAR(64) DETERMINISTIC NO SQL
RETURN LEFT(SUBSTRING_INDEX(SUBSTRING_INDEX(REPLACE(path, '\\', '/'), '/', -2), '/', 1), 64);;

-- function extract_table_from_file_name(path VARCHAR(512)) RETURNS VARCHAR(64) DETERMINISTIC NO SQL
RETURN LEFT(SUBSTRING_INDEX(REPLACE(SUBSTRING_INDEX(REPLACE(path, '\\', '/'), '/', -1), '@0024', '$'), '.', 1), 64);;

-- function format_bytes(bytes TEXT) RETURNS TEXT DETERMINISTIC NO SQL
BEGIN
  DECLARE size DOUBLE DEFAULT bytes;
  DECLARE unit INT DEFAULT 0;
  IF bytes IS NULL THEN
    RETURN NULL;
  END IF;
  IF size < 1024 THEN
    RETURN CONCAT(LPAD(ROUND(size), 4, ' '), ' bytes');
  END IF;
  WHILE size >= 1024 AND unit < 5 DO
    SET size = size / 1024, unit = unit + 1;
  END WHILE;
  RETURN CONCAT(FORMAT(size, 2), ' ', ELT(unit, 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'));
END;;

-- function format_time(picoseconds TEXT) RETURNS TEXT DETERMINISTIC NO SQL
RETURN CASE
  WHEN picoseconds IS NULL THEN NULL
  WHEN picoseconds >= 604800000000000000 THEN CONCAT(ROUND(picoseconds / 604800000000000000, 2), ' w')
  WHEN picoseconds >= 86400000000000000 THEN CONCAT(ROUND(picoseconds / 86400000000000000, 2), ' d')
  WHEN picoseconds >= 3600000000000000 THEN CONCAT(ROUND(picoseconds / 3600000000000000, 2), ' h')
  WHEN picoseconds >= 60000000000000 THEN CONCAT(ROUND(picoseconds / 60000000000000, 2), ' m')
  WHEN picoseconds >= 1000000000000 THEN CONCAT(ROUND(picoseconds / 1000000000000, 2), ' s')
  WHEN picoseconds >= 1000000000 THEN CONCAT(ROUND(picoseconds / 1000000000, 2), ' ms')
  WHEN picoseconds >= 1000000 THEN CONCAT(ROUND(picoseconds / 1000000, 2), ' us')
  WHEN picoseconds >= 1000 THEN CONCAT(ROUND(picoseconds / 1000, 2), ' ns')
  ELSE CONCAT(picoseconds, ' ps') END;;

-- function format_path(in_path VARCHAR(512)) RETURNS VARCHAR(512) CHARSET utf8mb4 DETERMINISTIC NO SQL
BEGIN
  DECLARE path VARCHAR(512) DEFAULT REPLACE(in_path, '\\', '/');
  DECLARE place INT DEFAULT 1;
  DECLARE dir, name VARCHAR(1024);
  WHILE place <= 7 AND path IS NOT NULL DO
    SET name = ELT(place, '@@datadir', '@@tmpdir', '@@replica_load_tmpdir', '@@innodb_data_home_dir', '@@innodb_log_group_home_dir',
        '@@innodb_undo_directory', '@@basedir'),
      dir = TRIM(TRAILING '/' FROM REPLACE(ELT(place, @@GLOBAL.datadir, @@GLOBAL.tmpdir, @@GLOBAL.replica_load_tmpdir,
        @@GLOBAL.innodb_data_home_dir, @@GLOBAL.innodb_log_group_home_dir, @@GLOBAL.innodb_undo_directory, @@GLOBAL.basedir),
        '\\', '/'));
    IF dir <> '' AND dir <> '.' AND (path = dir OR LEFT(path, CHAR_LENGTH(dir) + 1) = CONCAT(dir, '/')) THEN
      RETURN CONCAT(name, SUBSTRING(path, CHAR_LENGTH(dir) + 1));
    END IF;
    SET place = place + 1;
  END WHILE;
  RETURN path;
END;;

-- function format_statement(statement LONGTEXT) RETURNS LONGTEXT DETERMINISTIC NO SQL
BEGIN
  SET @sys.statement_truncate_len = IFNULL(@sys.statement_truncate_len, sys.sys_get_config('statement_truncate_len', 64));
  IF CHAR_LENGTH(statement) > @sys.statement_truncate_len THEN
    SET statement = CONCAT(LEFT(statement, (@sys.statement_truncate_len / 2) - 2), ' ... ',
      RIGHT(statement, (@sys.statement_truncate_len / 2) - 2));
  END IF;
  RETURN REPLACE(statement, '\n', ' ');
END;;

-- function list_add(in_list TEXT, in_add_value TEXT) RETURNS TEXT DETERMINISTIC CONTAINS SQL
BEGIN
  IF in_add_value IS NULL THEN
    SIGNAL SQLSTATE '02200' SET MESSAGE_TEXT = 'Function sys.list_add: in_add_value input variable should not be NULL', MYSQL_ERRNO = 1138;
  END IF;
  IF in_list IS NULL OR LENGTH(in_list) = 0 THEN
    RETURN in_add_value;
  END IF;
  RETURN CONCAT(TRIM(BOTH ',' FROM TRIM(in_list)), ',', in_add_value);
END;;

-- function list_drop(in_list TEXT, in_drop_value TEXT) RETURNS TEXT DETERMINISTIC CONTAINS SQL
BEGIN
  DECLARE list TEXT DEFAULT CONCAT(',', REPLACE(REPLACE(in_list, ', ', ','), ' ,', ','), ',');
  IF in_drop_value IS NULL THEN
    SIGNAL SQLSTATE '02200' SET MESSAGE_TEXT = 'Function sys.list_drop: in_drop_value input variable should not be NULL', MYSQL_ERRNO = 1138;
  END IF;
  IF in_list IS NULL OR LENGTH(in_list) = 0 OR LOCATE(CONCAT(',', in_drop_value, ','), list) = 0 THEN
    RETURN in_list;
  END IF;
  -- As it was written, with spaces behind commas.
  SET list = CONCAT(',', in_list, ',');
  SET list = REPLACE(REPLACE(list, CONCAT(',', in_drop_value, ','), ','), CONCAT(', ', in_drop_value, ','), ',');
  RETURN TRIM(BOTH ',' FROM TRIM(list));
END;;

-- function ps_is_account_enabled(in_host VARCHAR(255), in_user VARCHAR(32)) RETURNS ENUM('YES', 'NO') DETERMINISTIC READS SQL DATA
RETURN IF(EXISTS(SELECT 1 FROM performance_schema.setup_actors
    WHERE (host = '%' OR in_host LIKE host) AND (user = '%' OR user = in_user) AND enabled = 'YES'), 'YES', 'NO');;

-- function ps_is_consumer_enabled(in_consumer VARCHAR(64)) RETURNS ENUM('YES', 'NO') DETERMINISTIC READS SQL DATA
BEGIN
  DECLARE message VARCHAR(128) DEFAULT CONCAT('Invalid argument error: ', in_consumer, ' in function sys.ps_is_consumer_enabled.');
  DECLARE needed VARCHAR(512) DEFAULT CONCAT_WS(',', 'global_instrumentation', in_consumer,
    IF(in_consumer LIKE 'events%', 'thread_instrumentation', NULL),
    IF(in_consumer LIKE 'events%history%', CONCAT(SUBSTRING_INDEX(in_consumer, '_', 2), '_current'), NULL),
    IF(in_consumer = 'events_statements_cpu', 'events_statements_current', NULL));
  IF in_consumer IS NULL THEN
    RETURN NULL;
  END IF;
  IF NOT EXISTS(SELECT 1 FROM performance_schema.setup_consumers WHERE name = in_consumer) THEN
    SIGNAL SQLSTATE 'HY000' SET MESSAGE_TEXT = message, MYSQL_ERRNO = 3047;
  END IF;
  RETURN IF(EXISTS(SELECT 1 FROM performance_schema.setup_consumers WHERE FIND_IN_SET(name, needed) AND enabled = 'NO'), 'NO', 'YES');
END;;

-- function ps_is_instrument_default_enabled(in_instrument VARCHAR(128)) RETURNS ENUM('YES', 'NO') DETERMINISTIC READS SQL DATA
RETURN IF(in_instrument LIKE 'wait/synch/%' OR in_instrument LIKE 'wait/io/socket/%'
  OR in_instrument LIKE 'stage/%' AND in_instrument NOT LIKE 'stage/innodb/%' AND in_instrument <> 'stage/sql/copy to tmp table',
  'NO', 'YES');;

-- function ps_is_instrument_default_timed(in_instrument VARCHAR(128)) RETURNS ENUM('YES', 'NO') DETERMINISTIC READS SQL DATA
RETURN IF(in_instrument LIKE 'wait/synch/%' OR in_instrument LIKE 'memory/%'
  OR in_instrument LIKE 'stage/%' AND in_instrument NOT LIKE 'stage/innodb/%' AND in_instrument <> 'stage/sql/copy to tmp table',
  'NO', 'YES');;

-- function ps_is_thread_instrumented(in_connection_id BIGINT UNSIGNED) RETURNS ENUM('YES', 'NO', 'UNKNOWN') NOT DETERMINISTIC READS SQL DATA
BEGIN
  IF in_connection_id IS NULL THEN
    RETURN NULL;
  END IF;
  RETURN IFNULL((SELECT instrumented FROM performance_schema.threads WHERE processlist_id = in_connection_id), 'UNKNOWN');
END;;

-- function ps_thread_account(in_thread_id BIGINT UNSIGNED) RETURNS TEXT NOT DETERMINISTIC READS SQL DATA
RETURN (SELECT IF(type = 'FOREGROUND', CONCAT(processlist_user, '@', processlist_host), type)
  FROM performance_schema.threads WHERE thread_id = in_thread_id);;

-- function ps_thread_id(in_connection_id BIGINT UNSIGNED) RETURNS BIGINT UNSIGNED NOT DETERMINISTIC READS SQL DATA
RETURN (SELECT thread_id FROM performance_schema.threads WHERE processlist_id = IFNULL(in_connection_id, CONNECTION_ID()));;

-- function ps_thread_stack(thd_id BIGINT UNSIGNED, debug BOOLEAN) RETURNS LONGTEXT CHARSET latin1 NOT DETERMINISTIC READS SQL DATA
BEGIN
  DECLARE events LONGTEXT;
  SET SESSION group_concat_max_len = @@GLOBAL.max_allowed_packet;
  SELECT GROUP_CONCAT(happened.description ORDER BY happened.event_id) INTO events
  FROM (SELECT event_id, CONCAT('{"nesting_event_id": "', IFNULL(nesting_event_id, 0), '", "event_id": "', event_id,
        '", "timer_wait": ', ROUND(timer_wait / 1000000, 2), ', "event_info": ', JSON_QUOTE(IFNULL(sql_text, event_name)),
        ', "wait_info": ', JSON_QUOTE(CONCAT('errors: ', errors, '\\nwarnings: ', warnings, '\\nlock time: ', ROUND(lock_time / 1000000, 2),
          'us\\nrows affected: ', rows_affected, '\\nrows sent: ', rows_sent, '\\nrows examined: ', rows_examined,
          '\\ntmp tables: ', created_tmp_tables, '\\ntmp disk tables: ', created_tmp_disk_tables)),
        ', "source": ', JSON_QUOTE(IF(debug, IFNULL(source, ''), '')), ', "event_type": "stmt"}') AS description
      FROM performance_schema.events_statements_history_long WHERE thread_id = thd_id
    UNION SELECT event_id, CONCAT('{"nesting_event_id": "', IFNULL(nesting_event_id, 0), '", "event_id": "', event_id,
        '", "timer_wait": ', ROUND(timer_wait / 1000000, 2), ', "event_info": ', JSON_QUOTE(event_name),
        ', "wait_info": "", "source": ', JSON_QUOTE(IF(debug, IFNULL(source, ''), '')), ', "event_type": "stage"}')
      FROM performance_schema.events_stages_history_long WHERE thread_id = thd_id
    UNION SELECT event_id, CONCAT('{"nesting_event_id": "', IFNULL(nesting_event_id, 0), '", "event_id": "', event_id,
        '", "timer_wait": ', ROUND(timer_wait / 1000000, 2), ', "event_info": ', JSON_QUOTE(event_name),
        ', "wait_info": ', JSON_QUOTE(CONCAT_WS(' ', operation, object_schema, object_name, number_of_bytes)),
        ', "source": ', JSON_QUOTE(IF(debug, IFNULL(source, ''), '')), ', "event_type": "',
        CASE WHEN event_name LIKE 'wait/synch/%' THEN SUBSTRING_INDEX(SUBSTRING_INDEX(event_name, '/', 3), '/', -2)
          WHEN event_name LIKE 'wait/io/%' THEN SUBSTRING_INDEX(SUBSTRING_INDEX(event_name, '/', 3), '/', -2)
          WHEN event_name LIKE 'wait/lock/%' THEN 'lock' ELSE '' END, '"}')
      FROM performance_schema.events_waits_history_long WHERE thread_id = thd_id) happened;
  RETURN CONCAT('{"rankdir": "LR","nodesep": "0.10","stack_created": "', NOW(), '","mysql_version": "', VERSION(),
    '","mysql_user": "', CURRENT_USER(), '","events": [', IFNULL(events, ''), ']}');
END;;

-- function ps_thread_trx_info(in_thread_id BIGINT UNSIGNED) RETURNS LONGTEXT NOT DETERMINISTIC READS SQL DATA
BEGIN
  DECLARE transactions LONGTEXT;
  SET @sys.ps_thread_trx_info.max_length = IFNULL(@sys.ps_thread_trx_info.max_length, sys.sys_get_config('ps_thread_trx_info.max_length', 65535));
  SELECT JSON_PRETTY(JSON_ARRAYAGG(JSON_OBJECT('time', sys.format_time(trx.timer_wait), 'state', trx.state, 'mode', trx.access_mode,
      'autocommitted', trx.autocommit, 'gtid', trx.gtid, 'isolation', trx.isolation_level,
      'statements_executed', (SELECT JSON_ARRAYAGG(JSON_OBJECT('sql_text', done.sql_text, 'time', sys.format_time(done.timer_wait),
          'schema', done.current_schema, 'rows_examined', done.rows_examined, 'rows_affected', done.rows_affected,
          'rows_sent', done.rows_sent, 'tmp_tables', done.created_tmp_tables, 'tmp_disk_tables', done.created_tmp_disk_tables,
          'sort_rows', done.sort_rows, 'sort_merge_passes', done.sort_merge_passes))
        FROM performance_schema.events_statements_history done
        WHERE done.thread_id = trx.thread_id AND done.nesting_event_id = trx.event_id))))
  INTO transactions
  FROM (SELECT thread_id, event_id, timer_wait, state, access_mode, autocommit, gtid, isolation_level
      FROM performance_schema.events_transactions_current WHERE thread_id = in_thread_id
    UNION SELECT thread_id, event_id, timer_wait, state, access_mode, autocommit, gtid, isolation_level
      FROM performance_schema.events_transactions_history WHERE thread_id = in_thread_id) trx;
  IF LENGTH(transactions) > @sys.ps_thread_trx_info.max_length THEN
    RETURN CONCAT('{ "error": "Trx info truncated: the information is ', LENGTH(transactions), ' bytes long" }');
  END IF;
  RETURN transactions;
END;;

-- function quote_identifier(in_identifier TEXT) RETURNS TEXT CHARSET utf8mb4 DETERMINISTIC NO SQL
RETURN CONCAT('`', REPLACE(in_identifier, '`', '``'), '`');;

-- function sys_get_config(in_variable_name VARCHAR(128), in_default_value VARCHAR(128)) RETURNS VARCHAR(128) DETERMINISTIC READS SQL DATA
RETURN IFNULL((SELECT value FROM sys.sys_config WHERE variable = in_variable_name), in_default_value);;

-- function version_major() RETURNS TINYINT UNSIGNED NOT DETERMINISTIC NO SQL
RETURN SUBSTRING_INDEX(SUBSTRING_INDEX(VERSION(), '-', 1), '.', 1);;

-- function version_minor() RETURNS TINYINT UNSIGNED NOT DETERMINISTIC NO SQL
RETURN SUBSTRING_INDEX(SUBSTRING_INDEX(SUBSTRING_INDEX(VERSION(), '-', 1), '.', 2), '.', -1);;

-- function version_patch() RETURNS TINYINT UNSIGNED NOT DETERMINISTIC NO SQL
RETURN SUBSTRING_INDEX(SUBSTRING_INDEX(VERSION(), '-', 1), '.', -1);;
