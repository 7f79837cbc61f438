-- Views of `sys` about tables and their indexes.

-- view x$ps_schema_table_statistics_io
SELECT sys.extract_schema_from_file_name(file_name) AS table_schema, sys.extract_table_from_file_name(file_name) AS table_name,
  SUM(count_read) AS count_read, SUM(sum_number_of_bytes_read) AS sum_number_of_bytes_read,
  SUM(sum_timer_read) AS sum_timer_read, SUM(count_write) AS count_write,
  SUM(sum_number_of_bytes_write) AS sum_number_of_bytes_write, SUM(sum_timer_write) AS sum_timer_write,
  SUM(count_misc) AS count_misc, SUM(sum_timer_misc) AS sum_timer_misc
FROM performance_schema.file_summary_by_instance
GROUP BY sys.extract_schema_from_file_name(file_name), sys.extract_table_from_file_name(file_name);;

-- pair innodb_buffer_stats_by_table
SELECT IF(LOCATE('.', table_name) = 0, 'InnoDB System', REPLACE(SUBSTRING_INDEX(table_name, '.', 1), '`', '')) AS object_schema,
  REPLACE(SUBSTRING_INDEX(table_name, '.', -1), '`', '') AS object_name,
  {bytes:SUM(IF(compressed_size = 0, 16384, compressed_size))} AS allocated, {bytes:SUM(data_size)} AS data,
  COUNT(page_number) AS pages, COUNT(IF(is_hashed = 'YES', 1, NULL)) AS pages_hashed,
  COUNT(IF(is_old = 'YES', 1, NULL)) AS pages_old,
  ROUND(SUM(number_records) / COUNT(DISTINCT index_name)) AS rows_cached
FROM information_schema.innodb_buffer_page
WHERE table_name IS NOT NULL
GROUP BY IF(LOCATE('.', table_name) = 0, 'InnoDB System', REPLACE(SUBSTRING_INDEX(table_name, '.', 1), '`', '')),
  REPLACE(SUBSTRING_INDEX(table_name, '.', -1), '`', '')
ORDER BY SUM(IF(compressed_size = 0, 16384, compressed_size)) DESC;;

-- pair innodb_buffer_stats_by_schema
SELECT IF(LOCATE('.', table_name) = 0, 'InnoDB System', REPLACE(SUBSTRING_INDEX(table_name, '.', 1), '`', '')) AS object_schema,
  {bytes:SUM(IF(compressed_size = 0, 16384, compressed_size))} AS allocated, {bytes:SUM(data_size)} AS data,
  COUNT(page_number) AS pages, COUNT(IF(is_hashed = 'YES', 1, NULL)) AS pages_hashed,
  COUNT(IF(is_old = 'YES', 1, NULL)) AS pages_old,
  ROUND(IFNULL(SUM(number_records) / NULLIF(COUNT(DISTINCT index_name), 0), 0)) AS rows_cached
FROM information_schema.innodb_buffer_page
WHERE table_name IS NOT NULL
GROUP BY IF(LOCATE('.', table_name) = 0, 'InnoDB System', REPLACE(SUBSTRING_INDEX(table_name, '.', 1), '`', ''))
ORDER BY SUM(IF(compressed_size = 0, 16384, compressed_size)) DESC;;

-- view schema_auto_increment_columns
SELECT filled.table_schema AS table_schema, filled.table_name AS table_name, filled.column_name AS column_name,
  filled.data_type AS data_type, filled.column_type AS column_type,
  (LOCATE('unsigned', filled.column_type) = 0) AS is_signed, (LOCATE('unsigned', filled.column_type) > 0) AS is_unsigned,
  CASE filled.data_type WHEN 'tinyint' THEN 255 WHEN 'smallint' THEN 65535 WHEN 'mediumint' THEN 16777215
    WHEN 'int' THEN 4294967295 WHEN 'bigint' THEN 18446744073709551615 END
    >> IF(LOCATE('unsigned', filled.column_type) > 0, 0, 1) AS max_value,
  tables.auto_increment AS auto_increment,
  tables.auto_increment / (CASE filled.data_type WHEN 'tinyint' THEN 255 WHEN 'smallint' THEN 65535
    WHEN 'mediumint' THEN 16777215 WHEN 'int' THEN 4294967295 WHEN 'bigint' THEN 18446744073709551615 END
    >> IF(LOCATE('unsigned', filled.column_type) > 0, 0, 1)) AS auto_increment_ratio
