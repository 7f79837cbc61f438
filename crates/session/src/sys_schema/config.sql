-- What is in `sys` beside views and routines. Each runs once, when the schema is made.

CREATE DATABASE IF NOT EXISTS sys DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci;;

CREATE TABLE IF NOT EXISTS sys.sys_config (
  variable VARCHAR(128) NOT NULL,
  value VARCHAR(128) DEFAULT NULL,
  set_time TIMESTAMP NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
  set_by VARCHAR(128) DEFAULT NULL,
  PRIMARY KEY (variable)
) ENGINE=InnoDB
SELECT 'diagnostics.allow_i_s_tables' AS variable, 'OFF' AS value, NOW() AS set_time, NULL AS set_by
UNION ALL SELECT 'diagnostics.include_raw', 'OFF', NOW(), NULL
UNION ALL SELECT 'ps_thread_trx_info.max_length', '65535', NOW(), NULL
UNION ALL SELECT 'statement_performance_analyzer.limit', '100', NOW(), NULL
UNION ALL SELECT 'statement_performance_analyzer.view', NULL, NOW(), NULL
UNION ALL SELECT 'statement_truncate_len', '64', NOW(), NULL;;

-- As in MySQL nobody is noted unless the variable is FALSE.
CREATE TRIGGER IF NOT EXISTS sys.sys_config_insert_set_user BEFORE INSERT ON sys.sys_config FOR EACH ROW
BEGIN
  IF @sys.ignore_sys_config_triggers = FALSE AND NEW.set_by IS NULL THEN
    SET NEW.set_by = USER();
  END IF;
END;;

CREATE TRIGGER IF NOT EXISTS sys.sys_config_update_set_user BEFORE UPDATE ON sys.sys_config FOR EACH ROW
BEGIN
  IF @sys.ignore_sys_config_triggers = FALSE AND NEW.set_by IS NULL THEN
    SET NEW.set_by = USER();
  END IF;
END;;
