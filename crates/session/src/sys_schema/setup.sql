-- Procedures of `sys` that set up the performance schema and show how it is set up.

-- procedure ps_setup_disable_background_threads() NOT DETERMINISTIC MODIFIES SQL DATA
BEGIN
  UPDATE performance_schema.threads SET instrumented = 'NO' WHERE type = 'BACKGROUND';
  SET @changed = ROW_COUNT();
  SELECT CONCAT('Disabled ', @changed, ' background thread', IF(@changed = 1, '', 's')) AS summary;
END;;

-- procedure ps_setup_enable_background_threads() NOT DETERMINISTIC MODIFIES SQL DATA
BEGIN
  UPDATE performance_schema.threads SET instrumented = 'YES' WHERE type = 'BACKGROUND';
  SET @changed = ROW_COUNT();
  SELECT CONCAT('Enabled ', @changed, ' background thread', IF(@changed = 1, '', 's')) AS summary;
END;;

-- procedure ps_setup_disable_consumer(consumer VARCHAR(128)) NOT DETERMINISTIC MODIFIES SQL DATA
BEGIN
  UPDATE performance_schema.setup_consumers SET enabled = 'NO' WHERE name LIKE CONCAT('%', consumer, '%');
  SET @changed = ROW_COUNT();
  SELECT CONCAT('Disabled ', @changed, ' consumer', IF(@changed = 1, '', 's')) AS summary;
END;;

-- procedure ps_setup_enable_consumer(consumer VARCHAR(128)) NOT DETERMINISTIC MODIFIES SQL DATA
BEGIN
  UPDATE performance_schema.setup_consumers SET enabled = 'YES' WHERE name LIKE CONCAT('%', consumer, '%');
  SET @changed = ROW_COUNT();
  SELECT CONCAT('Enabled ', @changed, ' consumer', IF(@changed = 1, '', 's')) AS summary;
END;;

-- procedure ps_setup_disable_instrument(in_pattern VARCHAR(128)) NOT DETERMINISTIC MODIFIES SQL DATA
BEGIN
  UPDATE performance_schema.setup_instruments SET enabled = 'NO', timed = 'NO' WHERE name LIKE CONCAT('%', in_pattern, '%');
  SET @changed = ROW_COUNT();
  SELECT CONCAT('Disabled ', @changed, ' instrument', IF(@changed = 1, '', 's')) AS summary;
END;;

-- procedure ps_setup_enable_instrument(in_pattern VARCHAR(128)) NOT DETERMINISTIC MODIFIES SQL DATA
BEGIN
  UPDATE performance_schema.setup_instruments SET enabled = 'YES', timed = 'YES' WHERE name LIKE CONCAT('%', in_pattern, '%');
  SET @changed = ROW_COUNT();
  SELECT CONCAT('Enabled ', @changed, ' instrument', IF(@changed = 1, '', 's')) AS summary;
END;;

-- procedure ps_setup_disable_thread(in_connection_id BIGINT) NOT DETERMINISTIC MODIFIES SQL DATA
BEGIN
  UPDATE performance_schema.threads SET instrumented = 'NO' WHERE processlist_id = in_connection_id;
  SET @changed = ROW_COUNT();
  SELECT CONCAT('Disabled ', @changed, ' thread', IF(@changed = 1, '', 's')) AS summary;
END;;

-- procedure ps_setup_enable_thread(in_connection_id BIGINT) NOT DETERMINISTIC MODIFIES SQL DATA
BEGIN
  UPDATE performance_schema.threads SET instrumented = 'YES' WHERE processlist_id = in_connection_id;
  SET @changed = ROW_COUNT();
  SELECT CONCAT('Enabled ', @changed, ' thread', IF(@changed = 1, '', 's')) AS summary;
END;;

-- procedure ps_setup_save(in_timeout INT) NOT DETERMINISTIC MODIFIES SQL DATA
BEGIN
  IF GET_LOCK('sys.ps_setup_save', in_timeout) <> 1 THEN
    SIGNAL SQLSTATE '90000' SET MESSAGE_TEXT = 'Could not lock the sys.ps_setup_save user lock, another thread has a saved configuration';
  END IF;
  DROP TEMPORARY TABLE IF EXISTS sys.tmp_setup_actors, sys.tmp_setup_consumers, sys.tmp_setup_instruments, sys.tmp_threads;
  CREATE TEMPORARY TABLE sys.tmp_setup_actors AS SELECT * FROM performance_schema.setup_actors;
  CREATE TEMPORARY TABLE sys.tmp_setup_consumers AS SELECT * FROM performance_schema.setup_consumers;
  CREATE TEMPORARY TABLE sys.tmp_setup_instruments AS SELECT name, enabled, timed FROM performance_schema.setup_instruments;
  CREATE TEMPORARY TABLE sys.tmp_threads AS SELECT thread_id, instrumented FROM performance_schema.threads;