FROM information_schema.columns filled
JOIN information_schema.tables tables ON filled.table_schema = tables.table_schema AND filled.table_name = tables.table_name
WHERE filled.table_schema NOT IN ('mysql', 'sys', 'information_schema', 'performance_schema')
  AND tables.table_type = 'BASE TABLE' AND filled.extra = 'auto_increment'
ORDER BY auto_increment_ratio DESC, max_value;;

-- pair schema_index_statistics
SELECT object_schema AS table_schema, object_name AS table_name, index_name AS index_name,
  count_fetch AS rows_selected, {time:sum_timer_fetch} AS select_latency,
  count_insert AS rows_inserted, {time:sum_timer_insert} AS insert_latency,
  count_update AS rows_updated, {time:sum_timer_update} AS update_latency,
  count_delete AS rows_deleted, {time:sum_timer_delete} AS delete_latency
FROM performance_schema.table_io_waits_summary_by_index_usage
WHERE index_name IS NOT NULL
ORDER BY sum_timer_wait DESC;;

-- view schema_object_overview
SELECT objects.db AS db, objects.object_type AS object_type, objects.count AS count
FROM (SELECT routine_schema AS db, routine_type AS object_type, COUNT(*) AS count
    FROM information_schema.routines GROUP BY routine_schema, routine_type
  UNION ALL SELECT table_schema, table_type, COUNT(*) FROM information_schema.tables GROUP BY table_schema, table_type
  UNION ALL SELECT table_schema, CONCAT('INDEX (', index_type, ')'), COUNT(*)
    FROM information_schema.statistics GROUP BY table_schema, index_type
  UNION ALL SELECT trigger_schema, 'TRIGGER', COUNT(*) FROM information_schema.triggers GROUP BY trigger_schema
  UNION ALL SELECT event_schema, 'EVENT', COUNT(*) FROM information_schema.events GROUP BY event_schema) objects
ORDER BY objects.db, objects.object_type;;

-- view x$schema_flattened_keys
SELECT table_schema AS table_schema, table_name AS table_name, index_name AS index_name, MAX(non_unique) AS non_unique,
  MAX(IF(sub_part IS NULL, 0, 1)) AS subpart_exists,
  GROUP_CONCAT(column_name ORDER BY seq_in_index) AS index_columns
FROM information_schema.statistics
WHERE index_type = 'BTREE' AND table_schema NOT IN ('mysql', 'sys', 'information_schema', 'performance_schema')
GROUP BY table_schema, table_name, index_name;;

-- view schema_redundant_indexes
SELECT spare.table_schema AS table_schema, spare.table_name AS table_name,
  spare.index_name AS redundant_index_name, spare.index_columns AS redundant_index_columns,
  spare.non_unique AS redundant_index_non_unique,
  kept.index_name AS dominant_index_name, kept.index_columns AS dominant_index_columns, kept.non_unique AS dominant_index_non_unique,
  IF(spare.subpart_exists OR kept.subpart_exists, 1, 0) AS subpart_exists,
  CONCAT('ALTER TABLE `', spare.table_schema, '`.`', spare.table_name, '` DROP INDEX `', spare.index_name, '`') AS sql_drop_index
FROM sys.x$schema_flattened_keys spare
JOIN sys.x$schema_flattened_keys kept ON spare.table_schema = kept.table_schema AND spare.table_name = kept.table_name
WHERE spare.index_name <> kept.index_name
  AND (spare.index_columns = kept.index_columns
      AND (spare.non_unique > kept.non_unique
        OR spare.non_unique = kept.non_unique
          AND IF(spare.index_name = 'PRIMARY', '', spare.index_name) > IF(kept.index_name = 'PRIMARY', '', kept.index_name))
    OR LOCATE(CONCAT(spare.index_columns, ','), kept.index_columns) = 1 AND spare.non_unique = 1
    OR LOCATE(CONCAT(kept.index_columns, ','), spare.index_columns) = 1 AND kept.non_unique = 0);;