END;;

-- procedure ps_setup_reload_saved() NOT DETERMINISTIC MODIFIES SQL DATA
BEGIN
  DECLARE done BOOLEAN DEFAULT FALSE;
  DECLARE v_name, v_user, v_role VARCHAR(255);
  DECLARE v_enabled, v_timed, v_history VARCHAR(3);
  DECLARE v_thread BIGINT UNSIGNED;
  DECLARE actors CURSOR FOR SELECT host, user, role, enabled, history FROM sys.tmp_setup_actors;
  DECLARE consumers CURSOR FOR SELECT name, enabled FROM sys.tmp_setup_consumers;
  DECLARE instruments CURSOR FOR SELECT saved.name, saved.enabled, saved.timed FROM sys.tmp_setup_instruments saved
    JOIN performance_schema.setup_instruments now ON now.name = saved.name
    WHERE now.enabled <> saved.enabled OR NOT now.timed <=> saved.timed;
  DECLARE observed CURSOR FOR SELECT thread_id, instrumented FROM sys.tmp_threads;
  DECLARE CONTINUE HANDLER FOR NOT FOUND SET done = TRUE;
  IF IS_USED_LOCK('sys.ps_setup_save') IS NULL OR IS_USED_LOCK('sys.ps_setup_save') <> CONNECTION_ID() THEN
    SIGNAL SQLSTATE '90000' SET MESSAGE_TEXT = 'An active save was not found: sys.ps_setup_save() is called first';
  END IF;
  DELETE FROM performance_schema.setup_actors;
  OPEN actors;
  FETCH actors INTO v_name, v_user, v_role, v_enabled, v_history;
  WHILE NOT done DO
    INSERT INTO performance_schema.setup_actors VALUES (v_name, v_user, v_role, v_enabled, v_history);
    FETCH actors INTO v_name, v_user, v_role, v_enabled, v_history;
  END WHILE;
  CLOSE actors;
  SET done = FALSE;
  OPEN consumers;
  FETCH consumers INTO v_name, v_enabled;
  WHILE NOT done DO
    UPDATE performance_schema.setup_consumers SET enabled = v_enabled WHERE name = v_name;
    FETCH consumers INTO v_name, v_enabled;
  END WHILE;
  CLOSE consumers;
  SET done = FALSE;
  OPEN instruments;
  FETCH instruments INTO v_name, v_enabled, v_timed;
  WHILE NOT done DO
    UPDATE performance_schema.setup_instruments SET enabled = v_enabled, timed = IFNULL(v_timed, 'NO') WHERE name = v_name;
    FETCH instruments INTO v_name, v_enabled, v_timed;
  END WHILE;
  CLOSE instruments;
  SET done = FALSE;
  OPEN observed;
  FETCH observed INTO v_thread, v_enabled;
  WHILE NOT done DO
    UPDATE performance_schema.threads SET instrumented = v_enabled WHERE thread_id = v_thread;
    FETCH observed INTO v_thread, v_enabled;
  END WHILE;
  CLOSE observed;
  DROP TEMPORARY TABLE sys.tmp_setup_actors, sys.tmp_setup_consumers, sys.tmp_setup_instruments, sys.tmp_threads;
  DO RELEASE_LOCK('sys.ps_setup_save');
END;;

-- procedure ps_setup_reset_to_default(in_verbose BOOLEAN) NOT DETERMINISTIC MODIFIES SQL DATA
BEGIN
  IF in_verbose THEN
    SELECT 'Resetting: setup_actors, setup_instruments, setup_consumers, setup_objects and threads' AS status;
  END IF;
  DELETE FROM performance_schema.setup_actors WHERE NOT (host = '%' AND user = '%' AND role = '%');
  INSERT IGNORE INTO performance_schema.setup_actors VALUES ('%', '%', '%', 'YES', 'YES');
  UPDATE performance_schema.setup_actors SET enabled = 'YES', history = 'YES';
  UPDATE performance_schema.setup_instruments
    SET enabled = sys.ps_is_instrument_default_enabled(name), timed = sys.ps_is_instrument_default_timed(name);
  UPDATE performance_schema.setup_consumers
    SET enabled = IF(name IN ('events_statements_current', 'events_statements_history', 'events_transactions_current',
      'events_transactions_history', 'global_instrumentation', 'thread_instrumentation', 'statements_digest'), 'YES', 'NO');
  DELETE FROM performance_schema.setup_objects
    WHERE object_schema NOT IN ('mysql', 'performance_schema', 'information_schema', '%') OR object_name <> '%';
  UPDATE performance_schema.setup_objects
    SET enabled = IF(object_schema = '%', 'YES', 'NO'), timed = IF(object_schema = '%', 'YES', 'NO');
  UPDATE performance_schema.threads SET instrumented = 'YES';
END;;