-- pair schema_table_statistics
SELECT used.object_schema AS table_schema, used.object_name AS table_name, {time:used.sum_timer_wait} AS total_latency,
  used.count_fetch AS rows_fetched, {time:used.sum_timer_fetch} AS fetch_latency,
  used.count_insert AS rows_inserted, {time:used.sum_timer_insert} AS insert_latency,
  used.count_update AS rows_updated, {time:used.sum_timer_update} AS update_latency,
  used.count_delete AS rows_deleted, {time:used.sum_timer_delete} AS delete_latency,
  files.count_read AS io_read_requests, {bytes:files.sum_number_of_bytes_read} AS io_read,
  {time:files.sum_timer_read} AS io_read_latency,
  files.count_write AS io_write_requests, {bytes:files.sum_number_of_bytes_write} AS io_write,
  {time:files.sum_timer_write} AS io_write_latency,
  files.count_misc AS io_misc_requests, {time:files.sum_timer_misc} AS io_misc_latency
FROM performance_schema.table_io_waits_summary_by_table used
LEFT JOIN sys.x$ps_schema_table_statistics_io files
  ON used.object_schema = files.table_schema AND used.object_name = files.table_name
ORDER BY used.sum_timer_wait DESC;;

-- pair schema_table_statistics_with_buffer
SELECT used.object_schema AS table_schema, used.object_name AS table_name,
  used.count_fetch AS rows_fetched, {time:used.sum_timer_fetch} AS fetch_latency,
  used.count_insert AS rows_inserted, {time:used.sum_timer_insert} AS insert_latency,
  used.count_update AS rows_updated, {time:used.sum_timer_update} AS update_latency,
  used.count_delete AS rows_deleted, {time:used.sum_timer_delete} AS delete_latency,
  files.count_read AS io_read_requests, {bytes:files.sum_number_of_bytes_read} AS io_read,
  {time:files.sum_timer_read} AS io_read_latency,
  files.count_write AS io_write_requests, {bytes:files.sum_number_of_bytes_write} AS io_write,
  {time:files.sum_timer_write} AS io_write_latency,
  files.count_misc AS io_misc_requests, {time:files.sum_timer_misc} AS io_misc_latency,
  {bytes:pages.allocated} AS innodb_buffer_allocated, {bytes:pages.data} AS innodb_buffer_data,
  {bytes:pages.allocated - pages.data} AS innodb_buffer_free, pages.pages AS innodb_buffer_pages,
  pages.pages_hashed AS innodb_buffer_pages_hashed, pages.pages_old AS innodb_buffer_pages_old,
  pages.rows_cached AS innodb_buffer_rows_cached
FROM performance_schema.table_io_waits_summary_by_table used
LEFT JOIN sys.x$ps_schema_table_statistics_io files
  ON used.object_schema = files.table_schema AND used.object_name = files.table_name
LEFT JOIN sys.x$innodb_buffer_stats_by_table pages
  ON used.object_schema = pages.object_schema AND used.object_name = pages.object_name
ORDER BY used.sum_timer_wait DESC;;

-- pair schema_tables_with_full_table_scans
SELECT object_schema AS object_schema, object_name AS object_name, count_read AS rows_full_scanned,
  {time:sum_timer_wait} AS latency
FROM performance_schema.table_io_waits_summary_by_index_usage
WHERE index_name IS NULL AND count_read > 0
ORDER BY count_read DESC;;

-- view schema_unused_indexes
SELECT used.object_schema AS object_schema, used.object_name AS object_name, used.index_name AS index_name
FROM performance_schema.table_io_waits_summary_by_index_usage used
JOIN information_schema.statistics columns
  ON columns.table_schema = used.object_schema AND columns.table_name = used.object_name AND columns.index_name = used.index_name
WHERE used.index_name IS NOT NULL AND used.count_star = 0 AND used.object_schema <> 'mysql' AND used.index_name <> 'PRIMARY'
  AND columns.non_unique = 1 AND columns.seq_in_index = 1
ORDER BY used.object_schema, used.object_name;;