-- procedure ps_setup_show_disabled_consumers() DETERMINISTIC READS SQL DATA
SELECT name AS disabled_consumers FROM performance_schema.setup_consumers WHERE enabled = 'NO' ORDER BY disabled_consumers;;

-- procedure ps_setup_show_enabled_consumers() DETERMINISTIC READS SQL DATA
SELECT name AS enabled_consumers FROM performance_schema.setup_consumers WHERE enabled = 'YES' ORDER BY enabled_consumers;;

-- procedure ps_setup_show_disabled_instruments() DETERMINISTIC READS SQL DATA
SELECT name AS disabled_instruments, timed FROM performance_schema.setup_instruments WHERE enabled = 'NO' ORDER BY disabled_instruments;;

-- procedure ps_setup_show_enabled_instruments() DETERMINISTIC READS SQL DATA
SELECT name AS enabled_instruments, timed FROM performance_schema.setup_instruments WHERE enabled = 'YES' ORDER BY enabled_instruments;;

-- procedure ps_setup_show_disabled(in_show_instruments BOOLEAN, in_show_threads BOOLEAN) NOT DETERMINISTIC READS SQL DATA
BEGIN
  SELECT @@performance_schema AS performance_schema_enabled;
  SELECT CONCAT('''', user, '''@''', host, '''') AS disabled_users FROM performance_schema.setup_actors
    WHERE enabled = 'NO' ORDER BY disabled_users;
  SELECT object_type, CONCAT(object_schema, '.', object_name) AS objects, enabled, timed FROM performance_schema.setup_objects
    WHERE enabled = 'NO' ORDER BY object_type, objects;
  SELECT name AS disabled_consumers FROM performance_schema.setup_consumers WHERE enabled = 'NO' ORDER BY disabled_consumers;
  IF in_show_threads THEN
    SELECT IF(name = 'thread/sql/one_connection', CONCAT(processlist_user, '@', processlist_host), REPLACE(name, 'thread/', ''))
        AS disabled_threads, type AS thread_type
      FROM performance_schema.threads WHERE instrumented = 'NO' ORDER BY disabled_threads;
  END IF;
  IF in_show_instruments THEN
    SELECT name AS disabled_instruments, timed FROM performance_schema.setup_instruments WHERE enabled = 'NO' ORDER BY disabled_instruments;
  END IF;
END;;

-- procedure ps_setup_show_enabled(in_show_instruments BOOLEAN, in_show_threads BOOLEAN) DETERMINISTIC READS SQL DATA
BEGIN
  SELECT @@performance_schema AS performance_schema_enabled;
  SELECT CONCAT('''', user, '''@''', host, '''') AS enabled_users FROM performance_schema.setup_actors
    WHERE enabled = 'YES' ORDER BY enabled_users;
  SELECT object_type, CONCAT(object_schema, '.', object_name) AS objects, enabled, timed FROM performance_schema.setup_objects
    WHERE enabled = 'YES' ORDER BY object_type, objects;
  SELECT name AS enabled_consumers FROM performance_schema.setup_consumers WHERE enabled = 'YES' ORDER BY enabled_consumers;
  IF in_show_threads THEN
    SELECT IF(name = 'thread/sql/one_connection', CONCAT(processlist_user, '@', processlist_host), REPLACE(name, 'thread/', ''))
        AS enabled_threads, type AS thread_type
      FROM performance_schema.threads WHERE instrumented = 'YES' ORDER BY enabled_threads;
  END IF;
  IF in_show_instruments THEN
    SELECT name AS enabled_instruments, timed FROM performance_schema.setup_instruments WHERE enabled = 'YES' ORDER BY enabled_instruments;
  END IF;
END;;

-- procedure ps_truncate_all_tables(in_verbose BOOLEAN) DETERMINISTIC MODIFIES SQL DATA
BEGIN
  DECLARE done BOOLEAN DEFAULT FALSE;
  DECLARE emptied INT DEFAULT 0;
  DECLARE v_table VARCHAR(64);
  DECLARE counted CURSOR FOR SELECT table_name FROM information_schema.tables
    WHERE table_schema = 'performance_schema' AND (table_name LIKE '%summary%' OR table_name LIKE '%history%');
  DECLARE CONTINUE HANDLER FOR NOT FOUND SET done = TRUE;
  OPEN counted;
  FETCH counted INTO v_table;
  WHILE NOT done DO
    SET @sys.truncate = CONCAT('TRUNCATE TABLE performance_schema.', v_table);
    IF in_verbose THEN
      SELECT CONCAT('Running: ', @sys.truncate) AS status;
    END IF;
    PREPARE truncate_stmt FROM @sys.truncate;
    EXECUTE truncate_stmt;
    DEALLOCATE PREPARE truncate_stmt;
    SET emptied = emptied + 1;
    FETCH counted INTO v_table;
  END WHILE;
  CLOSE counted;
  SELECT CONCAT('Truncated ', emptied, ' tables') AS summary;
END;;
